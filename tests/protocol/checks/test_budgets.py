"""Planted budgets that bound nothing."""

import pytest

from tests.protocol.checks.planted import bugfix, gates, put, said, to, tree
from treadle.protocol.model import Budget, Handler, Protocol, Step


def _hints(resets: tuple[str, ...]) -> Protocol:
    """A tree that takes a bounded number of hints from outside."""
    hint = Step(
        kind="agent",
        role="oracle",
        template="hint.jinja",
        exits=("Answer",),
        gates={"Answer": gates("readonly")},
        routes={"Answer": to("@resume", charge="hints"), "!*": to("@resume")},
    )
    protocol = put(put(tree(), "graphs.node.handlers", "Hint", Handler(step="hint")), "graphs.node.steps", "hint", hint)
    protocol = put(protocol, "templates", "hint.jinja", "{{ spec.text }}")
    return put(protocol, "graphs.node.budgets", "hints", Budget(max=3, to="@resume", resets=resets))


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.budgets", "spare", Budget(max=1, to="human")),
            [
                (
                    "9 main: budget 'spare' bounds nothing: no row charges it (charge it on the rows that it should "
                    "bound, or remove it)"
                )
            ],
            id="that_no_row_charges",
        ),
        pytest.param(
            _hints(("hint",)),
            [
                (
                    "9 node: budget 'hints' is refilled at 'hint', which charges it, so it is never spent (refill it "
                    "outside of what it bounds)"
                )
            ],
            id="that_is_refilled_where_it_is_charged",
        ),
        pytest.param(_hints(("plan",)), [], id="none_of_these"),
    ],
)
def test_a_budget(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
