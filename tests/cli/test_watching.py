"""Whoever follows a run is told how it stands, and is let go where nothing can happen by itself."""

import json

import pytest

from tests.cli.chores import until
from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_a_run_that_asks_and_that_nobody_drives_is_told_and_left() -> None:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    watched = treadle("status", "sweep-1", "--watch")
    assert watched.code == 3
    assert "  treadle answer sweep-1 accept  take it\n" in watched.out
    assert watched.out.count("nobody drives it; once that is done, `treadle resume sweep-1` goes on") == 1
    followed = treadle("log", "sweep-1", "-f")
    assert (followed.code, followed.out) == (3, treadle("log", "sweep-1").out)
    assert "treadle: sweep-1 · ask · asks · " in followed.err
    assert "`treadle status sweep-1` shows what it asks of you; nobody drives it" in followed.err


def test_a_run_whose_driver_is_gone_is_told_and_left() -> None:
    run("--level", "1")
    treadle("go", "sweep-1")
    lines = treadle("status", "--watch", "--json")
    assert (lines.code, json.loads(lines.out.splitlines()[-1])["status"]) == (3, "works")
    assert "nobody drives it; `treadle resume sweep-1` goes on" in treadle("status", "--watch").out


def test_a_run_that_ends_is_followed_to_its_end() -> None:
    run()
    assert (treadle("status", "--watch").code, treadle("log", "sweep-1", "-f").code) == (0, 0)
    assert treadle("log", "sweep-1", "-f").err == ""


def test_while_somebody_drives_it_one_stays(kept: Kept) -> None:
    words = ("run", "chore.yaml", "-p", "decide", "--agent", "command:./agent.py")
    with kept.background(*words) as driver:
        until(kept.agents, "the agent is at work")
        with kept.background("log", "sweep-1", "-f") as follower:
            assert follower.stderr is not None
            assert f"driven by process {driver.pid}" in follower.stderr.readline()
            kept.release()
            out, _ = follower.communicate(timeout=30)
        driver.communicate(timeout=30)
    assert follower.returncode == 0
    assert out.splitlines()[-1].endswith("the run ends: Finished")
