"""Checks 16 and 22, commits and merges: the gates of a commit, the scope it stays in, and the proof a merge needs.

A commit is recorded, stays in its scope and breaks no tests. Work is merged after its approval, the parts of shared
work are disjoint, and a graph that moves a branch signals the instances that stand on it.
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from treadle.protocol.checks.evidence import finishing_slots, gated_exits, slots_that_prove
from treadle.protocol.checks.permissions import gates_of, has_gate, is_document, write_scope, writes_tests
from treadle.protocol.checks.subject import Edge, Flow, ProtocolSubject, declared_exits, is_required
from treadle.protocol.findings import Finding
from treadle.protocol.model import CheckRef, Exit, Recipient, Send, Spawn, Step, base_of, exit_keys, tag_of
from treadle.protocol.paths import names_tests
from treadle.protocol.vocabulary import RECORDS, SCOPES

# Check 16, the tests' own ground: an agent whose work the tests judge may not write where their authors do.

_WILD = re.compile(r"[*?\[{]")


def tests_are_out_of_reach(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. A step that must leave the tests unmodified excludes the globs of the red tests' authors from its scope."""
    for flow, name, step in subject.steps():
        kept = any(has_gate(gates, "tests_unmodified") for gates in step.gates.values())
        if kept and (glob := next(_shared(flow, step), "")):
            message = f"may write '{glob}', where the tests are written, but its gates want them unmodified"
            yield subject.at_step(16, flow, name, message, f"exclude it with '!{glob}'", "writes")


def may_hold_tests(flow: Flow, step: Step) -> bool:
    """Whether a step may write where the authors of the graph's red tests do."""
    return any(_shared(flow, step))


def _shared(flow: Flow, step: Step) -> Iterator[str]:
    """The authors' globs that another scope does not keep out."""
    scope = write_scope(flow.protocol, step)
    excluded = {glob[1:] for glob in scope if glob.startswith("!")}
    allowed = [glob for glob in scope if not glob.startswith("!") and not is_document(glob)]
    for glob in test_globs(flow):
        if glob not in excluded and any(_may_meet(glob, other) for other in allowed):
            yield glob


def test_globs(flow: Flow) -> dict[str, None]:
    """Where the authors of a graph's red tests write."""
    authors = {slot.partition(".")[0] for slot in slots_that_prove(flow, "red")}
    scopes = [write_scope(flow.protocol, flow.graph.steps[name]) for name in flow.graph.steps if name in authors]
    return dict.fromkeys(glob for scope in scopes for glob in scope if not glob.startswith("!"))


def _may_meet(one: str, other: str) -> bool:
    """Whether two globs can name the same file, judged by their fixed beginnings."""
    for path, glob in ((one, other), (other, one)):
        if not _WILD.search(path):
            return fnmatchcase(path, glob)
    heads = sorted((_WILD.split(one)[0], _WILD.split(other)[0]), key=len)
    return heads[1].startswith(heads[0])


_SUITES: Final = ("green", "green_own_and_baseline", "contract")
_NOTICES: Final = ("green", "green_own_and_baseline", "red", "red_one", "added", "same_colour", "unbroken")
"""Each runs the whole suite and refuses work with which a test fails that passed before."""
_KEPT: Final = ("no_secrets", "protection")
"""If one commit has such a gate, every commit needs it: these rules are about all files of the project."""
_SEES_NOTHING: Final = SCOPES | {"checkpoint", "readonly", *_KEPT}
"""Checks that pass in a checkout without any change."""
_KEPT_IN_CODE: Final = (("interface_exact", "interface_unmodified"), ("no_undefined",))
"""If one author of code has such a gate, the other authors of code need it too."""


class Commit(NamedTuple):
    """An accepted exit that records a writer's changes."""

    flow: Flow
    name: str
    key: str
    exit: Exit

    @property
    def step(self) -> Step:
        return self.flow.graph.steps[self.name]

    @property
    def gates(self) -> tuple[CheckRef, ...]:
        return gates_of(self.step, self.key)

    @property
    def scope(self) -> tuple[str, ...]:
        return tuple(glob for glob in write_scope(self.flow.protocol, self.step) if not glob.startswith("!"))

    @property
    def is_code(self) -> bool:
        """Whether the writer may change more than tests and documents."""
        tests = test_globs(self.flow)
        return any(not names_tests(glob) and glob not in tests and not is_document(glob) for glob in self.scope)

    @property
    def is_work(self) -> bool:
        """Whether it is the main work on code: not a plan, not an adaptation, not by an author of tests."""
        main = self.name in self.flow.main and self.exit.proves != "plan"
        return main and self.is_code and not may_hold_tests(self.flow, self.step)


def commits(flow: Flow) -> Iterator[Commit]:
    """Yield the exits of a graph that record a writer's changes."""
    for name, step in flow.graph.steps.items():
        if step.kind == "agent" and write_scope(flow.protocol, step):
            for key, exit_ in gated_exits(flow.protocol, step):
                if any(field.by == "git" for field in exit_.fields.values()):
                    yield Commit(flow, name, key, exit_)


def commits_are_guarded(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Gates record a writer's work, limit it to its scope, build it, and include the gates of other commits."""
    everywhere = [commit for flow in subject.flows.values() for commit in commits(flow)]
    for commit in everywhere:
        faults = (*_unguarded(subject, commit), *_unguarded_tests(commit), *_unlike_others(commit, everywhere))
        for message, hint in faults:
            yield subject.at_step(16, commit.flow, commit.name, f"exit '{commit.key}' {message}", hint, "gates")


def commits_break_nothing(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Every step that may change code or tests checks that no passing test breaks; others get a warning.

    Without it, the merge still refuses such work. But then another step has to find the breakage of this one.
    """
    for flow in subject.flows.values() if "test" in subject.protocol.toolchain else ():
        for commit in commits(flow):
            if has_gate(commit.gates, "readonly", *_NOTICES) or all(map(is_document, commit.scope)):
                continue
            message = f"exit '{commit.key}' may break tests that passed before, and no gate notices"
            hint = "add 'unbroken' to its gates"
            yield subject.at_step(16, flow, commit.name, message, hint, "gates", level="warning")


def suites_are_built(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Where the project has a build, a step that runs the suite also builds, and a check that builds runs tests."""
    for flow, name, step in subject.steps() if "build" in subject.protocol.toolchain else ():
        parts = {"checks": step.checks, **{f"gates.{key}": gates for key, gates in step.gates.items()}}
        for part, checks in parts.items():
            builds, tests = has_gate(checks, "build"), has_gate(checks, *_SUITES)
            if tests and not builds:
                yield subject.at_step(16, flow, name, "runs tests without a build", "add 'build'", part)
            elif part == "checks" and builds and not tests:
                yield subject.at_step(16, flow, name, "builds, but runs no tests", "add 'green'", part)


def _unguarded(subject: ProtocolSubject, commit: Commit) -> Iterator[tuple[str, str]]:
    """Yield the gates that every commit needs, and those that code needs."""
    protocol, gates, scope = subject.protocol, commit.gates, commit.scope
    if not has_gate(gates, *RECORDS):
        yield "names a commit, but no gate records one", "gate it by 'commit' or 'checkpoint'"
    elif all(ref.advisory or ref.name in _SEES_NOTHING for ref in gates):
        message = "can pass without any work: no gate requires a change or the expected files"
        yield message, "record it by 'commit' or 'commit_once'"

    # Of the checks that enforce a scope, only `scope` resolves placeholders.
    bounds = ["scope"]
    if not any("{" in glob for glob in scope):
        if all(map(names_tests, scope)):
            bounds.append("scope_tests")
        elif not writes_tests(protocol, commit.step):
            bounds.append("scope_src")
    if not has_gate(gates, "readonly", *bounds):
        message = f"is not limited to its write scope ({', '.join(scope)})"
        yield message, f"gate it by {' or '.join(map(repr, bounds))}"

    if "build" in protocol.toolchain and commit.is_code and not has_gate(gates, "build", *_SUITES):
        yield "brings code, but no gate builds it", "gate it by 'build'"
    red = any(slots_that_prove(flow, "red") for flow in subject.flows.values())
    if red and commit.is_work and not has_gate(gates, "tests_unmodified", "scope_src"):
        yield "brings code, but tests may have been changed for it", "gate it by 'tests_unmodified'"


def _unguarded_tests(commit: Commit) -> Iterator[tuple[str, str]]:
    """Yield the gates that are missing where a step writes tests."""
    flow, gates = commit.flow, commit.gates
    proofs = {exit_.proves for exit_ in declared_exits(flow.protocol, commit.step).values()}
    if "red" in proofs and not has_gate(gates, "scope_tests") and not all(map(names_tests, commit.scope)):
        yield "comes from a test author, but may change more than tests", "gate it by 'scope_tests'"
    holds = writes_tests(flow.protocol, commit.step) or may_hold_tests(flow, commit.step)
    if commit.exit.proves == "green" and holds and not has_gate(gates, "still_red_on_skeleton"):
        hint = "gate it by 'still_red_on_skeleton', or exclude the tests from its scope"
        yield "proves green with tests that may have been weakened for it", hint
    steps = flow.graph.steps.values()
    counted = any(
        has_gate(checks, "coverage_complete") for step in steps for checks in (step.checks, *step.gates.values())
    )
    listed = has_gate(gates, "manifest", "manifest_complete")
    if counted and holds and commit.name in flow.main and not listed:
        yield "may bring tests that the manifest does not list", "gate it by 'manifest'"


def _unlike_others(commit: Commit, everywhere: list[Commit]) -> Iterator[tuple[str, str]]:
    """Yield the gates that other commits have, where a rule holds for all commits or for all code."""
    for name in _KEPT:
        if any(has_gate(other.gates, name) for other in everywhere) and not has_gate(commit.gates, name):
            yield f"is not gated by '{name}', which other commits are", f"gate it by '{name}'"
    for names in _KEPT_IN_CODE if commit.is_work else ():
        peer = next((other for other in everywhere if other.is_work and has_gate(other.gates, *names)), None)
        if peer is not None and not has_gate(commit.gates, *names):
            message = f"is not gated by {' or '.join(names)}, as '{peer.name}.{peer.key}' is"
            yield message, f"gate it by {' or '.join(map(repr, names))}"


# Check 16, the merges: only work that was approved after its last change is merged.
#
# An accepted exit with `proves: approval`, or a person who leads the work onward, approves it. It stays approved
# until an agent that may write leaves an exit. Handlers are apart: work that follows a sibling's merge passes its own
# gates and resumes where it was.


def merges_are_approved(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Where a graph has a reviewer, every path to a merge has been approved."""
    for flow in subject.flows.values():
        approvals = slots_that_prove(flow, "approval")
        causes = _unapproved(flow, approvals) if approvals else {}
        for name, step in flow.graph.steps.items():
            if step.effect == "merge" and name in causes and name in flow.main:
                message = f"merges work from {causes[name]}, which nobody has approved"
                hint = f"lead every path through one of {', '.join(sorted(approvals))}, or through a person"
                yield subject.at_step(16, flow, name, message, hint)


def _unapproved(flow: Flow, approvals: set[str]) -> dict[str, str]:
    """The steps that unapproved work can come to, and where it comes from."""
    graph = flow.graph
    entries = [graph.start, *(handler.step for handler in graph.handlers.values())]
    for goal in graph.commanded:
        needs = graph.steps[goal].needs if goal in graph.steps else ()
        if approvals.isdisjoint(need.slot for need in needs if not need.optional):
            entries.append(goal)
    causes = {name: f"the entry at '{name}'" for name in entries}
    for edge in flow.edges:
        # New work: the accepted exit of an agent that may write.
        step = graph.steps[edge.step]
        works = step.kind == "agent" and not edge.is_system and write_scope(flow.protocol, step)
        if works and edge.lands_at and not _approves(flow, edge, approvals):
            causes[edge.lands_at] = str(edge)
    todo = list(causes)
    for name in todo:  # grows while it is walked
        for edge in flow.out.get(name, ()):
            if edge.lands_at and edge.lands_at not in causes and not _approves(flow, edge, approvals):
                causes[edge.lands_at] = causes[name]
                todo.append(edge.lands_at)
    return causes


def _approves(flow: Flow, edge: Edge, approvals: set[str]) -> bool:
    step = flow.graph.steps[edge.step]
    person = step.kind == "ask" and step.asks == "human" and edge.key != step.default
    return person or bool(edge.slots & approvals)


# Check 16, shared work: parts are handed out only when they are disjoint, and merged only with a proof.


def parts_are_disjoint(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. A step that spawns children proves that their parts do not overlap, and gates keep each child to its part."""
    for site in subject.sites:
        flow, child = subject.flows[site.parent], subject.flows.get(site.child)
        step = flow.graph.steps[site.step]
        if site.edge is None or step.kind != "agent":
            continue
        gates = gates_of(step, site.edge.key)
        if not has_gate(gates, "children_partition", "disjoint_writes"):
            message = f"exit '{site.edge.key}' hands out parts, but no gate proves that they are disjoint"
            hint = "gate it by 'children_partition' or 'disjoint_writes'"
            yield subject.at_step(16, flow, site.step, message, hint, "gates")
        for commit in commits(child) if child and has_gate(gates, "disjoint_writes") else ():
            if not has_gate(commit.gates, "owned_files"):
                message = f"exit '{commit.key}' is not limited to the files that were given to it"
                yield subject.at_step(16, commit.flow, commit.name, message, "gate it by 'owned_files'", "gates")


def merges_need_a_proof(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. A merge that no person chose needs a proof, and a check that leads to a merge runs the tests."""
    for flow, name, step in subject.steps():
        if step.effect != "merge":
            continue
        leading = [edge for edge in flow.edges if edge.lands_at == name and edge.step != name]
        chosen = all(flow.graph.steps[edge.step].asks == "human" for edge in leading)
        verdicts = slots_that_prove(flow, "green", "approval", "contract") | finishing_slots(flow)
        proved = verdicts & subject.known[flow.name].get(name, frozenset())
        needed = {need.slot for need in step.needs if is_required(need)}
        if not chosen and not (needed & proved if proved else needed):
            hint = f"add what earns the merge to `needs`: {' or '.join(sorted(proved)) or 'what it merges'}"
            yield subject.at_step(16, flow, name, "merges without any proof", hint, "needs")
        for edge in leading:
            source = flow.graph.steps[edge.step]
            if source.kind == "check" and not has_gate(source.checks, *_SUITES):
                message = f"leads to merge '{name}', but runs no tests"
                yield subject.at_step(16, flow, edge.step, message, "add 'green'", "checks")


def contracts_exist(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. A plan proves that its contract suite exists, and each step that runs the suite reads that plan."""
    for flow in subject.flows.values():
        steps = flow.graph.steps
        plans = [
            (name, key)
            for name, step in steps.items()
            if step.kind == "agent"
            for key in exit_keys(flow.protocol, step)
            if key in flow.protocol.exits and flow.protocol.exits[key].proves == "plan"
        ]
        bringing = [(name, key) for name, key in plans if has_gate(gates_of(steps[name], key), "contract_exists")]
        merging = [name for name, step in steps.items() if step.effect == "merge"]
        proving = {slot.partition(".")[0] for slot in slots_that_prove(flow, "contract")}
        running = [
            name
            for name, step in steps.items()
            if has_gate(step.checks, "contract") or (name in merging and name in proving)
        ]
        for name, key in plans if running else ():
            if (name, key) not in bringing:
                message = f"exit '{key}' plans work for a contract suite, but no gate proves that the suite exists"
                yield subject.at_step(16, flow, name, message, "gate it by 'contract_exists'", "gates")
        for name in merging if bringing else ():
            if name not in running:
                message = "merges work that has a contract suite, but none of its exits proves contract"
                yield subject.at_step(16, flow, name, message, "add `proves: contract`")
        for name in running:
            read = {need.slot for need in steps[name].needs if not need.up}
            for slot in (f"{step}.{key}" for step, key in bringing):
                if slot not in read:
                    message = f"runs the contract suite, but does not read '{slot}', which names it"
                    yield subject.at_step(16, flow, base_of(name), message, f"add '{slot}*' to `needs`", "needs")


# Check 22: a graph that moves a branch signals the instances that stand on it.
#
# A graph that handles a signal with a `rebase` declares that its instances live on a branch that can move under them:
# when a sibling is merged into it, when their parent plans anew, and when their parent is itself rebased.

FOLLOWING: Final = ("rebased", "canon", "same_colour")
"""The gates that prove that work has followed its branch and is otherwise unchanged."""


def moved_branches_are_announced(subject: ProtocolSubject) -> Iterator[Finding]:
    """22. A merge signals the siblings; a new plan or a rebase signals the children."""
    for flow in subject.flows.values():
        siblings = _rebase_signals(subject, subject.siblings(flow.name))
        children = _rebase_signals(subject, subject.children(flow.name))
        own = _rebase_signals(subject, [flow.name])
        following = frozenset[str]().union(*(flow.handled[signal] for signal in own))
        for edge in flow.edges:
            moves: list[tuple[Recipient, list[str], str]] = []
            if _merges(flow, edge):
                moves.append(("siblings", siblings, "moves the branch that its siblings are based on"))
            if any(isinstance(action, Spawn) for action in edge.actions):
                moves.append(("children", children, "changes the base of the children that it keeps"))
            if edge.step in following and edge.to.kind == "resume":
                moves.append(("children", children, "continues from a branch that has moved"))
            for to, signals, why in moves:
                sent = {action.signal for action in edge.actions if isinstance(action, Send) and action.to == to}
                for signal in (signal for signal in signals if signal not in sent):
                    message = f"{edge.key} {why}, but does not send '{signal}' to its {to}"
                    hint = f"add `do: [{{send: {{signal: {signal}, to: {to}}}}}]`"
                    yield subject.at_edge(22, flow, edge, message, hint)
        for name in (name for name in flow.graph.steps if name in following):
            yield from _unproved_adaptations(subject, flow, name)


def _rebase_signals(subject: ProtocolSubject, graphs: list[str]) -> list[str]:
    """The signals that these graphs answer with a rebase."""
    found: list[str] = []
    for graph in (subject.protocol.graphs[name] for name in graphs):
        for signal, handler in graph.handlers.items():
            step = graph.steps.get(handler.step)
            if step is not None and step.effect == "rebase" and signal not in found:
                found.append(signal)
    return found


def _merges(flow: Flow, edge: Edge) -> bool:
    """Whether the edge follows a merge into a shared branch; only the user stands on the root's own branch."""
    if flow.graph.steps[edge.step].effect != "merge" or edge.is_system or edge.row.when == "root":
        return False
    exit_ = flow.protocol.exits.get(tag_of(edge.key))
    return exit_ is not None and exit_.severity == "INFO"


def _unproved_adaptations(subject: ProtocolSubject, flow: Flow, name: str) -> Iterator[Finding]:
    """Report an agent that resumes work on a moved branch without the gates that prove it is the same work."""
    step = flow.graph.steps[name]
    resuming = [edge for edge in flow.out[name] if edge.to.kind == "resume" and not edge.is_system]
    for edge in resuming if step.kind == "agent" else ():
        for check in FOLLOWING:
            if not has_gate(gates_of(step, edge.key), check):
                message = f"exit '{edge.key}' lets work go on from a moved branch, but is not gated by '{check}'"
                yield subject.at_step(22, flow, name, message, f"add '{check}' to its gates", "gates")
