"""Planted ways to merge what nobody has approved."""

import pytest

from tests.protocol.checks.planted import bugfix, change, gates, needs, put, said, to
from treadle.protocol.model import Protocol, Step


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(
                put(bugfix(), "graphs.main.steps.fix.routes", "Fixed", to("review", when="attempt > 1") + to("merge")),
                "graphs.main.steps.merge",
                needs=needs("review.Approved?", "fix.Fixed?"),
            ),
            [
                (
                    "16 main.merge: merges what comes from fix.Fixed, which nobody has approved (lead "
                    "every path through one of review.Approved, or through a person)"
                )
            ],
            id="a_way_around_the_reviewer",
        ),
        pytest.param(
            change(
                change(bugfix(), "graphs.main", commands={"/merge": "merge"}),
                "graphs.main.steps.merge",
                needs=needs("review.Approved?"),
            ),
            [
                (
                    "16 main.merge: merges what comes from the entry at 'merge', which nobody has "
                    "approved (lead every path through one of review.Approved, or through a person)"
                )
            ],
            id="a_merge_by_command",
        ),
        pytest.param(
            put(
                change(
                    put(
                        bugfix(),
                        "graphs.main.steps.fix.routes",
                        "Fixed",
                        to("review", when="attempt > 1") + to("build"),
                    ),
                    "graphs.main.steps.merge",
                    needs=needs("review.Approved?"),
                ),
                "graphs.main.steps",
                "build",
                Step(
                    kind="check",
                    checks=gates("build"),
                    needs=needs("fix.Fixed"),
                    routes={"Passed": to("merge"), "Failed": to("human")},
                ),
            ),
            [
                (
                    "16 main.merge: merges what comes from fix.Fixed, which nobody has approved (lead "
                    "every path through one of review.Approved, or through a person)"
                )
            ],
            id="a_way_around_the_reviewer_through_a_check",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol, 16) == expected


def test_a_person_may_lead_the_work_to_the_merge() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    assert said(put(free, "graphs.main.steps.human.routes", "accept", to("merge")), 16) == []


def test_an_approval_is_of_what_was_there() -> None:
    """A writer after the reviewer makes the approval stale, though its slot is still set."""
    late = put(bugfix(), "graphs.main.steps.review.routes", "Approved", to("polish"))
    polish = Step(
        kind="agent",
        role="de",
        exits=("Fixed",),
        needs=needs("review.Approved", "repro.Reproduced", "review.Rejected?"),
        gates={"Fixed": gates("commit scope green tests_unmodified")},
        routes={"Fixed": to("merge")},
    )
    merge = change(late, "graphs.main.steps.merge", needs=needs("review.Approved", "polish.Fixed"))
    [line] = said(put(merge, "graphs.main.steps", "polish", polish), 16)
    assert line.startswith("16 main.merge: merges what comes from polish.Fixed, which nobody has approved")


def test_time_is_not_a_person() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    open_ = put(free, "graphs.main.steps.human.routes", "accept", to("merge"))
    assert said(change(open_, "graphs.main.steps.human", default="accept", default_after=60), 16) != []
