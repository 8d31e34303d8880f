"""Check 16, protected files: what needs a person's word is asked of a person."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import step_path
from treadle.protocol.checks.permissions import has_gate
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import row


def protected_files_ask_a_person(subject: Subject) -> Iterator[Finding]:
    """16. Where `protection` is a gate, its refusal leads to a person."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if not any(has_gate(gates, "protection") for gates in step.gates.values()):
                continue
            goals = [way.to for way in row(flow.graph, name, "!gate.protection") or ()]
            if not all(goal in flow.graph.steps and flow.graph.steps[goal].asks == "human" for goal in goals):
                message = "is gated by 'protection', but its refusal does not lead to a person"
                path = f"{step_path(flow.name, name)}.routes"
                hint = "lead '!gate.protection' to an `ask: human`"
                yield subject.finding(16, f"{flow.name}.{name}", path, message, hint)
