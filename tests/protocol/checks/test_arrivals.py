"""Planted readers of failures that never come to them."""

import pytest

from tests.protocol.checks.planted import bugfix, change, needs, put, said, to
from treadle.protocol.model import Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            change(bugfix(), "graphs.main.steps.merge", needs=needs("review.Approved", "!limit?")),
            ["19 main.merge: reads '!limit?', but no such failure leads here (lead one here, or remove the need)"],
            id="a_step",
        ),
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Aborted", needs("!*?")),
            ["19 main: reads '!*?', but no such failure leads here (lead one here, or remove the need)"],
            id="an_outcome",
        ),
    ],
)
def test_a_planted_fault_is_named(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_a_report_of_one_failure_among_many() -> None:
    listed = change(
        bugfix(), "graphs.main.steps.human", needs=needs("fix.Stuck?", "review.Rejected?", "!*?", "!limit?")
    )
    assert said(listed) == []
    rows = {"!timeout": to("human"), "!crash": to("human"), "!gate": to("human"), "!invalid": to("human")}
    without = change(listed, "graphs.main", system={**rows, "!exhausted": to("human"), "!limit": to("@end:Aborted")})
    told = put(without, "graphs.main.ends", "Aborted", needs("!limit?"))
    assert said(told) == [
        "19 main.human: reads '!limit?', but no such failure leads here (lead one here, or remove the need)"
    ]
