"""`status --watch` and `log -f` show how a run stands, and end where nothing can happen by itself."""

import json

import pytest

from tests.cli.chores import until
from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_watching_ends_at_a_question_of_a_run_without_a_driver() -> None:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    watched = treadle("status", "sweep-1", "--watch")
    assert watched.code == 3
    assert "treadle answer sweep-1 accept " in watched.out
    assert watched.out.count("`treadle resume sweep-1`") == 1
    followed = treadle("log", "sweep-1", "-f")
    assert (followed.code, followed.out) == (3, treadle("log", "sweep-1").out)
    assert "treadle: sweep-1 · ask · asks · " in followed.err
    assert "`treadle status sweep-1`" in followed.err


def test_watching_ends_if_the_driver_is_gone() -> None:
    run("--level", "1")
    treadle("go", "sweep-1")
    lines = treadle("status", "--watch", "--json")
    assert (lines.code, json.loads(lines.out.splitlines()[-1])["status"]) == (3, "works")
    assert "`treadle resume sweep-1`" in treadle("status", "--watch").out


def test_a_run_that_ends_is_followed_to_its_end() -> None:
    run()
    assert (treadle("status", "--watch").code, treadle("log", "sweep-1", "-f").code) == (0, 0)
    assert treadle("log", "sweep-1", "-f").err == ""


def test_following_goes_on_while_a_driver_lives(kept: Kept) -> None:
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
