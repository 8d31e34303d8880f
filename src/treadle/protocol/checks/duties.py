"""Check 16, what a commit calls for: whoever changes files shows that it is recorded, bounded, and breaks nothing."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from treadle.protocol.catalogue import RECORDS, SCOPES
from treadle.protocol.checks.evidence import slots_that_prove
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.permissions import gates_of, has_gate, is_document, write_scope, writes_tests
from treadle.protocol.checks.subject import Subject
from treadle.protocol.checks.territory import may_hold_tests, test_globs
from treadle.protocol.findings import Finding
from treadle.protocol.model import CheckRef, Exit, Step, exit_keys, tag_of
from treadle.protocol.test_paths import names_tests

_SUITES: Final = ("green", "green_own_and_baseline", "contract")
_KEPT: Final = ("no_secrets", "protection")
"""What holds for a project's files holds for every change of them."""
_SEES_NOTHING: Final = SCOPES | {"checkpoint", "readonly", *_KEPT}
"""Content with a folder in which nobody has done anything."""
_KEPT_IN_CODE: Final = (("interface_exact", "interface_unmodified"), ("no_undefined",))
"""What one author of code keeps, the others of the same work keep too."""


class Commit(NamedTuple):
    """An accepted exit that records what a writer has changed."""

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
        """Whether it is the main work on code: not a plan, not an adaptation, not by who writes the tests too."""
        main = self.name in self.flow.main and self.exit.proves != "plan"
        return main and self.is_code and not may_hold_tests(self.flow, self.step)


def commits(subject: Subject, flow: Flow) -> Iterator[Commit]:
    """The exits of a graph that record what somebody has changed."""
    protocol = subject.protocol
    for name, step in flow.graph.steps.items():
        if step.kind != "agent" or not write_scope(protocol, step):
            continue
        for key in dict.fromkeys(key if key in step.gates else tag_of(key) for key in exit_keys(protocol, step)):
            exit_ = protocol.exits.get(tag_of(key))
            if exit_ is not None and any(field.by == "git" for field in exit_.fields.values()):
                yield Commit(flow, name, key, exit_)


def commits_are_guarded(subject: Subject) -> Iterator[Finding]:
    """16. What a writer leaves is recorded, held to its scope, built, and keeps what others keep."""
    found = {flow.name: list(commits(subject, flow)) for flow in subject.flows.values()}
    everywhere = [commit for own in found.values() for commit in own]
    for own in found.values():
        for commit in own:
            for message, hint in (*_alone(subject, commit), *_tests(commit), *_together(commit, everywhere)):
                path = f"{step_path(commit.flow.name, commit.name)}.gates"
                yield subject.finding(16, f"{commit.flow.name}.{commit.name}", path, message, hint)


def suites_are_built(subject: Subject) -> Iterator[Finding]:
    """16. Where the project can be built, what runs the whole suite builds, and a check that builds runs the tests."""
    for flow in subject.flows.values() if "build" in subject.protocol.toolchain else ():
        for name, step in flow.graph.steps.items():
            parts = [("checks", step.checks), *((f"gates.{key}", gates) for key, gates in step.gates.items())]
            for part, checks in parts:
                where, path = f"{flow.name}.{name}", f"{step_path(flow.name, name)}.{part}"
                if has_gate(checks, *_SUITES) and not has_gate(checks, "build"):
                    yield subject.finding(16, where, path, "tests what nobody has built", "add 'build'")
                elif part == "checks" and has_gate(checks, "build") and not has_gate(checks, *_SUITES):
                    yield subject.finding(16, where, path, "builds, but runs no tests", "add 'green'")


def _alone(subject: Subject, commit: Commit) -> Iterator[tuple[str, str]]:
    protocol, key, gates = subject.protocol, commit.key, commit.gates
    if not has_gate(gates, *RECORDS):
        yield f"exit '{key}' names a commit, but no gate records one", "gate it by 'commit' or 'checkpoint'"
    elif all(ref.advisory or ref.name in _SEES_NOTHING for ref in gates):
        message = f"exit '{key}' passes with nothing done: no gate sees a change, or what should be there"
        yield message, "record it by 'commit' or 'commit_once'"
    bounds = _bounds(commit)
    if not has_gate(gates, "readonly", *bounds):
        message = f"exit '{key}' is not held to its write scope ({', '.join(commit.scope)})"
        yield message, f"gate it by {' or '.join(repr(name) for name in bounds)}"
    if "build" in protocol.toolchain and commit.is_code and not has_gate(gates, "build", *_SUITES):
        yield f"exit '{key}' brings code that nobody has built", "gate it by 'build'"
    red = any(slots_that_prove(protocol, flow, "red") for flow in subject.flows.values())
    if red and commit.is_work and not has_gate(gates, "tests_unmodified", "scope_src"):
        yield f"exit '{key}' brings code, but tests may have been changed for it", "gate it by 'tests_unmodified'"


def _tests(commit: Commit) -> Iterator[tuple[str, str]]:
    """What is called for where somebody writes tests."""
    flow, key, gates = commit.flow, commit.key, commit.gates
    proofs = {flow.protocol.exits[tag].proves for tag in commit.step.exits if tag in flow.protocol.exits}
    if "red" in proofs and not has_gate(gates, "scope_tests") and not all(map(names_tests, commit.scope)):
        yield f"exit '{key}' is by an author of tests, but more may have changed", "gate it by 'scope_tests'"
    holds = writes_tests(flow.protocol, commit.step) or may_hold_tests(flow, commit.step)
    if commit.exit.proves == "green" and holds and not has_gate(gates, "still_red_on_skeleton"):
        message = f"exit '{key}' proves green with tests that may have been weakened for it"
        yield message, "gate it by 'still_red_on_skeleton', or exclude the tests from its scope"
    counted = any(has_gate(checks, "coverage_complete") for checks in _checks(flow))
    listed = has_gate(gates, "manifest", "manifest_complete")
    if counted and holds and commit.name in flow.main and not listed:
        yield f"exit '{key}' may bring tests that the manifest does not list", "gate it by 'manifest'"


def _checks(flow: Flow) -> Iterator[tuple[CheckRef, ...]]:
    for step in flow.graph.steps.values():
        yield from (step.checks, *step.gates.values())


def _bounds(commit: Commit) -> tuple[str, ...]:
    """The checks that hold a writer to its scope; only `scope` knows what a placeholder stands for."""
    if any("{" in glob for glob in commit.scope):
        return ("scope",)
    if all(map(names_tests, commit.scope)):
        return ("scope", "scope_tests")
    return ("scope",) if writes_tests(commit.flow.protocol, commit.step) else ("scope", "scope_src")


def _together(commit: Commit, everywhere: list[Commit]) -> Iterator[tuple[str, str]]:
    for name in _KEPT:
        if any(has_gate(other.gates, name) for other in everywhere) and not has_gate(commit.gates, name):
            yield f"exit '{commit.key}' is not gated by '{name}', which other commits are", f"gate it by '{name}'"
    for names in _KEPT_IN_CODE if commit.is_work else ():
        peer = next((other for other in everywhere if other.is_work and has_gate(other.gates, *names)), None)
        if peer is not None and not has_gate(commit.gates, *names):
            message = f"exit '{commit.key}' is not gated by {' or '.join(names)}, as '{peer.name}.{peer.key}' is"
            yield message, f"gate it by {' or '.join(repr(name) for name in names)}"
