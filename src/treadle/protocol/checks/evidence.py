"""Checks 16 and 21, evidence: an exit has the gates its proof calls for; a success names the proofs it rests on."""

from collections.abc import Iterator
from typing import Final

from treadle.protocol.checks.permissions import gates_of, has_gate, write_scope, writes_tests
from treadle.protocol.checks.subject import Edge, Flow, ProtocolSubject, declared_exits, is_required
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import proof_of
from treadle.protocol.model import ABORTED, Exit, Proof, Protocol, Step, exit_keys, row, tag_of
from treadle.protocol.vocabulary import CHECKS, FIELDS, PROOFS, SCOPES

_MEASURING_AUTHORITIES: Final = ("git", "tests", "manifest")
"""Authorities that only a check can speak for; the kernel and the API diff need none."""
_BY_EFFECT: Final[dict[str, frozenset[Proof]]] = {"merge": frozenset({"green", "contract"})}
"""The proofs that an effect verifies by itself before it happens."""


def exits_are_proved(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Computed fields have a check that computes them, proofs a check that establishes them."""
    for flow, name, step in subject.steps():
        if step.kind not in ("agent", "effect"):
            continue
        for key, exit_ in gated_exits(subject.protocol, step):
            for message, hint in dict.fromkeys(_unproved(subject, flow, name, key, exit_)):
                yield subject.at_step(16, flow, name, f"exit '{key}' {message}", hint, "gates")


def gated_exits(protocol: Protocol, step: Step) -> Iterator[tuple[str, Exit]]:
    """The declared exits of a step, each with the key of its gates: a variant's own, or that of all variants."""
    for key in dict.fromkeys(key if key in step.gates else tag_of(key) for key in exit_keys(protocol, step)):
        if (exit_ := protocol.exits.get(tag_of(key))) is not None:
            yield key, exit_


def _unproved(subject: ProtocolSubject, flow: Flow, name: str, key: str, exit_: Exit) -> Iterator[tuple[str, str]]:
    step = flow.graph.steps[name]
    gates = gates_of(step, key)
    if exit_.proves not in _BY_EFFECT.get(step.effect, ()):
        missing = next((checks for checks in PROOFS[exit_.proves] if not has_gate(gates, *checks)), None)
        if missing is not None:
            yield f"proves {exit_.proves}, but no gate establishes it", f"gate it by {' or '.join(sorted(missing))}"
    if step.kind == "effect":
        return

    derived = {by for gate in gates if gate.name in CHECKS and not gate.advisory for by in CHECKS[gate.name].derives}
    for field_name, field in exit_.fields.items():
        has = f"has the field '{field_name}' by {field.by},"
        if field.by not in ("agent", "kernel") and field_name not in FIELDS:
            hint = suggest(field_name, FIELDS) or f"these can be computed: {', '.join(sorted(FIELDS))}"
            yield f"{has} which Treadle cannot compute", hint
        elif field.by in _MEASURING_AUTHORITIES and field.by not in derived:
            able = [check for check, spec in CHECKS.items() if field.by in spec.derives]
            yield f"{has} but no gate that computes it", f"gate it by one of {', '.join(able)}"
    if _records_commit(exit_) and not has_gate(gates, "readonly", *SCOPES):
        hint = f"gate it by one of {', '.join(sorted(SCOPES))}"
        yield "records a commit, but no gate bounds what was changed", hint

    if not write_scope(subject.protocol, step):
        if step.role in subject.protocol.roles and not has_gate(gates, "readonly"):
            yield "of a role that writes nothing is not gated by 'readonly'", "add 'readonly' to its gates"
    elif exit_.proves == "green" and not writes_tests(subject.protocol, step):
        # An implementer's green counts if the tests were red before and the step cannot have changed them.
        if not has_gate(gates, "tests_unmodified"):
            yield "proves green, but tests may have been changed for it", "gate it by 'tests_unmodified'"
        red = slots_that_prove(flow, "red")
        known = subject.known[flow.name].get(name)
        if red and known is not None and not red & known:
            hint = f"lead every path through one of {', '.join(sorted(red))}"
            yield "proves green, but not every path here has been red before", hint


def _records_commit(exit_: Exit) -> bool:
    return any(field.by == "git" for field in exit_.fields.values())


def slots_that_prove(flow: Flow, *proofs: Proof) -> set[str]:
    """The slots of a graph that are written only when one of these is proved."""
    return {
        f"{name}.{tag}"
        for name, step in flow.graph.steps.items()
        for tag, exit_ in declared_exits(flow.protocol, step).items()
        if exit_.proves in proofs
    }


# Check 16, the other end of `proves`: an exit that passes a proving check declares the proof.

_MEASURED_PROOFS: Final[tuple[Proof, ...]] = ("red", "green", "contract", "plan")
"""Proofs that a check of their own establishes; approval is a judgement."""
_PROVING_CHECKS: Final = frozenset[str]().union(*(checks for proof in _MEASURED_PROOFS for checks in PROOFS[proof]))


def proofs_are_claimed(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. Exits that pass a proving check, and exits by which a judge approves, declare their proof."""
    for flow, name, step in subject.steps():
        if step.kind == "agent":
            faults = (
                *_unclaimed(subject, flow, name),
                *_unrecorded(subject, step),
                *_unproved_consent(subject, flow, name),
            )
            for message, hint in dict.fromkeys(faults):
                yield subject.at_step(16, flow, name, message, hint, "exits")


def _unclaimed(subject: ProtocolSubject, flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    step = flow.graph.steps[name]
    known = subject.known[flow.name].get(name, frozenset())
    was_red = bool(slots_that_prove(flow, "red") & known)
    for key, exit_ in gated_exits(subject.protocol, step):
        for proof in _MEASURED_PROOFS if not exit_.proves else ():
            # Green proves something only after red.
            if has_gate(gates_of(step, key), *PROOFS[proof][0]) and (proof != "green" or was_red):
                message = f"exit '{tag_of(key)}' passes what proves {proof}, but does not say so"
                yield message, f"add `proves: {proof}` to the exit"


def _unrecorded(subject: ProtocolSubject, step: Step) -> Iterator[tuple[str, str]]:
    """Report a writer's proof that neither records the changes nor forbids them."""
    for key, exit_ in gated_exits(subject.protocol, step) if write_scope(subject.protocol, step) else ():
        if exit_.proves and not _records_commit(exit_) and not has_gate(gates_of(step, key), "readonly"):
            message = f"exit '{key}' proves {exit_.proves}, but neither records what was changed nor forbids it"
            yield message, "add a field `by: git`, or gate it by 'readonly'"


def _unproved_consent(subject: ProtocolSubject, flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    """Report a step that judges without writing if its consent, above all to a merge, proves no approval."""
    step = flow.graph.steps[name]
    if name not in flow.main or write_scope(subject.protocol, step):
        return
    exits = declared_exits(subject.protocol, step)
    consents = [tag for tag, exit_ in exits.items() if exit_.severity == "INFO"]
    silent = not any(exit_.proves for exit_ in exits.values())
    if silent and len(consents) < len(exits):
        # A writer's exit cannot be an approval, so the hint needs a consent that only readers use.
        written = {
            tag for _, _, other in subject.steps() if write_scope(subject.protocol, other) for tag in other.exits
        }
        if any(tag not in written for tag in consents):
            message = f"can refuse, but none of its exits proves anything ({', '.join(exits)})"
            yield message, f"add `proves: approval` to exit '{consents[0]}'"
    for edge in flow.out[name]:
        goal = flow.graph.steps.get(edge.lands_at)
        exit_ = exits.get(tag_of(edge.key))
        if goal is not None and goal.effect == "merge" and exit_ is not None:
            leads = f"exit '{edge.key}' leads to merge '{edge.lands_at}'"
            yield from ((leads + message, hint) for message, hint in _unfounded_merge(flow, step, exit_, edge))


def _unfounded_merge(flow: Flow, step: Step, exit_: Exit, edge: Edge) -> Iterator[tuple[str, str]]:
    """The reasons why a judge's exit should not lead to a merge."""
    tag, _, variant = edge.key.partition(".")
    if exit_.proves != "approval":
        yield ", but does not prove approval", f"add `proves: approval` to exit '{tag}'"
    elif exit_.proves_when and edge.row.when != exit_.proves_when:
        # The variant of the exit can also ensure the values that make it a proof.
        proof = proof_of(exit_, {exit_.route_on: variant} if variant else {})
        if not proof:
            yield " where it proves nothing", f"merge under the guard `{exit_.proves_when}`"
    if len(row(flow.graph, edge.step, edge.key) or ()) > 1 and not edge.row.when:
        yield " whenever no guard holds", "merge under a guard, and let the last row lead elsewhere"
    variants = [gate for key, gates in step.gates.items() if tag_of(key) == tag for gate in gates]
    passed = {gate.name for gate in variants if not gate.advisory} & _PROVING_CHECKS
    for check in sorted(passed - {gate.name for gate in gates_of(step, edge.key) if not gate.advisory}):
        yield f" without '{check}', unlike its other variants", "lead it elsewhere, or gate it alike"


def readers_write_nothing(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. A step with only `readonly` exits has no write scope."""
    for flow, name, step in subject.steps():
        scope = write_scope(subject.protocol, step)
        keys = exit_keys(subject.protocol, step) if step.kind == "agent" else ()
        if scope and step.exits and all(has_gate(gates_of(step, key), "readonly") for key in keys):
            message = f"may write {', '.join(scope)}, but every exit wants the tree unchanged"
            yield subject.at_step(16, flow, name, message, "write `writes: []`", "writes")


def documents_are_checked(subject: ProtocolSubject) -> Iterator[Finding]:
    """16. An exit that returns an artifact's text is gated by `documents`."""
    documents = {name for name, artifact in subject.protocol.artifacts.items() if not artifact.view}
    for flow, name, step in subject.steps():
        for key, exit_ in gated_exits(subject.protocol, step) if step.kind == "agent" else ():
            texts = [field for field, declared in exit_.fields.items() if declared.by == "agent" and field in documents]
            if texts and not has_gate(gates_of(step, key), "documents"):
                message = f"exit '{key}' returns the document '{texts[0]}', but no gate checks it"
                yield subject.at_step(16, flow, name, message, "gate it by 'documents'", "gates")


# Check 21: a success names every proof it rests on.
#
# The needs of an outcome are the only definition of success. If every path to an outcome passes a proof that it does
# not name, a later edit could route around the proof unnoticed.


def successes_are_earned(subject: ProtocolSubject) -> Iterator[Finding]:
    """21. A good outcome needs every proof, every passed check and every finished map that lies on all paths to it."""
    for flow in subject.flows.values():
        known = subject.known[flow.name]
        proving = slots_that_prove(flow, "red", "green", "approval", "contract", "plan")
        proving |= finishing_slots(flow)
        good = good_outcomes(subject, flow.name)
        for outcome, needs in flow.graph.ends.items():
            named = {need.slot for need in needs if is_required(need)}
            # No parent counts the root's outcomes; those that need something are its successes.
            claimed = flow.name == subject.protocol.root and named and outcome != ABORTED
            leading = [edge for edge in flow.edges if edge.to == ("end", outcome) and edge.step in known]
            if not leading or not (outcome in good or claimed):
                continue
            certain = frozenset.intersection(*(edge.slots | known[edge.step] for edge in leading))
            for slot in sorted(certain & proving - named):
                message = f"'{outcome}' comes after '{slot}' on every path, but does not need it"
                path = f"graphs.{flow.name}.ends.{outcome}"
                yield subject.finding(21, flow.name, path, message, f"add '{slot}' to what it needs")


def good_outcomes(subject: ProtocolSubject, graph: str) -> set[str]:
    """The outcomes of a graph that some parent counts as success."""
    graphs = subject.protocol.graphs
    sites = [site for site in subject.sites if site.child == graph]
    return {outcome for site in sites for outcome in graphs[site.parent].ok.get(site.group, ())}


def finishing_slots(flow: Flow) -> set[str]:
    """The slots of passed checks and of finished maps."""
    kinds = {"check": "Passed", "map": "AllOk"}
    return {f"{name}.{kinds[step.kind]}" for name, step in flow.graph.steps.items() if step.kind in kinds}
