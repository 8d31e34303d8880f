"""Planted retries that cost nothing."""

import pytest

from tests.protocol.checks.planted import bugfix, change, needs, put, said, to
from treadle.protocol.model import Protocol, Tier


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(
                change(
                    bugfix(), "graphs.main.steps.fix", needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?")
                ),
                "graphs.main.steps.fix.routes",
                "Stuck.Lost",
                to("fix", fresh=True),
            ),
            [
                (
                    "9 main: unbounded loop fix → fix, by fix.Stuck.Lost (charge a budget on one of these "
                    "edges, or lead it through a person)"
                ),
                (
                    "15 warning: main.fix: needs 'fix.Stuck?', but its template never shows it (use it in "
                    "the template, or remove it)"
                ),
                "17 main.fix: Stuck.Lost starts its step afresh without end (charge a budget)",
            ],
            id="a_fresh_start_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", fresh=True)),
            [
                (
                    "17 main.fix: Fixed is fresh but leads to another step (remove `fresh`: entering a "
                    "step starts anew anyway)"
                )
            ],
            id="a_fresh_start_elsewhere",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", Tier())),
            ["17 main.fix: Fixed moves to a stronger model without end (charge a budget)"],
            id="a_stronger_model_without_a_budget",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.merge.routes", "!crash", to("human", Tier(), charge="rounds")),
            ["17 main.merge: !crash moves to a stronger model, but no agent works here (remove `tier`)"],
            id="a_stronger_model_for_nobody",
        ),
        pytest.param(
            put(
                change(
                    bugfix(), "graphs.main.steps.fix", needs=needs("repro.Reproduced", "review.Rejected?", "fix.Stuck?")
                ),
                "graphs.main.steps.fix.routes",
                "Stuck.Lost",
                to("fix"),
            ),
            [
                (
                    "15 warning: main.fix: needs 'fix.Stuck?', but its template never shows it (use it in "
                    "the template, or remove it)"
                ),
                (
                    "17 main.fix: Stuck.Lost is what spent attempts become, and leads to the same "
                    "attempts again (add `fresh: true`)"
                ),
            ],
            id="spent_attempts_that_lead_to_themselves",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected
