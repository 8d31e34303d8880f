"""Planted decisions that decide nothing."""

import pytest

from tests.protocol.checks.planted import bugfix, change, needs, put, said, to
from treadle.protocol.model import Exit, Field, Protocol

REVIEW = "graphs.main.steps.review.routes"
COUNTED = to("review", sets={"round": "round + 1"})


def _undecided() -> Protocol:
    """A reviewer whose every word leads to a person, who merges."""
    protocol = put(bugfix(), "exits", "Rejected", Exit(severity="WARN", fields={"faults": Field(type="[Fault]")}))
    protocol = put(put(protocol, REVIEW, "Rejected", to("human")), REVIEW, "Approved", to("human"))
    protocol = put(protocol, "graphs.main.steps.human.routes", "accept", to("merge"))
    heard = needs("fix.Stuck?", "review.Rejected?", "review.Approved?", "!*?")
    protocol = change(protocol, "graphs.main.steps.human", needs=heard)
    protocol = change(protocol, "graphs.main", budgets={}, ends={"Done": needs("merge.Merged"), "Aborted": ()})
    return change(protocol, "graphs.main.steps.merge", needs=needs("review.Approved?"))


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), REVIEW, "Rejected", to("fix", charge="rounds")),
            [
                (
                    "23 Rejected: field 'faults' is routed, but no row of 'Rejected' looks at it (look at it "
                    "in a guard, or "
                    "remove `route: true`)"
                )
            ],
            id="a_field_that_no_row_looks_at",
        ),
        pytest.param(
            put(change(bugfix(), "graphs.main", vars={"round": 0}), "graphs.main.steps.fix.routes", "Fixed", COUNTED),
            [
                (
                    "23 main: variable 'round' decides nothing: no guard and no template reads it (read "
                    "it in a guard or a template, or remove it)"
                )
            ],
            id="a_variable_that_nobody_reads",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1") + to("review")),
            [
                (
                    "23 main.fix: the guard 'attempt > 1' decides nothing: what follows in 'Fixed' does "
                    "the same (let them differ, or remove one)"
                )
            ],
            id="a_guard_before_the_same_row",
        ),
        pytest.param(
            _undecided(),
            [
                (
                    "23 main.review: 'Approved' leads where 'Rejected' leads, so the approval decides "
                    "nothing (let them differ, or look at `last`)"
                )
            ],
            id="an_approval_that_is_a_refusal",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.human.routes", "abort", to("repro")),
            [
                (
                    "23 main.human: 'abort' leads to 'repro', which gives nothing up (lead it to an "
                    "outcome that is not good, or rename it)"
                )
            ],
            id="an_abort_that_goes_on",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.steps.fix.routes", "!gate", to("human")),
            [
                (
                    "23 main.fix: has 4 attempts, but !gate does not try again (add `'!gate': '@self'`, or allow one "
                    "attempt)"
                )
            ],
            id="attempts_that_are_not_taken",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol, 23) == expected


def test_a_variable_that_a_template_shows_is_read() -> None:
    counted = put(change(bugfix(), "graphs.main", vars={"round": 0}), "graphs.main.steps.fix.routes", "Fixed", COUNTED)
    assert said(put(counted, "templates", "review.jinja", "{{ fix.Fixed.commit }}{{ vars.round }}")) == []


def test_an_approval_that_is_looked_back_at_decides_something() -> None:
    rows = to("merge", when="last.review == 'Approved'") + to("repro")
    assert said(put(_undecided(), "graphs.main.steps.human.routes", "accept", rows), 23) == []


def test_two_guards_before_the_same_row_are_an_or() -> None:
    rows = to("human", when="data.faults > 9") + to("human", when="same_failure > 1") + to("fix", charge="rounds")
    assert said(put(bugfix(), REVIEW, "Rejected", rows)) == []
