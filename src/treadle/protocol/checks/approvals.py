"""Check 16, the merges: nothing is merged that nobody has approved.

An approval is a slot that only an accepted exit with `proves: approval` writes. A person who leads the work straight
to a merge has approved it as well, for as long as only the orchestrator's own steps lie between.
"""

from collections.abc import Iterator

from treadle.protocol.checks.evidence import slots_that_prove
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding


def merges_are_approved(subject: Subject) -> Iterator[Finding]:
    """16. Where a graph has a reviewer, every path to a merge has been approved."""
    for flow in subject.flows.values():
        approvals = slots_that_prove(subject.protocol, flow, "approval")
        known = subject.known[flow.name]
        for name, step in flow.graph.steps.items():
            if step.effect != "merge" or not approvals or name not in known or approvals & known[name]:
                continue
            source = _unapproved(subject, flow, name, approvals, set())
            if source:
                message = f"merges what {source} leads to, which nobody has approved"
                hint = f"lead every path through one of {', '.join(sorted(approvals))}, or through a person"
                yield subject.finding(16, f"{flow.name}.{name}", step_path(flow.name, name), message, hint)


def _unapproved(subject: Subject, flow: Flow, goal: str, approvals: set[str], seen: set[str]) -> str:
    """What brings something unapproved to a step; empty if nothing does."""
    known = subject.known[flow.name]
    seen.add(goal)
    handlers = [handler.step for handler in flow.graph.handlers.values()]
    if goal in (flow.graph.start, *handlers, *flow.graph.commands.values()) and not approvals & known[goal]:
        return f"the entry at '{goal}'"
    for edge in flow.edges:
        if edge.lands_at != goal or edge.step not in known or approvals & (known[edge.step] | edge.slots):
            continue
        source = flow.graph.steps[edge.step]
        if source.kind == "ask" and source.asks == "human" and edge.key != source.default:
            continue
        if source.kind == "agent":
            return str(edge)
        if edge.step not in seen and (found := _unapproved(subject, flow, edge.step, approvals, seen)):
            return found
    return ""
