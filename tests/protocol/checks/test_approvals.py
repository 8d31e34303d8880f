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
                    "16 main.merge: merges what fix.Fixed leads to, which nobody has approved (lead every "
                    "path through one of review.Approved, or through a person)"
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
                    "16 main.merge: merges what the entry at 'merge' leads to, which nobody has approved "
                    "(lead every path through one of review.Approved, or through a person)"
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
                    "16 main.merge: merges what fix.Fixed leads to, which nobody has approved (lead every "
                    "path through one of review.Approved, or through a person)"
                )
            ],
            id="a_way_around_the_reviewer_through_a_check",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_person_may_lead_the_work_to_the_merge() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    assert said(put(free, "graphs.main.steps.human.routes", "accept", to("merge"))) == []


def test_time_is_not_a_person() -> None:
    free = change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved?"))
    open_ = put(free, "graphs.main.steps.human.routes", "accept", to("merge"))
    assert said(change(open_, "graphs.main.steps.human", default="accept", default_after=60), 16) != []
