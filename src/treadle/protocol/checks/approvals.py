"""Check 16, the merges: nothing is merged that nobody has approved since it was written.

Work is approved by an accepted exit with `proves: approval`, or by a person who leads it onward. It stays approved
until somebody who may write leaves an exit behind. Handlers are apart: what follows a sibling's merge is held to its
own gates and resumes where the work was.
"""

from collections.abc import Iterator

from treadle.protocol.checks.evidence import slots_that_prove
from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.permissions import write_scope
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding


def merges_are_approved(subject: Subject) -> Iterator[Finding]:
    """16. Where a graph has a reviewer, every path to a merge has been approved."""
    for flow in subject.flows.values():
        approvals = slots_that_prove(subject.protocol, flow, "approval")
        causes = _unapproved(flow, approvals) if approvals else {}
        for name, step in flow.graph.steps.items():
            if step.effect == "merge" and name in causes and name in flow.main:
                message = f"merges what comes from {causes[name]}, which nobody has approved"
                hint = f"lead every path through one of {', '.join(sorted(approvals))}, or through a person"
                yield subject.finding(16, f"{flow.name}.{name}", step_path(flow.name, name), message, hint)


def _unapproved(flow: Flow, approvals: set[str]) -> dict[str, str]:
    """The steps that unapproved work can come to, and where it comes from."""
    causes = {name: f"the entry at '{name}'" for name in _entries(flow, approvals)}
    causes |= {edge.lands_at: str(edge) for edge in flow.edges if _writes(flow, edge, approvals)}
    todo = list(causes)
    while todo:
        name = todo.pop(0)
        for edge in flow.out.get(name, ()):
            if edge.lands_at and edge.lands_at not in causes and not _approves(flow, edge, approvals):
                causes[edge.lands_at] = causes[name]
                todo.append(edge.lands_at)
    return causes


def _entries(flow: Flow, approvals: set[str]) -> Iterator[str]:
    graph = flow.graph
    yield graph.start
    yield from (handler.step for handler in graph.handlers.values())
    for goal in graph.commanded:
        required = (
            {need.slot for need in graph.steps[goal].needs if not need.optional} if goal in graph.steps else set()
        )
        if not required & approvals:
            yield goal


def _writes(flow: Flow, edge: Edge, approvals: set[str]) -> bool:
    """Whether an edge brings new work: the accepted exit of an agent who may write."""
    step = flow.graph.steps[edge.step]
    works = step.kind == "agent" and not edge.is_system and bool(write_scope(flow.protocol, step))
    return works and bool(edge.lands_at) and not _approves(flow, edge, approvals)


def _approves(flow: Flow, edge: Edge, approvals: set[str]) -> bool:
    step = flow.graph.steps[edge.step]
    person = step.kind == "ask" and step.asks == "human" and edge.key != step.default
    return person or bool(edge.slots & approvals)
