"""Planted dead ends: graphs, steps and signals that lead nowhere or come from nowhere."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, needs, put, said, to, tree
from treadle.protocol.model import Protocol, Send, Step


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(batch(), "graphs", "spare", batch().graphs["cycle"]),
            [
                (
                    "5 spare: no run comes to graph 'spare' (spawn or map it from 'main' or what that "
                    "starts, or remove it)"
                )
            ],
            id="a_graph_nobody_starts",
        ),
        pytest.param(
            put(
                bugfix(),
                "graphs.main.steps",
                "spare",
                Step(kind="ask", asks="human", routes={"on": to("merge"), "abort": to("@end:Aborted")}),
            ),
            ["5 main.spare: is never reached (lead a row to it from 'repro' or a handler, or remove it)"],
            id="a_step_nobody_leads_to",
        ),
        pytest.param(
            put(
                put(batch(), "graphs.cycle.steps.green.routes", "Green", to("rest")),
                "graphs.cycle.steps",
                "rest",
                Step(kind="ask", asks="human", needs=needs("green.Green"), routes={"more": to("rest")}),
            ),
            [
                "5 warning: cycle: outcome 'Done' is never used (use it or remove it)",
                (
                    "6 cycle.rest: no way leads from here to an end (lead one of its rows, or of those it "
                    "leads to, to `@end:Outcome` or `@resume`)"
                ),
            ],
            id="a_step_without_a_way_out",
        ),
        pytest.param(
            put(
                tree(),
                "graphs.node.steps.merge.routes",
                "Merged",
                to("@end:Merged", Send(signal="Shif", to="siblings")),
            ),
            [
                (
                    "5 node.merge: Merged sends 'Shif' to its siblings, but none of them handles it (add "
                    "a handler for it to node)"
                )
            ],
            id="a_signal_nobody_handles",
        ),
        pytest.param(
            put(
                bugfix(), "graphs.main.steps.merge.routes", "Merged", to("@end:Done", Send(signal="Done", to="parent"))
            ),
            ["5 main.merge: Merged sends 'Done' to its parent, of which there are none (remove the send)"],
            id="a_signal_to_nobody",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
