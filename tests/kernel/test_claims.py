"""R1–R4, R7, R16, R17: an exit is a claim; what is recorded of it, and what a failure costs."""

import pytest

from tests.kernel.protocols import WORK_AND_REVIEW, agent, ask, graph, need, protocol, to
from treadle.errors import IllegalEvent
from treadle.kernel.commands import Cancel, CancelTimer, Notify, Nudge, RunAgent, RunChecks, SetTimer
from treadle.kernel.events import Checked, CheckResult, Envelope, Exited
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.items import Routed
from treadle.protocol.model import Becomes, CheckRef, Exit, Field, Step, Thread
from treadle.testing.scenario import Scenario


def test_a_run_starts_exactly_once() -> None:
    run = Scenario(WORK_AND_REVIEW)
    with pytest.raises(IllegalEvent, match="starts exactly once"):
        run.happens(run.log[0])
    with pytest.raises(IllegalEvent, match="has not started"):
        reduce(WORK_AND_REVIEW, State(), Exited(id="x", ts=0, act="a", envelope=Envelope("Ready")))


def test_the_first_step_starts_with_a_deadline() -> None:
    run = Scenario(WORK_AND_REVIEW)
    [job] = run.issued(RunAgent)
    assert (job.id, job.role, job.attempt, job.attempts) == ("root:work#1.1", "worker", 1, 3)
    assert run.issued(SetTimer) == [SetTimer(id=job.id, due=1000 + 1800 * 1000)]
    assert job.inputs == {"in": ("ref:input",)}


def test_a_claim_is_verified_before_it_counts() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready")
    assert run.where() == "work"
    [checks] = run.issued(RunChecks)
    assert (checks.exit, [check.name for check in checks.checks]) == ("Ready", ["scope", "green", "minimal"])
    assert run.issued(CancelTimer)
    assert run.checked().where() == "review"


@pytest.mark.parametrize("fails", [["green"], ["scope"], ["scope", "green"]])
def test_a_failed_check_refuses_the_exit(fails: list[str]) -> None:
    run = Scenario(WORK_AND_REVIEW).says("Ready", fails=fails)
    assert run.where() == "work"
    assert run.inst().last == {"work": "!gate"}
    assert run.job().attempt == 2
    assert run.job().inputs["gate_report"] == (f"report:{fails[0]}",)


def test_a_failed_advisory_check_does_not_refuse_the_exit() -> None:
    assert Scenario(WORK_AND_REVIEW).says("Ready", fails=["minimal"]).where() == "review"


def test_a_check_that_did_not_run_has_not_passed() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready")
    run.happens(Checked(id="c", ts=0, act=run.activity(), results=(CheckResult("scope", True),)))
    assert run.inst().last == {"work": "!gate"}


def test_a_check_with_both_results_has_not_passed() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready")
    both = (CheckResult("scope", True), CheckResult("green", False), CheckResult("green", True))
    run.happens(Checked(id="c", ts=0, act=run.activity(), results=both))
    assert run.inst().last == {"work": "!gate"}


TWO_OF_ONE_NAME = protocol(
    graph(
        {
            "work": agent({"Ready": to("review")}, gates="post_check:duty post_check:advice?"),
            "review": agent({"Good": to("@end:Done")}),
        }
    )
)


@pytest.mark.parametrize(("fails", "where"), [("advice", "review"), ("duty", "@Failed")])
def test_checks_of_one_name_decide_by_their_argument(fails: str, where: str) -> None:
    run = Scenario(TWO_OF_ONE_NAME).claims("Ready")
    [job] = run.issued(RunChecks)
    results = tuple(CheckResult("post_check", one.arg != fails, arg=one.arg) for one in job.checks)
    run.happens(Checked(id="c", ts=0, act=run.activity(), results=results))
    assert run.where() == where


def test_a_failure_without_an_argument_refuses_as_in_older_logs() -> None:
    run = Scenario(TWO_OF_ONE_NAME).claims("Ready")
    results = (CheckResult("post_check", True), CheckResult("post_check", False))
    run.happens(Checked(id="c", ts=0, act=run.activity(), results=results))
    assert run.inst().last == {"work": "!gate"}


def test_computed_fields_are_added_by_the_checks() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready", count=1)
    results = tuple(CheckResult(name, True) for name in ("scope", "green"))
    derived: dict[str, Routed] = {"passed": 7}
    run.happens(Checked(id="c", ts=0, act=run.activity(), results=results, derived=derived, payload_ref="full"))
    slot = run.inst().slots["work.Ready"]
    assert (slot.ref, slot.fields) == ("full", {"count": 1, "passed": 7})


def test_an_exit_with_computed_fields_is_verified_even_without_gates() -> None:
    exits = {"Ready": Exit(fields={"commit": Field(type="text", by="git")})}
    run = Scenario(protocol(graph({"work": agent({"Ready": to("@end:Done")})}), exits=exits)).claims("Ready")
    assert run.issued(RunChecks)
    assert run.checked().where() == "@Done"


@pytest.mark.parametrize("exit_", ["Good", "Nonsense", "Ready.variant"])
def test_an_exit_the_step_does_not_have_is_invalid(exit_: str) -> None:
    run = Scenario(WORK_AND_REVIEW).says(exit_)
    assert run.inst().last == {"work": "!invalid"}
    assert run.job().attempt == 2


def test_stale_events_do_not_change_the_state() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Ready")
    before = run.state
    for event in run.log[1:]:
        assert reduce(run.protocol, run.state, event) == (before, ())


def test_exhausted_attempts_take_the_graphs_row() -> None:
    run = Scenario(WORK_AND_REVIEW)
    for _ in range(3):
        run.says("Retry")
    assert run.where() == "@Failed"
    assert run.inst().last["work"] == "!exhausted"


def test_exhausted_attempts_become_the_exit_that_the_step_names() -> None:
    spent = (Becomes(key="Stuck.Loop", when="same_failure >= 2"), Becomes(key="Stuck.Ceiling"))
    exits = {"Stuck": Exit(route_on="why", fields={"why": Field(type="Loop | Ceiling")})}
    steps = {
        "work": agent(
            {"Ready": to("@end:Done"), "Stuck": to("human"), "Stuck.Loop": to("@end:Failed")},
            gates="green",
            attempts=2,
            becomes=spent,
        ),
        "human": ask(retry="work"),
    }
    stuck = protocol(graph(steps), exits=exits)
    run = Scenario(stuck).says("Ready", fails=["green"], fingerprint="a")
    assert run.says("Ready", fails=["green"], fingerprint="b").where() == "human"
    assert run.ask().inputs["gate_report"] == (run.inst().slots["work.Stuck"].ref,), "the person sees why"
    run = Scenario(stuck).says("Ready", fails=["green"], fingerprint="a")
    assert run.says("Ready", fails=["green"], fingerprint="a").where() == "@Failed"
    assert run.inst().last["work"] == "Stuck.Loop"


@pytest.mark.parametrize(
    ("prints", "key"), [("a b a", "Stuck.Loop"), ("a a b", "Stuck.Ceiling"), ("a b c", "Stuck.Ceiling")]
)
def test_a_failure_comes_again_also_after_another_one(prints: str, key: str) -> None:
    spent = (Becomes(key="Stuck.Loop", when="same_failure >= 2"), Becomes(key="Stuck.Ceiling"))
    exits = {"Stuck": Exit(route_on="why", fields={"why": Field(type="Loop | Ceiling")})}
    rows = {"Ready": to("@end:Done"), "Stuck": to("human")}
    steps = {"work": agent(rows, gates="green", attempts=3, becomes=spent), "human": ask(retry="work")}
    run = Scenario(protocol(graph(steps), exits=exits))
    for print_ in prints.split():
        run.says("Ready", fails=["green"], fingerprint=print_)
    assert run.inst().last["work"] == key
    run.answers("retry").says("Ready", fails=["green"], fingerprint="a")
    assert run.inst().failures["work"] == ("a", 1), "a new visit begins to count anew"


def test_a_question_is_counted_over_all_visits_of_an_instance() -> None:
    exits = {"Ask": Exit(fields={"what": Field(type="text", route="asked")})}
    rows = {"Ready": to("@end:Done"), "Ask": to("human", when="same_question >= 3") + to("plan")}
    steps = {"work": agent(rows), "plan": agent({"Ready": to("work")}), "human": ask(retry="work")}
    run = Scenario(protocol(graph(steps), exits=exits))
    for print_ in ("a", "b", "a", None, None, None, ""):
        assert run.says("Ask", what=print_).where() == "plan"
        run.says("Ready")
    assert run.inst().asked == {"a": 2, "b": 1}
    assert run.says("Ask", what="a").where() == "human"
    assert run.answers("retry").says("Ask", what="a").where() == "human", "and the fourth time, too"
    assert run.inst().asked == {"a": 4, "b": 1}
    assert load_state(dump_state(run.state)) == run.state


def test_a_run_without_questions_keeps_no_count_of_them() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Retry")
    assert b"asked" not in dump_state(run.state), "so that the hashes of older logs stay as they are"


def test_entering_from_elsewhere_starts_new_attempts() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Retry").says("Ready").says("More")
    assert run.job().id == "root:work#2.1"


def test_an_optional_slot_is_seen_until_its_reader_leaves() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Ready").says("More")
    critique = run.inst().slots["review.More"].ref
    assert run.job().inputs["review.More"] == (critique,)
    run.says("Retry")
    assert run.job().inputs["review.More"] == (critique,)
    run.says("Stuck").answers("retry")
    assert run.job().inputs["review.More"] == (critique,), "to ask is not to leave"
    run.says("Ready").says("More")
    assert run.job().inputs["review.More"] == (run.inst().slots["review.More"].ref,)
    run.says("Stuck")
    assert run.inst().frames[0].asker == "work"


def test_an_asker_that_is_not_returned_to_has_been_left() -> None:
    steps = {
        "work": agent({"Ready": to("human")}, needs=(need("other.Ready?"),)),
        "human": ask(retry="second", other="other", abort="@end:Failed"),
        "second": ask(retry="work", other="other"),
        "other": agent({"Ready": to("work")}),
    }
    run = Scenario(protocol(graph(steps))).says("Ready").answers("other").says("Ready")
    assert "other.Ready" in run.job().inputs
    run.says("Ready").answers("retry").answers("retry")
    assert "other.Ready" in run.job().inputs, "one question after the other is still a detour"
    run.says("Ready").answers("retry").answers("other")
    assert run.inst().left["work"] == run.inst().left["second"], "the work went on elsewhere"
    run.says("Ready")
    assert "other.Ready" in run.job().inputs, "what came of it is new"


def test_a_failed_step_keeps_its_inputs_after_a_rollback() -> None:
    steps = {
        "work": agent({"Ready": to("review"), "!gate": to("back")}, gates="green", needs=(need("review.More?"),)),
        "back": Step(
            kind="effect", effect="rollback", exits=("Back", "Away"), routes={"Back": to("work"), "Away": to("review")}
        ),
        "review": agent({"More": to("work")}),
    }
    run = Scenario(protocol(graph(steps))).says("Ready").says("More")
    assert "review.More" in run.job().inputs
    run.says("Ready", fails=["green"]).says("Back")
    assert run.where() == "work"
    assert "review.More" in run.job().inputs, "it is still what was asked for"
    run.says("Ready", fails=["green"]).says("Away")
    assert run.inst().left["work"] == run.inst().left["back"], "the work went on elsewhere"


def test_a_history_keeps_every_payload() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Retry").says("Retry")
    assert run.job().inputs["work.Retry"] == ("ref:root:work#1.1.Retry", "ref:root:work#1.2.Retry")


def test_a_lost_worker_is_issued_again_and_costs_no_attempt() -> None:
    run = Scenario(WORK_AND_REVIEW)
    for retry in (1, 2):
        run.fails("crash")
        [job] = run.issued(RunAgent)
        assert (job.id, job.retry) == ("root:work#1.1", retry)
    assert run.fails("crash").where() == "@Failed"
    assert run.inst().last["work"] == "!crash"


def test_lost_checks_are_issued_again() -> None:
    run = Scenario(WORK_AND_REVIEW).claims("Ready").fails("crash")
    assert [job.exit for job in run.issued(RunChecks)] == ["Ready"]
    assert run.checked().where() == "review"


@pytest.mark.parametrize("why", ["blocked", "store"])
def test_blocked_and_store_failures_are_system_exits(why: str) -> None:
    assert Scenario(WORK_AND_REVIEW).fails(why).inst().last == {"work": f"!{why}"}


def test_the_deadline_cancels_and_fails() -> None:
    run = Scenario(WORK_AND_REVIEW)
    act = run.activity()
    run.times_out()
    assert run.commands[0] == Cancel(id=act, why="timeout")
    assert run.inst().last == {"work": "!timeout"}


def test_silence_is_nudged_as_often_as_the_step_says() -> None:
    run = Scenario(WORK_AND_REVIEW).is_silent()
    assert run.issued(Nudge) == [Nudge(id="root:work#1.1", count=1)]
    assert run.is_silent().commands == ()


def test_check_steps_leave_by_passed_or_failed() -> None:
    checks = (CheckRef(name="no_todo"), CheckRef(name="format"))
    step = Step(
        kind="check",
        checks=checks,
        routes={"Passed": to("@end:Done"), "Failed": to("@end:Failed"), "Failed.format": to("fix")},
    )
    lock = protocol(graph({"lock": step, "fix": agent({"Fixed": to("lock")}, needs=(need("lock.Failed"),))}))
    assert Scenario(lock).checked().where() == "@Done"
    assert Scenario(lock).checked(fails=["no_todo"]).where() == "@Failed"
    run = Scenario(lock).checked(fails=["format"])
    assert run.where() == "fix"
    assert run.says("Fixed").where() == "lock"


def test_sessions_are_remembered_for_resuming_and_forking() -> None:
    steps = {
        "plan": agent({"Plan": to("work")}),
        "work": agent(
            {"Ready": to("@end:Done"), "Retry": to("work")}, attempts=2, thread=Thread(kind="fork", step="plan")
        ),
    }
    run = Scenario(protocol(graph(steps))).has_session("s1").says("Plan")
    job = run.job()
    assert isinstance(job, RunAgent)
    assert (job.session, job.fork) == ("s1", True)
    run.has_session("s2").says("Retry")
    job = run.job()
    assert isinstance(job, RunAgent)
    assert (job.session, job.fork) == ("s2", False)


def test_a_status_query_is_answered_from_the_state() -> None:
    [note] = Scenario(WORK_AND_REVIEW).signals("StatusQuery").issued(Notify)
    assert (note.what, note.detail) == ("status", "work active")
