"""Check 16, the other end of `proves`: an exit that is held to a proof says what it proves."""

from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.catalogue import PROOFS
from treadle.protocol.checks.evidence import slots_that_prove
from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.permissions import gates_of, has_gate, write_scope
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import CheckRef, Exit, Proof, Step, exit_keys, row, tag_of
from treadle.protocol.proofs import proof_of

_MEASURED: Final[tuple[Proof, ...]] = ("red", "green", "contract", "plan")
"""Proofs that a check of their own establishes; approval is a judgement."""


def proofs_are_claimed(subject: Subject) -> Iterator[Finding]:
    """16. Exits that pass a proving check, and judges whose word counts, say what they prove."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if step.kind == "agent":
                faults = (*_unclaimed(subject, flow, name), *_unrecorded(subject, step), *_judge(subject, flow, name))
                for message, hint in dict.fromkeys(faults):
                    path = f"{step_path(flow.name, name)}.exits"
                    yield subject.finding(16, f"{flow.name}.{name}", path, message, hint)


def _unclaimed(subject: Subject, flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    step = flow.graph.steps[name]
    for key in exit_keys(subject.protocol, step):
        exit_ = subject.protocol.exits.get(tag_of(key))
        if exit_ is None or exit_.proves:
            continue
        for proof in _MEASURED:
            checks = PROOFS[proof][0]
            if has_gate(gates_of(step, key), *checks) and _could_prove(subject, flow, name, proof):
                message = f"exit '{tag_of(key)}' passes what proves {proof}, but does not say so"
                yield message, f"add `proves: {proof}` to the exit"


def _unrecorded(subject: Subject, step: Step) -> Iterator[tuple[str, str]]:
    """A writer who proves something either records what it is about, or has changed nothing."""
    for key in exit_keys(subject.protocol, step) if write_scope(subject.protocol, step) else ():
        exit_ = subject.protocol.exits.get(tag_of(key))
        if exit_ is None or not exit_.proves or any(field.by == "git" for field in exit_.fields.values()):
            continue
        if not has_gate(gates_of(step, key), "readonly"):
            message = f"exit '{key}' proves {exit_.proves}, but neither records what was changed nor forbids it"
            yield message, "add a field `by: git`, or gate it by 'readonly'"


def _could_prove(subject: Subject, flow: Flow, name: str, proof: Proof) -> bool:
    """Green proves something only after red."""
    known = subject.known[flow.name].get(name, frozenset())
    return proof != "green" or bool(slots_that_prove(subject.protocol, flow, "red") & known)


def _judge(subject: Subject, flow: Flow, name: str) -> Iterator[tuple[str, str]]:
    """A step that writes nothing and can say no: its yes is an approval, above all where it leads to a merge."""
    step = flow.graph.steps[name]
    if name not in flow.main or write_scope(subject.protocol, step):
        return
    exits = {tag: subject.protocol.exits[tag] for tag in step.exits if tag in subject.protocol.exits}
    consents = [tag for tag, exit_ in exits.items() if exit_.severity == "INFO"]
    silent = not any(exit_.proves for exit_ in exits.values())
    if silent and len(consents) < len(exits) and _may_approve(subject, consents):
        yield f"can refuse, but none of its exits proves anything ({', '.join(exits)})", _hint(consents[0])
    for edge in flow.out[name]:
        goal = flow.graph.steps.get(edge.lands_at)
        exit_ = exits.get(tag_of(edge.key))
        if goal is None or goal.effect != "merge" or exit_ is None:
            continue
        if exit_.proves != "approval":
            message = f"exit '{edge.key}' leads to merge '{edge.lands_at}', but does not prove approval"
            yield message, _hint(tag_of(edge.key))
        elif exit_.proves_when and not _is_proof(exit_, edge):
            message = f"exit '{edge.key}' leads to merge '{edge.lands_at}' where it proves nothing"
            yield message, f"merge under the guard `{exit_.proves_when}`"
        rows = row(flow.graph, name, edge.key) or ()
        if len(rows) > 1 and not edge.row.when:
            message = f"exit '{edge.key}' leads to merge '{edge.lands_at}' whenever no guard holds"
            yield message, "merge under a guard, and let the last row lead elsewhere"
        for check in sorted(_proving(step, tag_of(edge.key)) - _names(gates_of(step, edge.key))):
            message = f"exit '{edge.key}' leads to merge '{edge.lands_at}' without '{check}', unlike its other variants"
            yield message, "lead it elsewhere, or gate it alike"


def _is_proof(exit_: Exit, edge: Edge) -> bool:
    """Whether an edge is taken only with the values that make the exit a proof: its variant, or its guard, says so."""
    variant = edge.key.partition(".")[2]
    return edge.row.when == exit_.proves_when or bool(proof_of(exit_, {exit_.route_on: variant} if variant else {}))


def _proving(step: Step, tag: str) -> set[str]:
    """The proving checks that some variant of an exit passes."""
    proving = frozenset[str]().union(*(checks for proof in _MEASURED for checks in PROOFS[proof]))
    own = [gates for key, gates in step.gates.items() if tag_of(key) == tag]
    return {name for gates in own for name in _names(gates)} & proving


def _names(gates: Iterable[CheckRef]) -> set[str]:
    return {gate.name for gate in gates if not gate.advisory}


def _may_approve(subject: Subject, consents: list[str]) -> bool:
    """Whether only readers leave by one of these exits; who writes cannot approve by it."""
    steps = [step for flow in subject.flows.values() for step in flow.graph.steps.values()]
    writers = {tag for step in steps if write_scope(subject.protocol, step) for tag in step.exits}
    return any(tag not in writers for tag in consents)


def _hint(tag: str) -> str:
    return f"add `proves: approval` to exit '{tag}'"


def readers_write_nothing(subject: Subject) -> Iterator[Finding]:
    """16. Who may leave only with an unchanged tree has no write scope."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            scope = write_scope(subject.protocol, step)
            if scope and step.exits and all(_is_read_only(step, exits) for exits in _keys(subject, step)):
                message = f"may write {', '.join(scope)}, but every exit wants the tree unchanged"
                path = f"{step_path(flow.name, name)}.writes"
                yield subject.finding(16, f"{flow.name}.{name}", path, message, "write `writes: []`")


def _keys(subject: Subject, step: Step) -> list[str]:
    return list(exit_keys(subject.protocol, step)) if step.kind == "agent" else []


def _is_read_only(step: Step, key: str) -> bool:
    return has_gate(gates_of(step, key), "readonly")


def documents_are_checked(subject: Subject) -> Iterator[Finding]:
    """16. An exit that returns an artifact's text is gated by `documents`."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            for key in _keys(subject, step):
                texts = _documents(subject, subject.protocol.exits.get(tag_of(key)))
                if texts and not has_gate(gates_of(step, key), "documents"):
                    message = f"exit '{key}' returns the document '{texts[0]}', but no gate looks at it"
                    path = f"{step_path(flow.name, name)}.gates"
                    yield subject.finding(16, f"{flow.name}.{name}", path, message, "gate it by 'documents'")


def _documents(subject: Subject, exit_: Exit | None) -> list[str]:
    fields = exit_.fields.items() if exit_ else ()
    artifacts = subject.protocol.artifacts
    return [name for name, field in fields if field.by == "agent" and name in artifacts and not artifacts[name].view]
