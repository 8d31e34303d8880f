"""Check 9, the budgets: each bounds something, and is not refilled where it is spent."""

from collections.abc import Iterator

from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import base_of


def budgets_bound_something(subject: Subject) -> Iterator[Finding]:
    """9. Some row charges a budget, and no step both charges and refills it."""
    for flow in subject.flows.values():
        for name, budget in flow.graph.budgets.items():
            path = f"graphs.{flow.name}.budgets.{name}"
            charging = dict.fromkeys(base_of(edge.step) for edge in flow.edges if edge.charges == name)
            if not charging:
                message = f"budget '{name}' bounds nothing: no row charges it"
                yield subject.finding(
                    9, flow.name, path, message, "charge it on the rows that it should bound, or remove it"
                )
            for step in dict.fromkeys(map(base_of, budget.resets)):
                if step in charging:
                    message = f"budget '{name}' is refilled at '{step}', which charges it, so it is never spent"
                    yield subject.finding(
                        9, flow.name, f"{path}.resets", message, "refill it outside of what it bounds"
                    )
