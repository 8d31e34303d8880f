"""Check 17: what starts over without counting attempts is paid for by a budget."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import TRYING_KINDS, Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Tier, tag_of


def fresh_starts_are_paid_for(subject: Subject) -> Iterator[Finding]:
    """17. `fresh` and `tier` rows charge a budget; spent attempts do not lead to the same attempts again."""
    for flow in subject.flows.values():
        for edge in flow.edges:
            for message, hint in _faults(flow, edge):
                yield subject.finding(17, f"{flow.name}.{edge.step}", edge.path, message, hint)


def _faults(flow: Flow, edge: Edge) -> Iterator[tuple[str, str]]:
    step, row = flow.graph.steps[edge.step], edge.row
    to_itself = edge.to.kind == "step" and edge.to.name == edge.step
    if row.fresh and not edge.over:
        if not to_itself:
            yield (
                f"{edge.name} is fresh but leads to another step",
                "remove `fresh`: entering a step starts anew anyway",
            )
        elif not row.charge:
            yield f"{edge.name} starts its step afresh without end", "charge a budget"
    if any(isinstance(action, Tier) for action in edge.actions):
        if not row.charge:
            yield f"{edge.name} moves to a stronger model without end", "charge a budget"
        if step.kind != "agent":
            yield f"{edge.name} moves to a stronger model, but no agent works here", "remove `tier`"
    if step.kind in TRYING_KINDS and to_itself and not row.fresh and not edge.over and _is_exhaustion(flow, edge):
        yield f"{edge.name} is what spent attempts become, and leads to the same attempts again", "add `fresh: true`"


def _is_exhaustion(flow: Flow, edge: Edge) -> bool:
    step = flow.graph.steps[edge.step]
    return any(becomes.key == edge.key or tag_of(becomes.key) == edge.key for becomes in step.becomes)
