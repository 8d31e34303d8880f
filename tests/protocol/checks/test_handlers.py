"""Planted faults in handlers: they leave their own world, or wait below themselves."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, put, said, to, tree
from treadle.protocol.model import Handler, Protocol, Send, Step, Wait


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(tree(), "graphs.node.steps.conflict.routes", "replan", to("plan")),
            [
                (
                    "7 node: handler of 'Shift' runs into main step 'plan' by conflict.replan (lead it to "
                    "'^plan' or to '@resume')"
                )
            ],
            id="a_handler_that_runs_into_the_main_work",
        ),
        pytest.param(
            put(tree(), "graphs.node.handlers", "Status", Handler(step="work")),
            ["7 node: handler of 'Status' starts at main step 'work' (give it a step of its own)"],
            id="a_handler_that_starts_in_the_main_work",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "again", to("@resume")),
            [
                (
                    "7 main.human: again leads to '@resume', but nothing is interrupted here (name the "
                    "step; only handlers resume or redirect)"
                )
            ],
            id="a_main_step_that_resumes",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "again", to("^repro")),
            [
                (
                    "7 main.human: again leads to '^repro', but nothing is interrupted here (name the "
                    "step; only handlers resume or redirect)"
                )
            ],
            id="a_main_step_that_redirects",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", Send(signal="Ok", to="sender"))),
            [
                (
                    "7 main.fix: Fixed answers a sender, but nobody has sent anything to the main work "
                    "(answer in the steps of a handler)"
                )
            ],
            id="a_main_step_that_answers",
        ),
        pytest.param(
            change(tree(), "graphs.node.steps.conflict", wait=(Wait(kind="group", group="parts"),)),
            [
                (
                    "14 node.conflict: waits for group 'parts' inside a handler, whose own work it holds "
                    "up (wait in the main steps)"
                )
            ],
            id="a_join_in_a_handler",
        ),
        pytest.param(
            put(
                put(
                    put(tree(), "graphs.node.steps.rebase.routes", "Rebased", to("again")),
                    "graphs.node.steps",
                    "again",
                    Step(
                        kind="map",
                        graph="node",
                        routes={"AllOk": to("@resume"), "SomeFailed": to("@resume"), "!limit": to("conflict")},
                    ),
                ),
                "graphs.node.ok",
                "again",
                ("Merged",),
            ),
            [
                (
                    "12 node.answer: reads 'plan.Planned', which is not set on every path here (not after"
                    " the handler of 'Shift', which may start at any time, rebase.Rebased, the handler of"
                    " 'Question') (mark it optional with '?' or reroute)"
                ),
                (
                    "14 node.again: maps inside a handler, which would hold up the interrupted work "
                    "(redirect with '^step' and map there)"
                ),
                (
                    "19 node.rebase: Rebased leads to 'again', which does not take it (add "
                    "'rebase.Rebased?' to the needs of 'again')"
                ),
            ],
            id="a_map_in_a_handler",
        ),
        pytest.param(
            put(
                change(batch(), "graphs.cycle", handlers={"Shift": Handler(step="shift")}),
                "graphs.cycle.steps",
                "shift",
                Step(kind="ask", asks="human", routes={"go": to("shift", sync=True), "done": to("@resume")}),
            ),
            ["14 cycle.shift: go waits for its siblings inside a handler (remove `sync`)"],
            id="a_sync_in_a_handler",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_question_to_a_person_may_be_shared() -> None:
    """An ask that only ends the instance may stand in the main work and in a handler."""
    bare = change(tree(), "graphs.node.steps.stuck", routes={"abort": to("@end:Aborted")})
    assert said(put(bare, "graphs.node.steps.rebase.routes", "!*", to("stuck")), 7) == []


def test_a_handler_may_wait_for_a_person() -> None:
    assert said(change(tree(), "graphs.node.steps.conflict", wait=(Wait(kind="manual"),))) == []
