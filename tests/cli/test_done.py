"""Work that a person hands in, and what the checks make of it."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.cli.hooked import lane
from tests.cli.kept import Kept, run
from tests.cli.treadle import Outcome, status, treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_refused_work_goes_back_to_the_person_with_the_findings() -> None:
    begun = run("--level", "0")
    (lane(begun) / "elsewhere.txt").write_text("not mine to write\n")
    result = treadle("done", "--exit", "Did", "--field", "summary=swept")
    assert result.code == 1
    assert "refused Did, attempt 1:\n  scope\n" in result.out
    assert "elsewhere.txt" in result.out.partition("  scope\n")[2].partition("treadle done")[0]
    assert '"check"' not in result.out, "a report is told by its words"
    assert "--exit Did --field summary=… [--field details=…]\n" in result.out


def test_work_can_be_handed_in_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = run("--level", "0")
    monkeypatch.chdir(lane(begun))
    for words in (("status",), ("status", "sweep-1"), ("runs",), ("say", "status")):
        assert "sweep-1" in treadle(*words).out, words
    treadle("done", "--exit", "Stuck", "--field", "why=no broom")
    assert status("sweep-1")["outcome"] == "Failed"


def sweep(begun: Outcome) -> None:
    folder = lane(begun) / "swept"
    folder.mkdir()
    (folder / "floor.txt").write_text("clean\n")


def test_evidence_names_the_person_behind_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    sweep(run("--level", "0"))
    assert treadle("done", "--exit", "Did", "--field", "summary=swept").code == 0
    found = treadle("evidence", "--json").json()
    assert found["agents"] == {"worker": "alice"}, "not the agent that the settings name"
    assert [(it["who"], it["by"]) for it in found["accepted"] if it["step"] == "work"] == [("worker", "alice")]


def test_evidence_names_every_worker_of_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    folder = lane(run("--level", "0"))
    (folder / "elsewhere.txt").write_text("not mine to write\n")
    assert treadle("done", "--exit", "Did", "--field", "summary=swept").code == 1
    monkeypatch.setenv("LOGNAME", "bob")
    (folder / "elsewhere.txt").unlink(missing_ok=True)
    begun = treadle("status", "sweep-1", "--json").json()["yours"][0]["lane"]
    (Path(begun) / "swept").mkdir(exist_ok=True)
    (Path(begun) / "elsewhere.txt").unlink(missing_ok=True)
    (Path(begun) / "swept" / "floor.txt").write_text("clean\n")
    assert treadle("done", "--exit", "Did", "--field", "summary=swept").code == 0
    found = treadle("evidence", "--json").json()
    assert found["agents"] == {"worker": "alice, bob"}
    assert [(it["kind"], it["by"]) for it in found["setbacks"]] == [("refused", "alice")]


def test_evidence_names_the_program_that_did_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    assert run().code == 0
    assert treadle("evidence", "--json").json()["agents"] == {"worker": "scripted:sweeper.yaml"}


CHECK: Final = re.compile(r"check (\d+) of (\d+) · ([\w:]+): (passed|failed|skipped)")


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_each_check_is_a_line_as_it_ends(more: list[str]) -> None:
    sweep(run("--level", "0"))
    done = treadle("done", "--exit", "Did", "--field", "summary=swept", *more)
    assert done.code == 0, done
    assert CHECK.findall(done.out) == [("1", "2", "commit", "passed"), ("2", "2", "scope", "passed")]


def test_on_a_terminal_each_check_is_shown_too(kept: Kept) -> None:
    sweep(run("--level", "0"))
    shown = kept.on_terminal("done", "--exit", "Did", "--field", "summary=swept")
    assert ("2", "2", "scope", "passed") in CHECK.findall(shown)


def test_a_check_that_fails_says_so_as_it_ends() -> None:
    (lane(run("--level", "0")) / "elsewhere.txt").write_text("not mine to write\n")
    done = treadle("done", "--exit", "Did", "--field", "summary=swept")
    assert (done.code, CHECK.findall(done.out)[-1]) == (1, ("2", "2", "scope", "failed"))
