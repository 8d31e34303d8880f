"""Planted faults around barriers."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, gates, needs, put, said, to, tree
from treadle.protocol.model import Budget, Handler, Protocol, Step


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "graphs.cycle.steps.red.routes", "!*", to("halt", sync=True)),
            [
                (
                    "10 cycle.red: from 'red' siblings can wait for each other at 'green' (red.Red) and "
                    "at 'halt' (red.!timeout); neither barrier would open (let every path pass the same "
                    "`sync` edges, or end)"
                )
            ],
            id="two_landings_after_the_start",
        ),
        pytest.param(
            put(
                put(
                    change(
                        put(batch(), "graphs.cycle.steps.green.routes", "Green", to("suite", sync=True)),
                        "graphs.cycle",
                        handlers={"Shift": Handler(step="shift")},
                        ends={"Done": needs("suite.Passed?", "suite.Failed?")},
                    ),
                    "graphs.cycle.steps",
                    "shift",
                    Step(kind="ask", asks="human", routes={"go": to("^red")}),
                ),
                "graphs.cycle.steps",
                "suite",
                Step(
                    kind="check",
                    checks=gates("build"),
                    needs=needs("green.Green"),
                    routes={"Passed": to("@end:Done"), "Failed": to("@end:Done")},
                ),
            ),
            [
                (
                    "10 cycle.green: from 'green' siblings can wait for each other at 'suite' "
                    "(green.Green) and at 'green' (red.Red); neither barrier would open (let every path "
                    "pass the same `sync` edges, or end)"
                )
            ],
            id="a_redirect_across_a_barrier",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", sync=True)),
            [
                (
                    "11 main.fix: Fixed waits for its siblings, but 'main' is the root and has none "
                    "(remove `sync`, or map the graph from another)"
                )
            ],
            id="a_barrier_in_the_root",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.work.routes", "Built", to("merge", sync=True)),
            [
                (
                    "11 node.work: Built waits for its siblings, but 'node' is the root and has none "
                    "(remove `sync`, or map the graph from another)"
                ),
                (
                    "11 node.work: Built waits for its siblings, but 'node.plan' spawns 'node' one by one "
                    "(start it with a map)"
                ),
            ],
            id="a_barrier_among_spawned_children",
        ),
        pytest.param(
            change(batch(), "graphs.main.steps.cycles", after="after"),
            [
                (
                    "11 cycle.red: Red waits for its siblings, but 'main.cycles' starts it in the order "
                    "of `after`, not in chunks (remove `sync`, or use a window alone)"
                )
            ],
            id="a_barrier_in_a_sliding_window",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_retry_inside_a_barrier_is_in_step() -> None:
    assert said(change(batch(), "graphs.cycle.steps.red", attempts=3)) == []


def test_a_spent_budget_leads_past_the_barrier() -> None:
    graph = change(batch(), "graphs.cycle", budgets={"rounds": Budget(max=1, to="halt")})
    again = to("green", sync=True, charge="rounds")
    protocol = change(graph, "graphs.cycle.steps.green", needs=needs("red.Red", "green.Green?"))
    looped = put(protocol, "graphs.cycle.steps.green.routes", "Green", again)
    assert said(looped, 10) == []
