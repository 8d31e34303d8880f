"""Check 19: whoever an exit leads to declares that it reads it, so that nothing an agent said is lost on the way."""

from collections.abc import Iterable, Iterator

from treadle.protocol.checks.flow import Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Need, Step, tag_of


def exits_are_delivered(subject: Subject) -> Iterator[Finding]:
    """19. An exit, a parent's answer and the report of a failure stand in the needs of what they lead to."""
    for flow in subject.flows.values():
        lost: dict[tuple[str, str, str], list[tuple[Edge, str]]] = {}
        for edge in flow.edges:
            if slot := _lost(subject, flow, edge):
                row = (edge.step, edge.name if edge.is_system else slot, edge.to.name)
                lost.setdefault(row, []).append((edge, slot))
        for edges in lost.values():
            yield _finding(subject, flow, *edges[0], more=len(edges) > 1)


def _finding(subject: Subject, flow: Flow, edge: Edge, slot: str, more: bool) -> Finding:
    """One finding for all failures that take the same row, or for all variants of an exit."""
    goal = edge.to.name
    exit_ = subject.protocol.exits.get(tag_of(edge.key))
    what = "the report of the failure" if edge.is_system else "its fields" if exit_ and exit_.fields else "it"
    kind = "outcome " if edge.to.kind == "end" else ""
    key, slot = (edge.name, edge.name) if edge.is_system and more else (edge.key, slot)
    message = f"{key} leads to {kind}'{goal}', which does not take {what}"
    return subject.finding(
        19, f"{flow.name}.{edge.step}", edge.path, message, f"add '{slot}?' to the needs of '{goal}'"
    )


def _lost(subject: Subject, flow: Flow, edge: Edge) -> str:
    """The slot that the goal of an edge should list and does not."""
    source = flow.graph.steps[edge.step]
    if edge.to.kind == "resume" or (source.kind == "ask" and not _brings_an_answer(subject, source, edge)):
        return ""
    if edge.to.kind == "end":
        needs, goal = flow.graph.ends.get(edge.to.name), None
    else:
        goal = flow.graph.steps.get(edge.lands_at)
        needs = goal.needs if goal else None
    if needs is None:
        return ""
    if edge.is_system:
        return _lost_report(edge, needs)
    if source.kind in ("check", "map") and edge.lands_at == edge.step:
        return ""
    slot = f"{edge.step}.{tag_of(edge.key)}"
    return "" if _listed(slot, needs, goal) else slot


def _brings_an_answer(subject: Subject, source: Step, edge: Edge) -> bool:
    """A parent answers with an exit of its own; a person answers with a word."""
    return source.asks == "parent" and edge.key in subject.protocol.exits


def _listed(slot: str, needs: Iterable[Need], goal: Step | None) -> bool:
    over = goal.over.rpartition(".")[0] if goal else ""
    return slot == over or any(need.slot == slot and not need.up for need in needs)


def _lost_report(edge: Edge, needs: Iterable[Need]) -> str:
    if edge.lands_at == edge.step:
        return ""
    accepted = {need.exit for need in needs if not need.step}
    return "" if accepted & {edge.key, tag_of(edge.key), "!*"} else tag_of(edge.key)
