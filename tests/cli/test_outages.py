"""Services that are out, through the commands: runs wait and go on by themselves, or ask; no attempt is lost."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.chores import Chores, until
from tests.cli.treadle import Outcome, status, treadle
from treadle.config.project import Project
from treadle.errors import TreadleError
from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Event, TimerFired, Unavailable
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.store.sqlite import opened_store

RUN = ("run", "chore.yaml", "-p", "decide", "--agent", "scripted:out.yaml")


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


def out(why: str, wait: int = 0) -> None:
    """An agent whose service is out once."""
    turn = {"outage": {"why": why, "wait": wait}, "exit": {"type": "Did", "summary": "swept"}}
    Path("out.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))


def events(run: str = "sweep-1") -> list[Event]:
    with opened_store(Project(Path.cwd())) as store:
        return [decode_event(body) for _, body in store.events(run)]


def state() -> State:
    with opened_store(Project(Path.cwd())) as store:
        return store.load("sweep-1").state


def is_waiting() -> bool:
    """Whether the run is there already, and waits."""
    try:
        return OUTAGE in state().timers
    except TreadleError:
        return False


@pytest.mark.usefixtures("chores")
def test_a_run_waits_as_long_as_the_service_says_and_goes_on_by_itself() -> None:
    out("rate", wait=1)
    result = treadle(*RUN)
    assert (result.code, status("sweep-1")["outcome"]) == (0, "Finished")
    assert "worker held up, " in result.out
    seen = events()
    (held,) = [event for event in seen if isinstance(event, Unavailable)]
    (over,) = [event for event in seen if isinstance(event, TimerFired)]
    assert (held.act, held.wait) == ("root:work#1.1", 1)
    assert over.ts - held.ts >= 1000
    log = treadle("log", "sweep-1").out
    assert "root:work#1.1 is held up: " in log
    assert " waits until 2" in log
    assert "→ root:work#1.1 starts again (1)" in log


def test_the_wait_is_announced_survives_a_kill_and_can_be_cut_short(chores: Chores) -> None:
    out("quota", wait=7200)
    with chores.background(*RUN) as first:
        until(is_waiting, "the run waits")
        due = state().timers[OUTAGE]
        told = status("sweep-1")
        assert (told["status"], told["outage"]["why"]) == ("waits", "quota")
        assert told["outage"]["said"].endswith("outage: quota")
        assert [(act["phase"], act["attempt"]) for act in told["activities"]] == [("held", 1)]
        said = treadle("status").out
        assert [text for text in (moment(told), "treadle resume sweep-1") if text not in said] == []
        assert moment(told) in treadle("log", "sweep-1").out
        first.kill()
        first.communicate(timeout=30)
    assert status("sweep-1")["driver"] == ""
    assert "`treadle resume sweep-1`" in treadle("status").out
    with chores.background("resume") as second:
        until(lambda: status("sweep-1")["driver"], "another process drives it")
        assert state().timers[OUTAGE] == due
        assert treadle("resume", "sweep-1").code == 0
        second.communicate(timeout=30)
    assert (second.returncode, status("sweep-1")["outcome"]) == (0, "Finished")
    assert [event.act for event in events() if isinstance(event, Unavailable)] == ["root:work#1.1"]


def moment(told: dict[str, dict[str, str]]) -> str:
    """When it goes on, as people read it."""
    return told["outage"]["until"].replace("T", " ").partition(".")[0] + " UTC"


@pytest.mark.soak
def test_after_a_kill_the_time_that_was_named_still_counts(chores: Chores) -> None:
    out("overload", wait=4)
    with chores.background(*RUN) as first:
        until(is_waiting, "the run waits")
        first.kill()
        first.communicate(timeout=30)
    due = state().timers[OUTAGE]
    assert treadle("resume").code == 0
    (over,) = [event for event in events() if isinstance(event, TimerFired)]
    assert over.ts >= due


@pytest.mark.usefixtures("chores")
@pytest.mark.parametrize(
    ("why", "advice"), [("login", "Log in with its own program"), ("billing", "Pay, or name another agent")]
)
def test_an_outage_that_needs_a_person_stops_the_run_with_advice(why: str, advice: str) -> None:
    out(why, wait=7200)
    result = treadle(*RUN)
    assert result.code == 3
    for said in (result.out, treadle("status").out, treadle("resume", "sweep-1").out):
        assert advice in said
        assert f"outage: {why}\n" in said
        assert "treadle answer sweep-1 continue " in said
        assert "--note" not in said
    assert status("sweep-1")["outage"]["why"] == why
    again = treadle("answer", "sweep-1", "continue", "--resume")
    assert (again.code, status("sweep-1")["outcome"]) == (0, "Finished")


def by_answer() -> Outcome:
    return treadle("answer", "sweep-1", "abort")


def by_abort() -> Outcome:
    return treadle("abort", "sweep-1")


@pytest.mark.usefixtures("chores")
@pytest.mark.parametrize("give_up", [by_answer, by_abort])
def test_a_run_that_waits_for_a_login_can_be_ended(give_up: Callable[[], Outcome]) -> None:
    out("login")
    treadle(*RUN)
    give_up()
    assert status("sweep-1")["outcome"] == "Aborted"


@pytest.mark.usefixtures("chores")
def test_agents_side_by_side_meet_one_outage() -> None:
    out("login")
    names = ["a", "b", "c", "d", "e", "f"]
    Path("chores.yaml").write_text(json.dumps({"id": "ALL", "chores": [{"id": it, "what": it} for it in names]}))
    result = treadle("run", "chores.yaml", "-p", "fan", "--agent", "scripted:out.yaml", "--name", "all")
    assert (result.code, result.out.count("all asks: ")) == (3, 1)
    assert len([event for event in events("all") if isinstance(event, Unavailable)]) == 6
    treadle("answer", "all", "continue", "--resume")
    assert sorted(it["id"] for it in status("all")["questions"]) == [f"root/{name}:confirm#1.1" for name in names]
