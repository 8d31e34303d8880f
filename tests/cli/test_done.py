"""Work that a person hands in, and what the checks make of it."""

from pathlib import Path

import pytest

from tests.cli.kept import run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_work_that_the_checks_refuse_is_told_to_whoever_did_it() -> None:
    begun = run("--level", "0")
    lane = Path(begun.out.partition("work in ")[2].partition(",")[0])
    (lane / "elsewhere.txt").write_text("not mine to write\n")
    result = treadle("done", "--exit", "Did", "--field", "summary=swept")
    assert result.code == 1
    assert "the checks have refused Did, attempt 1:\n  scope\n" in result.out
    assert "elsewhere.txt" in result.out.partition("  scope\n")[2].partition("work is yours")[0]
    assert '"check"' not in result.out, "a report is told by its words"
    assert "  treadle done sweep-1 --exit Did --field summary=… [--field details=…]\n" in result.out


def test_work_can_be_handed_in_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = run("--level", "0")
    monkeypatch.chdir(begun.out.partition("work in ")[2].partition(",")[0])
    for words in (("status",), ("status", "sweep-1"), ("runs",), ("say", "status")):
        assert "sweep-1" in treadle(*words).out, words
    result = treadle("done", "--exit", "Stuck", "--field", "why=no broom")
    assert "sweep-1 has ended with Failed" in result.out
