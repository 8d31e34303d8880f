"""How a run stands is called the same wherever one looks."""

from pathlib import Path

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_work_in_your_hands_is_called_yours_wherever_one_looks() -> None:
    run("--level", "0")
    now = treadle("status", "--json").json()
    (mine,) = now["yours"]
    assert (now["status"], mine["step"], now["activities"][0]["due"]) == ("asks", "work", "")
    assert Path(mine["prompt"]).is_file()
    assert Path(mine["lane"]).is_dir()
    said = treadle("status").out
    assert "root: work · yours, as worker" in said
    assert f"work of root is yours: read {mine['prompt']},\n" in said
    assert "  treadle done sweep-1 --exit Did --field summary=… [--field details=…]\n" in said
    assert "  treadle done sweep-1 --exit Stuck --field why=…\n" in said
    assert now["level"] == 0
    assert mine["exits"][0] == {"exit": "Did", "fields": ["summary"], "optional": ["details"]}
    assert treadle("runs", "--json").json()["runs"][0]["status"] == "asks"
    treadle("pause", "sweep-1")
    assert treadle("status", "--json").json()["status"] == "paused"
    assert "paused; `treadle resume sweep-1` takes that back" in treadle("status").out


def test_a_run_that_waits_for_a_go_is_called_the_same_by_both_commands() -> None:
    run("--level", "1")
    assert treadle("status", "--json").json()["status"] == "asks"
    assert treadle("runs", "--json").json()["runs"][0]["status"] == "asks"


def test_the_tree_is_drawn_as_soon_as_a_run_is_resumed(kept: Kept) -> None:
    run("--level", "0")
    assert "sweep-1 · kept" in kept.on_terminal("resume", "sweep-1")
    assert "root: work · worker\n" in treadle("resume", "sweep-1").out


def test_a_person_who_is_the_agent_reads_how_people_hand_in() -> None:
    run("--level", "0")
    prompt = Path(treadle("status", "--json").json()["yours"][0]["prompt"]).read_text()
    assert "Command: `treadle done sweep-1 --exit Did --field summary=… [--field details=…]`" in prompt
    assert "emit" not in prompt


@pytest.mark.parametrize("more", [[], ["--watch"]])
def test_what_is_to_be_copied_is_on_one_line_on_a_narrow_terminal(kept: Kept, more: list[str]) -> None:
    run("--level", "0")
    shown = kept.on_terminal("status", *more, columns=40)
    mine = treadle("status", "--json").json()["yours"][0]
    assert mine["prompt"] in shown
    assert mine["lane"] in shown
    assert "treadle done sweep-1 --exit Did --field summary=… [--field details=…]" in shown
