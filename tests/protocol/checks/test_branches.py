"""Planted moves of a branch that nobody hears of."""

import pytest

from tests.protocol.checks.planted import COMMIT, batch, gates, needs, put, said, to, tree
from treadle.protocol.model import Exit, Protocol, Send, Spawn, Step

_TOLD = Send(signal="Shift", to="children")


def _adapted(checks: str) -> Protocol:
    """A tree whose rebases are repaired by an agent."""
    adapt = Step(
        kind="agent",
        role="maker",
        template="adapt.jinja",
        exits=("Adapted",),
        needs=needs("rebase.Rebased"),
        gates={"Adapted": gates(checks)},
        routes={"Adapted": to("@resume", _TOLD), "!*": to("conflict")},
    )
    protocol = put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("adapt"))
    protocol = put(protocol, "graphs.node.steps", "adapt", adapt)
    protocol = put(protocol, "exits", "Adapted", Exit(fields={"commit": COMMIT}))
    return put(protocol, "templates", "adapt.jinja", "{{ spec.text }}")


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.merge.routes", "Merged", to("@end:Merged")),
            [
                (
                    "22 node.merge: Merged moves the branch they stand on, but does not send 'Shift' to its siblings "
                    "(add `do: [{send: {signal: Shift, to: siblings}}]`)"
                )
            ],
            id="a_merge",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.plan.routes",
                "Planned",
                to("work", Spawn(group="parts", graph="node", over="parts")),
            ),
            [
                (
                    "22 node.plan: Planned changes what those it keeps stand on, but does not send 'Shift' to its "
                    "children (add `do: [{send: {signal: Shift, to: children}}]`)"
                )
            ],
            id="a_new_plan",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("@resume")),
            [
                (
                    "22 node.rebase: Rebased goes on from a branch that has moved, but does not send 'Shift' to its "
                    "children (add `do: [{send: {signal: Shift, to: children}}]`)"
                )
            ],
            id="a_rebase",
        ),
        pytest.param(
            _adapted("commit scope rebased canon"),
            [
                (
                    "22 node.adapt: exit 'Adapted' lets work go on from a moved branch, but is not gated by "
                    "'same_colour' (add 'same_colour' to its gates)"
                )
            ],
            id="an_adaptation_that_may_have_changed_more",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_the_root_has_nobody_to_tell() -> None:
    rows = to("@end:Merged", when="root") + to("@end:Merged", Send(signal="Shift", to="siblings"))
    assert said(put(tree(), "graphs.node.steps.merge.routes", "Merged", rows)) == []


def test_where_nobody_rebases_nobody_is_told() -> None:
    assert said(batch(), 22) == []
    assert said(_adapted("commit scope rebased canon same_colour")) == []
