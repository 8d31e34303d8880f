from pathlib import Path

import pytest

from tests.recorded import USED, record
from tests.views.logs import NOW, START, played, read, written
from treadle.errors import ReplayDivergence
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Replied,
    SessionStarted,
    Signalled,
    TimerFired,
    Usage,
)
from treadle.protocol.load import load
from treadle.testing.scenario import Scenario, items

WORK = "root:work#1.1"
CLAIM = Exited(id="claim", ts=NOW + 5000, act=WORK, envelope=Envelope("Ready"), channel="emit", usage=Usage(10, 1, 0.5))
GOOD = (CheckResult("scope", True), CheckResult("green", True), CheckResult("minimal", False))
BAD = (CheckResult("scope", True), CheckResult("green", False))


def test_an_activity_has_a_beginning_a_claim_and_an_end() -> None:
    deed = written(CLAIM, Checked(id="checked", ts=NOW + 6000, act=WORK, results=GOOD)).deeds[WORK]
    assert (deed.began, deed.ended, deed.left) == (NOW, NOW + 6000, "Ready")
    assert deed.claim == CLAIM
    assert [check.name for check in deed.checks] == ["scope", "green", "minimal"]
    assert deed.usage == Usage(10, 1, 0.5)


def test_a_refused_claim_leaves_by_a_system_exit() -> None:
    chronicle = written(CLAIM, Checked(id="checked", ts=NOW + 6000, act=WORK, results=BAD))
    assert chronicle.deeds[WORK].left == "!gate"
    assert list(chronicle.deeds) == [WORK, "root:work#1.2"]


def test_an_activity_that_was_lost_is_the_same_one_started_again() -> None:
    lost = Failed(id="lost", ts=NOW + 1000, act=WORK, why="crash", usage=Usage(1, 1, 0.25))
    chronicle = written(lost, CLAIM)
    deed = chronicle.deeds[WORK]
    assert (deed.command.retry, deed.began, deed.ended, deed.failures) == (1, NOW, 0, (lost,))
    assert deed.usage == Usage(11, 2, 0.75)


STOPS: dict[str, tuple[Event, str, str]] = {
    "its time is up": (TimerFired(id="t", ts=NOW + 9000, timer=WORK), "timeout", "!timeout"),
    "somebody ends the run": (Signalled(id="s", ts=NOW + 9000, inst="root", name="abort"), "ended", ""),
}


@pytest.mark.parametrize("what", STOPS)
def test_an_activity_may_be_stopped(what: str) -> None:
    event, why, left = STOPS[what]
    deed = written(event).deeds[WORK]
    assert (deed.stopped, deed.left, deed.ended) == (why, left, NOW + 9000)


def test_silence_and_conversations_are_noted() -> None:
    idle = Idle(id="i", ts=NOW, act=WORK, idle_s=60)
    deed = written(idle, SessionStarted(id="s", ts=NOW, act=WORK, session="abc")).deeds[WORK]
    assert (deed.nudges, deed.session) == (1, "abc")


def test_questions_and_instances_have_their_times() -> None:
    stuck = Exited(id="stuck", ts=NOW + 2000, act=WORK, envelope=Envelope("Stuck"))
    chronicle = written(stuck, Replied(id="reply", ts=NOW + 3000, ask="root:human#1.1", choice="abort"))
    (question,) = chronicle.asked.values()
    assert (question.command.id, question.began, question.by) == ("root:human#1.1", NOW + 2000, WORK)
    assert (question.ended, getattr(question.settled, "choice", "")) == (NOW + 3000, "abort")
    assert (chronicle.born, chronicle.gone) == ({"root": NOW}, {"root": NOW + 3000})


def test_a_question_names_its_cause_and_not_the_handler_before_it() -> None:
    run = Scenario(load("v3")).says("InitWork", childSpecs=items("a")).says("InitWork", at="root/a:scaffold")
    run.says("TestsReady", at="root/a:tests").signals("ContextShift", to="root/a")
    run.says("Stuck", at="root/a:impl")
    assert run.where("root/a") == "rebase"
    run.says("RebaseClean", at="root/a:rebase")
    (question,) = played(run).asked.values()
    assert (question.command.id, question.by) == ("root/a:stuck@impl#1.1", "root/a:impl#1.1")


@pytest.mark.parametrize("event", [START, Replied(id="r", ts=NOW, ask="nobody", choice="x")])
def test_an_event_that_cannot_have_happened_is_named(event: Event) -> None:
    with pytest.raises(ReplayDivergence, match="event 2 "):
        written(event)


@pytest.mark.parametrize("of", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_every_activity_of_a_whole_run_has_its_end(of: str, tmp_path: Path) -> None:
    state = record(tmp_path, of=of, refuses=1)
    chronicle = read(tmp_path)
    assert chronicle.state == state
    assert state.outcome
    assert all(deed.ended and deed.left for deed in chronicle.deeds.values())
    assert set(chronicle.gone) == set(chronicle.born) == set(state.insts)
    agents = [deed for deed in chronicle.deeds.values() if deed.usage != Usage()]
    assert state.usage == Usage(len(agents) * USED.tokens_in, len(agents) * USED.tokens_out, len(agents) * USED.cost)
