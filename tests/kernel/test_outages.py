"""R21: a service that is out holds up whoever met it, at no cost, until a time or a person ends it."""

from functools import partial

import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW, agent, graph, protocol, to
from treadle.kernel.activities import FIRST_WAIT, LONGEST_WAIT
from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.commands import AskHuman, CancelTimer, Notify, RunAgent, SetTimer
from treadle.kernel.events import Envelope, Exited, Outages, Unavailable, Usage
from treadle.kernel.reduce import outstanding
from treadle.kernel.state import dump_state, load_state
from treadle.protocol.model import Limits
from treadle.testing.scenario import Scenario, items

FOR_PEOPLE: list[Outages] = ["billing", "login"]
FOR_TIME: list[Outages] = ["rate", "quota", "overload", "network"]


def waits(run: Scenario) -> float:
    """Seconds until the outage ends."""
    return (run.state.timers[OUTAGE] - run.state.now) / 1000


@pytest.mark.parametrize("why", FOR_TIME)
def test_a_temporary_outage_is_waited_for_and_retried_at_no_cost(why: Outages) -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up(why, wait=90)
    assert waits(run) == 90
    assert run.issued(Notify)[0].what == "outage"
    assert [type(command) for command in outstanding(run.state)] == [SetTimer]
    (again,) = run.fires(OUTAGE).issued(RunAgent)
    assert (again.id, again.attempt, again.retry) == ("root:work#1.1", 1, 1)
    assert run.state.timers[again.id] == again.due
    assert run.says("Ready").state.outage is None


@pytest.mark.parametrize("why", FOR_PEOPLE)
def test_an_outage_for_a_person_is_asked_about_and_never_retried_by_itself(why: Outages) -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up(why, wait=90)
    assert OUTAGE not in run.state.timers
    (asked,) = run.issued(AskHuman)
    assert (asked.id, asked.step, asked.inputs) == (OUTAGE, why, {"gate_report": ("ref:why",)})
    (again,) = run.answers("continue", OUTAGE).issued(RunAgent)
    assert again.retry == 1


def test_a_person_may_abort_during_an_outage() -> None:
    assert Scenario(WORK_AND_REVIEW).is_held_up("login").answers("abort", OUTAGE).state.outcome == "Aborted"


def test_resume_cuts_the_wait_for_an_outage_short() -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up("quota", wait=7200).signals("resume")
    assert run.issued(RunAgent)
    assert run.issued(CancelTimer)
    assert OUTAGE not in run.state.timers


def test_the_waits_grow_until_an_agent_answers_again() -> None:
    run, seen = Scenario(WORK_AND_REVIEW), []
    for _ in range(12):
        seen.append(waits(run.is_held_up("network")))
        run.fires(OUTAGE)
    assert seen[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert seen[-1] == LONGEST_WAIT
    assert waits(run.says("Ready").is_held_up("network")) == FIRST_WAIT


def test_outages_do_not_count_as_crashes() -> None:
    run = Scenario(WORK_AND_REVIEW)
    for _ in range(5):
        run.is_held_up("rate").fires(OUTAGE)
    for _ in range(WORK_AND_REVIEW.limits.infra_retries):
        run.fails("crash")
    assert run.job().id == "root:work#1.1"
    assert run.fails("crash").state.outcome == "Failed"


def test_agents_side_by_side_meet_one_outage_and_wait_for_the_latest_time() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b", "c"))
    first, second, third = run.running()
    run.is_held_up("rate", first, wait=60).is_held_up("rate", second, wait=600).is_held_up("rate", third)
    assert 598 <= waits(run) <= 600
    assert run.state.outage
    assert run.state.outage.count == 1
    assert {job.id for job in run.fires(OUTAGE).issued(RunAgent)} == {f"{at}#1.1" for at in (first, second, third)}


def test_during_an_outage_no_agent_starts_and_running_ones_go_on() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    held, other = run.running()
    run.is_held_up("overload", held)
    run.claims("Ask", other)
    assert not run.issued(RunAgent)
    assert run.state.outage is not None


def test_an_outage_for_a_person_replaces_a_timed_wait() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    first, second = run.running()
    run.is_held_up("rate", first).is_held_up("login", second)
    assert OUTAGE in run.state.asks
    assert OUTAGE not in run.state.timers
    assert len(run.answers("continue", OUTAGE).issued(RunAgent)) == 2


def test_time_does_not_replace_a_person() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    first, second = run.running()
    run.is_held_up("login", first).is_held_up("rate", second)
    assert OUTAGE in run.state.asks
    assert OUTAGE not in run.state.timers


def test_a_budget_is_granted_once_more_by_going_on() -> None:
    run = Scenario(WORK_AND_REVIEW)
    for count in (1, 2):
        run.is_held_up("budget", grant="step:work").answers("continue", OUTAGE)
        assert run.state.grants["step:work"] == count
    assert load_state(dump_state(run.state)) == run.state


def test_usage_during_an_outage_counts() -> None:
    limited = protocol(graph({"work": agent({"Ready": to("@end:Done")})}), limits=Limits(tokens=100))
    run = Scenario(limited)
    act = run.activity()
    run.happens(Unavailable(id="x", ts=9, act=act, why="rate", usage=Usage(tokens_in=90, tokens_out=20, unpriced=110)))
    assert LIMIT_ASK in run.state.asks
    assert run.ask(LIMIT_ASK).step == "tokens"
    assert run.state.usage.unpriced == 110


def test_a_waiting_agent_can_be_aborted_and_its_late_exit_is_ignored() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    held = run.running()[0]
    run.is_held_up("rate", held)
    before = run.state
    assert run.happens(Exited(id="late", ts=0, act=f"{held}#1.1", envelope=Envelope("Ready"))).state is before
    run.signals("abort", to=held.partition(":")[0])
    assert f"{held}#1.1" not in run.state.acts


LIMITED = protocol(graph({"work": agent({"Ready": to("@end:Done")})}), limits=Limits(tokens=100))


@pytest.mark.parametrize("first", [LIMIT_ASK, OUTAGE])
def test_the_end_of_an_outage_does_not_lift_a_limit(first: str) -> None:
    run = Scenario(LIMITED)
    run.happens(Unavailable(id="x", ts=9, act=run.activity(), why="rate", usage=Usage(tokens_in=100)))
    ends = {
        LIMIT_ASK: partial(run.answers, "continue", LIMIT_ASK),
        OUTAGE: partial(run.fires, OUTAGE),
    }
    assert not ends.pop(first)().issued(RunAgent)
    (last,) = ends.values()
    (again,) = last().issued(RunAgent)
    assert (again.attempt, again.retry) == (1, 1)


def test_the_end_of_an_outage_does_not_lift_a_pause() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    first, second = run.running()
    run.is_held_up("rate", first).is_held_up("rate", second).signals("pause", to=first.partition(":")[0])
    assert [job.id for job in run.fires(OUTAGE).issued(RunAgent)] == [f"{second}#1.1"]
    resumed = run.signals("resume", to=first.partition(":")[0])
    assert [job.id for job in resumed.issued(RunAgent)] == [f"{first}#1.1"]


def test_resuming_a_pause_grants_no_budget() -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up("budget", grant="step:work").signals("pause").signals("resume")
    assert OUTAGE in run.state.asks
    assert not run.state.grants
    assert not run.issued(RunAgent)


def test_a_grant_counts_once_despite_later_outages() -> None:
    run = Scenario(WORK_AND_REVIEW).is_held_up("budget", grant="day:1").signals("pause")
    run.answers("continue", OUTAGE).signals("resume")
    assert run.is_held_up("rate").fires(OUTAGE).state.grants["day:1"] == 1
