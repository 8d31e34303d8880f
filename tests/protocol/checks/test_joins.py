"""Planted joins that would never end."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, change, drop, put, said, to, tree
from treadle.protocol.model import CancelGroup, Protocol, Send, Spawn, Wait


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.fix", wait=(Wait(kind="group", group="parts"),)),
            ["13 main.fix: waits for group 'parts', which is never spawned (spawn it on a way to here)"],
            id="a_group_that_is_never_spawned",
        ),
        pytest.param(
            put(
                put(
                    change(tree(), "graphs.node.steps.plan", wait=(Wait(kind="group", group="parts"),)),
                    "graphs.node.steps.plan.routes",
                    "Planned",
                    to("work"),
                ),
                "graphs.node.steps.merge.routes",
                "Merged",
                to(
                    "@end:Merged",
                    Send(signal="Shift", to="siblings"),
                    Spawn(group="parts", graph="node", over="commit"),
                ),
            ),
            [
                (
                    "13 node.plan: waits for group 'parts', but no way leads here from where it is "
                    "spawned (spawn it on a way to here, or remove the wait)"
                ),
                (
                    "13 node.work: waits for group 'parts', but no way leads here from where it is "
                    "spawned (spawn it on a way to here, or remove the wait)"
                ),
                (
                    "13 node.lost: replan leads after a child ended 'Aborted' to 'plan' without changing "
                    "group 'parts' (its join would wait for ever: spawn or cancel on every way there)"
                ),
                (
                    "15 node.merge: starts children over 'commit', which is not routed as items (add "
                    "`route: items` to the field)"
                ),
            ],
            id="a_group_that_is_spawned_too_late",
        ),
        pytest.param(
            change(batch(), "graphs.main", ok={}),
            [
                (
                    "13 main.cycles: nothing says which outcomes of group 'cycles' are good (add `ok: "
                    "{cycles: [Outcome]}` to the graph)"
                )
            ],
            id="a_group_without_good_outcomes",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycle", ("Done",)),
            ["13 main: `ok` speaks of unknown group 'cycle' (did you mean 'cycles'?)"],
            id="good_outcomes_of_no_group",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycles", ("Doen",)),
            ["13 main: group 'cycles' has no outcome 'Doen' (did you mean 'Done'?)"],
            id="a_good_outcome_that_is_none",
        ),
        pytest.param(
            put(batch(), "graphs.main.ok", "cycles", ("Done", "Aborted")),
            [
                (
                    "13 main: 'Aborted' cannot be a good outcome of group 'cycles' (a person has given "
                    "the child up; handle it)"
                )
            ],
            id="an_abort_is_never_good",
        ),
        pytest.param(
            drop(tree(), "graphs.node.handlers", "child:Aborted"),
            [
                "5 node.lost: is never reached (lead a row to it from 'plan' or a handler, or remove it)",
                (
                    "13 node: a child of group 'parts' that ends 'Aborted' is neither good nor handled "
                    "(add a handler for 'child:Aborted', or 'Aborted' to `ok`)"
                ),
            ],
            id="a_bad_outcome_nobody_handles",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "ignore", to("@resume")),
            [
                (
                    "13 node.lost: ignore resumes after a child ended 'Aborted' without changing group "
                    "'parts' (its join would wait for ever: spawn, cancel, redirect or end)"
                )
            ],
            id="a_handler_that_resumes_as_if_nothing_had_happened",
        ),
        pytest.param(
            put(tree(), "graphs.node.steps.lost.routes", "ignore", to("^work")),
            [
                (
                    "13 node.lost: ignore leads after a child ended 'Aborted' to 'work' without changing "
                    "group 'parts' (its join would wait for ever: spawn or cancel on every way there)"
                )
            ],
            id="a_redirect_that_comes_to_the_join_again",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_the_roster_may_be_changed_on_the_way() -> None:
    calm = to("@resume", CancelGroup(group="parts"))
    assert said(put(tree(), "graphs.node.steps.lost.routes", "ignore", calm)) == []
