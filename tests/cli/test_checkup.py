"""How `treadle doctor` tells what it has found."""

from treadle.cli.checkup import report
from treadle.cli.health.line import missing, ok, warn


def test_advice_that_neighbours_share_is_told_once() -> None:
    lines = list(
        report(
            [
                missing("one", "not found", "buy it", code="a.b"),
                warn("two", "old", "buy it", code="a.b"),
                warn("x", "y", "z", code="a.b"),
            ]
        )
    )
    assert lines[:5] == [
        "absent  one  not found",
        "warn    two  old",
        "             → buy it",
        "warn    x    y",
        "             → z",
    ]


def test_what_nobody_needs_is_not_called_missing() -> None:
    assert list(report([ok("git"), missing("codex", "not found", "get it", code="a.b")]))[-1] == (
        "Everything that is needed is there; what is absent is optional."
    )
    assert list(report([ok("git")]))[-1] == "Everything that is needed is there."
    needed = list(
        report(
            [
                missing("git", "not found", "get it", required=True, code="a.b"),
                missing("x", "not found", "y", code="a.b"),
            ]
        )
    )
    assert (needed[0].split()[0], needed[2].split()[0], needed[-1]) == ("missing", "absent", "needed and missing: git")
