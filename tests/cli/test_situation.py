"""How a run stands is called the same wherever one looks."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import status, treadle
from treadle.cli import runs as listing

pytestmark = pytest.mark.usefixtures("kept")


def test_work_in_a_persons_hands_is_called_yours_in_every_command() -> None:
    run("--level", "0")
    now = status("sweep-1")
    (mine,) = now["yours"]
    assert (now["status"], mine["step"], now["activities"][0]["due"]) == ("asks", "work", "")
    assert Path(mine["prompt"]).is_file()
    assert Path(mine["lane"]).is_dir()
    said = treadle("status").out
    assert "root: work · yours" in said
    assert mine["prompt"] in said
    assert "--exit Did --field summary=… [--field details=…]\n" in said
    assert "--exit Stuck --field why=…\n" in said
    assert now["level"] == 0
    assert mine["exits"][0] == {"exit": "Did", "fields": ["summary"], "optional": ["details"]}
    assert treadle("runs", "--json").json()["runs"][0]["status"] == "asks"
    treadle("pause", "sweep-1")
    assert status("sweep-1")["status"] == "paused"
    assert "paused; `treadle resume sweep-1`" in treadle("status").out


def test_a_run_that_waits_for_a_go_is_called_the_same_by_both_commands() -> None:
    run("--level", "1")
    assert status("sweep-1")["status"] == "asks"
    assert treadle("runs", "--json").json()["runs"][0]["status"] == "asks"


def test_the_tree_is_drawn_as_soon_as_a_run_is_resumed(kept: Kept) -> None:
    run("--level", "0")
    assert "sweep-1 · kept" in kept.on_terminal("resume", "sweep-1")
    assert "root: work · worker\n" in treadle("resume", "sweep-1").out


def test_a_person_in_an_agents_place_reads_the_command_that_hands_in() -> None:
    run("--level", "0")
    prompt = Path(status("sweep-1")["yours"][0]["prompt"]).read_text()
    assert "--exit Did --field summary=… [--field details=…]`" in prompt
    assert "emit" not in prompt


@pytest.mark.parametrize("more", [[], ["--watch"]])
def test_commands_and_paths_stay_on_one_line_on_a_narrow_terminal(kept: Kept, more: list[str]) -> None:
    run("--level", "0")
    shown = kept.on_terminal("status", *more, columns=40)
    mine = status("sweep-1")["yours"][0]
    assert mine["prompt"] in shown
    assert mine["lane"] in shown
    assert "done sweep-1 --exit Did --field summary=… [--field details=…]" in shown


def test_without_a_run_all_runs_are_shown_with_where_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_ENDED", 1)
    for name in ("first", "second"):
        assert run("--name", name).code == 0
    assert run("--level", "0", "--name", "third").code == 3
    found = treadle("status", "--json").json()
    assert ([it["run"] for it in found["runs"]], found["folded"]) == (["third", "second"], 1)
    going, ended = found["runs"]
    assert (going["spec"], going["protocol"], going["status"], going["outcome"]) == ("SWEEP-1", "kept", "asks", "")
    (at,) = going["places"]
    assert (at["step"], at["attempt"], at["attempts"], at["waits_for"], at["who"]) == ("work", 1, 3, "person", "worker")
    assert (ended["outcome"], ended["places"], ended["delivered"]) == ("Finished", [], False)
    assert ended["usage"]["currency"] == "USD"
    lines = treadle("status").out.splitlines()
    assert [line.split(" | ")[0] for line in lines if line.startswith("| ")][-2:] == ["| third", "| second"]
    assert [line for line in lines if "done third --exit Did" in line], "the only one that goes on is told whole"


def test_a_run_that_cannot_be_read_hides_no_other(kept: Kept) -> None:
    run("--level", "1")
    (line,) = treadle("status", "--json").json()["runs"]
    assert [(at["waits_for"], at["by"]) for at in line["places"]] == [("person", "")], "it waits for a go"
    with closing(sqlite3.connect(kept.root / ".treadle" / "local" / "store.db")) as db, db:
        db.execute("UPDATE events SET body = x'00' WHERE seq = 1")
    (line,) = treadle("status", "--json").json()["runs"]
    assert line["problem"], "a run that cannot be read says so, and hides no other"
    assert treadle("status").code == 0
