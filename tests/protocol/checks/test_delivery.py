"""Planted exits and failures that nobody reads."""

import pytest

from tests.protocol.checks.planted import COMMIT, batch, bugfix, change, needs, put, said, to, tree
from treadle.protocol.model import Exit, Field, Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=()),
            [
                (
                    "19 main.review: Approved leads to 'merge', which does not take its fields (add "
                    "'review.Approved?' to the needs of 'merge')"
                )
            ],
            id="an_exit_that_the_next_step_does_not_read",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Stuck.Lost", to("fix", fresh=True, charge="rounds")),
            [
                (
                    "19 main.fix: Stuck.Lost leads to 'fix', which does not take its fields (add "
                    "'fix.Stuck?' to the needs of 'fix')"
                )
            ],
            id="an_exit_that_the_same_step_does_not_read",
        ),
        pytest.param(
            put(
                change(bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "!*?")),
                "templates",
                "human.jinja",
                "{% if fix.Stuck %}{{ fix.Stuck.story }}{% endif %}",
            ),
            [
                (
                    "19 main.review: Rejected leads to 'human', which does not take its fields (add "
                    "'review.Rejected?' to the needs of 'human')"
                )
            ],
            id="an_exit_that_the_budgets_target_does_not_read",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.ends", "Done", ()),
            [
                (
                    "19 cycle.green: Green leads to outcome 'Done', which does not take its fields (add "
                    "'green.Green?' to the needs of 'Done')"
                )
            ],
            id="an_exit_that_an_end_does_not_take",
        ),
        pytest.param(
            change(
                put(
                    put(tree(), "exits", "Rebased", Exit(fields={"commit": COMMIT})),
                    "graphs.node.steps.merge.routes",
                    "Merged",
                    to("@end:Merged"),
                ),
                "graphs.node.steps.rebase",
                routes={"Rebased": to("^plan"), "!*": to("conflict")},
            ),
            [
                (
                    "9 node: unbounded loop rebase → plan → rebase, by rebase.Rebased, signal Shift "
                    "(charge a budget on one of these edges, or lead it through a person)"
                ),
                (
                    "19 node.rebase: Rebased leads to 'plan', which does not take its fields (add "
                    "'rebase.Rebased?' to the needs of 'plan')"
                ),
            ],
            id="an_exit_that_a_redirected_step_does_not_read",
        ),
        pytest.param(
            change(bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!gate?")),
            [
                (
                    "19 main.repro: !* leads to 'human', which does not take the report of the failure "
                    "(add '!*?' to the needs of 'human')"
                ),
                (
                    "19 main.fix: !* leads to 'human', which does not take the report of the failure (add "
                    "'!*?' to the needs of 'human')"
                ),
                (
                    "19 main.review: !* leads to 'human', which does not take the report of the failure "
                    "(add '!*?' to the needs of 'human')"
                ),
                (
                    "19 main.merge: !* leads to 'human', which does not take the report of the failure "
                    "(add '!*?' to the needs of 'human')"
                ),
            ],
            id="a_failure_that_the_next_step_does_not_read",
        ),
        pytest.param(
            put(
                put(batch(), "graphs.cycle.steps.green.routes", "!timeout", to("@end:Done")),
                "graphs.cycle.ends",
                "Done",
                needs("green.Green?"),
            ),
            [
                (
                    "19 cycle.green: !timeout leads to outcome 'Done', which does not take the report of "
                    "the failure (add '!timeout?' to the needs of 'Done')"
                )
            ],
            id="a_failure_that_ends_well",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!crash", to("repro")),
            [
                (
                    "9 main: unbounded loop fix → review → fix, by fix.Fixed, review.Rejected (budget "
                    "'rounds' is refilled inside the loop; charge one that is not)"
                ),
                (
                    "19 main.merge: !crash leads to 'repro', which does not take the report of the "
                    "failure (add '!crash?' to the needs of 'repro')"
                ),
            ],
            id="a_failure_with_a_row_of_its_own",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_failure_that_ends_badly_is_read_too() -> None:
    silent = put(batch(), "graphs.cycle.steps.green.routes", "!timeout", to("@end:Aborted"))
    [line] = said(silent)
    assert line == (
        "19 cycle.green: !timeout leads to outcome 'Aborted', which does not take the report of the failure "
        "(add '!timeout?' to the needs of 'Aborted')"
    )
    assert said(put(silent, "graphs.cycle.ends", "Aborted", needs("!timeout?"))) == []


def test_items_of_a_map_are_read() -> None:
    """An exit that a map iterates over need not stand in its needs as well."""
    listed = change(batch(), "exits.Ready", fields={"cycles": Field(type="[Cycle]", route="items")})
    step = "graphs.main.steps.cycles"
    assert said(change(listed, step, over="prepare.Ready.cycles", needs=()), 19) == []
