"""Planted successes that do not name what earned them."""

import pytest

from tests.protocol.checks.planted import batch, bugfix, needs, put, said
from treadle.protocol.model import Protocol


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        pytest.param(
            put(bugfix(), "graphs.main.ends", "Done", needs("fix.Fixed", "review.Approved", "merge.Merged")),
            [
                (
                    "21 main: 'Done' comes after 'repro.Reproduced' on every path, but does not need it (add "
                    "'repro.Reproduced' to what it needs)"
                )
            ],
            id="of_the_root",
        ),
        pytest.param(
            put(batch(), "graphs.cycle.ends", "Done", needs("green.Green")),
            [
                (
                    "21 cycle: 'Done' comes after 'red.Red' on every path, but does not need it (add "
                    "'red.Red' to what it needs)"
                )
            ],
            id="of_a_child",
        ),
        pytest.param(
            put(batch(), "graphs.main.ends", "Done", needs("cycles.AllOk", "suite.Passed?")),
            [
                (
                    "21 main: 'Done' comes after 'suite.Passed' on every path, but does not need it (add "
                    "'suite.Passed' to what it needs)"
                )
            ],
            id="that_takes_a_check_or_leaves_it",
        ),
        pytest.param(
            put(batch(), "graphs.main.ends", "Done", needs("suite.Passed")),
            [
                (
                    "21 main: 'Done' comes after 'cycles.AllOk' on every path, but does not need it (add "
                    "'cycles.AllOk' to what it needs)"
                )
            ],
            id="that_does_not_name_its_children",
        ),
    ],
)
def test_a_success(protocol: Protocol, expected: list[str]) -> None:
    assert said(protocol) == expected


def test_an_outcome_that_nobody_counts_as_good_needs_nothing() -> None:
    assert said(put(bugfix(), "graphs.main.ends", "Done", needs("merge.Merged?"))) == []
