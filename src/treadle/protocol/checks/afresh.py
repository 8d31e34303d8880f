"""Check 17, the other half: what is tried again can be, and what starts afresh starts differently."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import TRYING_KINDS, Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import ResetThread, Tier


def fresh_starts_differ(subject: Subject) -> Iterator[Finding]:
    """17. A fresh row moves to a stronger model, or forgets the conversations that the step continues."""
    for flow in subject.flows.values():
        for edge in flow.edges:
            if edge.row.fresh and not edge.over and edge.lands_at == edge.step:
                for message, hint in _faults(flow, edge):
                    yield subject.finding(17, f"{flow.name}.{edge.step}", edge.path, message, hint)


def retries_have_attempts(subject: Subject) -> Iterator[Finding]:
    """17. A step that leads to itself has more than one attempt."""
    for flow in subject.flows.values():
        for edge in flow.edges:
            step = flow.graph.steps[edge.step]
            again = step.kind in TRYING_KINDS and edge.lands_at == edge.step and not edge.row.fresh and not edge.over
            if again and step.attempts < 2:
                message = f"{edge.key} tries again, but there is only one attempt"
                yield subject.finding(17, f"{flow.name}.{edge.step}", edge.path, message, "allow more `attempts`")


def _faults(flow: Flow, edge: Edge) -> Iterator[tuple[str, str]]:
    forgotten = {action.step or edge.step for action in edge.actions if isinstance(action, ResetThread)}
    if not forgotten and not any(isinstance(action, Tier) for action in edge.actions):
        yield f"{edge.key} starts afresh with everything as it was", "add `do: [{tier: 1}]` or a `reset_thread`"
    thread = flow.graph.steps[edge.step].thread
    continued = {edge.step, thread.step} if thread.kind == "resume" and thread.step and not thread.up else {edge.step}
    for step in sorted(continued - forgotten) if forgotten else ():
        message = f"{edge.key} starts afresh, but goes on with the conversation of '{step}'"
        yield message, f"add `reset_thread: {step}`"
