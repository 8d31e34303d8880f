"""Forgetting runs: what has ended goes, what goes on stays, and one is told what that freed."""

from pathlib import Path

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import treadle
from tests.recorded import add_run, drive, record
from treadle.protocol.load import load
from treadle.store.sqlite import Store


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run that has ended, `old`, and one that waits for a person, `young`."""
    record(tmp_path, "old", "fractal")
    store = Store(tmp_path / ".treadle" / "local" / "store.db")
    riper = load("riper")
    add_run(store, "young", riper)
    drive(tmp_path, store, "young", riper, stops=0)
    store.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folders(here: Path) -> list[str]:
    return sorted(path.name for path in (here / ".treadle" / "local" / "runs").iterdir())


def ids() -> list[str]:
    return [run["run"] for run in treadle("runs", "--json").json()["runs"]]


def test_runs_that_ended_long_ago_go(here: Path) -> None:
    outcome = treadle("gc", "--older-than", "0", "--json")
    assert outcome.code == 0
    found = outcome.json()["forgotten"]
    assert (found["freed"]["runs"], found["freed"]["events"]) == (["old"], 9)
    assert found["files"] > 0
    assert (ids(), folders(here)) == (["young"], [])
    assert treadle("replay", "young").code == 0


def test_young_runs_stay_unless_they_are_named(here: Path) -> None:
    assert treadle("gc", "--json").json()["forgotten"]["freed"]["runs"] == []
    assert (ids(), folders(here)) == (["young", "old"], ["old"])
    assert treadle("gc", "--run", "old", "--json").json()["forgotten"]["freed"]["runs"] == ["old"]
    assert ids() == ["young"]


def test_a_dry_run_removes_no_run(here: Path) -> None:
    outcome = treadle("gc", "--run", "old", "--dry-run", "--json").json()
    assert (outcome["dry_run"], outcome["forgotten"]["freed"]["runs"]) == (True, ["old"])
    assert (ids(), folders(here)) == (["young", "old"], ["old"])


def test_an_unfinished_run_is_refused_by_name(here: Path) -> None:
    outcome = treadle("gc", "--run", "young")
    assert (outcome.code, outcome.error, "`treadle abort young`" in outcome.err) == (2, "run.open", True)
    assert "young" in ids()
    assert folders(here) == ["old"]


@pytest.mark.parametrize("age", ["", "-1", "1y", "30 d", "d", "9999999d"])
@pytest.mark.usefixtures("here")
def test_an_age_is_a_number_and_a_unit(age: str) -> None:
    outcome = treadle("gc", f"--older-than={age}")
    assert (outcome.code, outcome.error) == (2, "usage.value")


def test_gc_without_runs_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".treadle").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "no runs yet" in treadle("gc").err


def test_a_run_that_an_unfinished_one_replays_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    treadle("run", "chore.yaml", "-p", "decide", "--agent", "scripted:did.yaml", "--name", "first")
    treadle("run", "chore.yaml", "-p", "ask", "--agent", "replay:first", "--name", "again")
    named = treadle("gc", "--run", "first")
    assert (named.code, named.out) == (2, "")
    swept = treadle("gc", "--older-than", "0")
    assert (swept.code, "run first is kept" in swept.err, ids()) == (0, True, ["again", "first"])
    treadle("abort", "again")
    assert treadle("gc", "--run", "first").code == 0
