"""R5, R6, R8, R9, R12, R14, R18: rows, guards, budgets, actions, handlers, people."""

import pytest

from tests.kernel.protocols import WORK_AND_REVIEW, agent, ask, graph, need, protocol, to
from treadle.errors import IllegalEvent
from treadle.kernel.commands import AskHuman, Cancel, Notify, RunAgent, SetTimer
from treadle.protocol.model import Budget, Handler, ResetThread, Route, Step, Thread, Tier, Wait
from treadle.testing.scenario import Scenario


def test_the_first_row_with_a_true_guard_is_chosen() -> None:
    rows = (Route(to="@end:Done", when="data.count > 1"), Route(to="other"))
    table = protocol(graph({"work": agent({"Ready": rows}), "other": agent({"Ready": to("@end:Done")})}))
    assert Scenario(table).says("Ready", count=2).where() == "@Done"
    assert Scenario(table).says("Ready", count=1).where() == "other"


def test_a_table_without_a_matching_row_is_an_error_not_a_guess() -> None:
    table = protocol(graph({"work": agent({"Ready": (Route(to="@end:Done", when="data.count"),)})}))
    with pytest.raises(IllegalEvent, match="no row for Ready"):
        Scenario(table).says("Ready")


def test_a_spent_budget_leads_elsewhere_and_a_reset_refills_it() -> None:
    run = Scenario(WORK_AND_REVIEW)
    for _ in range(2):
        run.says("Ready").says("More")
        assert run.where() == "work"
    run.says("Ready").says("More")
    assert run.where() == "human"
    run.answers("retry").says("Ready").says("More")
    assert run.where() == "work"


def test_a_diverted_edge_performs_no_actions() -> None:
    steps = {
        "work": agent({"Up": to("work", charge="tiers", over="@end:Failed", fresh=True, do=(Tier(),))}),
    }
    run = Scenario(protocol(graph(steps, budgets={"tiers": Budget(max=1, to="@end:Failed")}))).says("Up")
    assert run.issued(RunAgent)[0].tier == 1
    assert run.says("Up").inst().tiers == {"worker": 1}
    assert run.where() == "@Failed"


def test_a_fresh_self_route_starts_anew_and_can_forget_the_conversation() -> None:
    steps = {
        "work": agent(
            {
                "Retry": to("work"),
                "Reset": to("work", charge="resets", over="@end:Failed", fresh=True, do=(ResetThread(),)),
            },
            attempts=2,
            thread=Thread(kind="resume"),
        ),
    }
    run = Scenario(protocol(graph(steps, budgets={"resets": Budget(max=3, to="@end:Failed")}))).has_session("s")
    assert run.says("Retry").issued(RunAgent)[0].session == "s"
    [job] = run.says("Reset").issued(RunAgent)
    assert (job.id, job.session) == ("root:work#2.1", "")


def test_variables_are_set_on_the_way() -> None:
    steps = {
        "a": agent({"Next": to("b", sets={"round": "round + 1"})}),
        "b": agent({"Again": (Route(to="a", when="round < 2"), Route(to="@end:Done"))}),
    }
    run = Scenario(protocol(graph(steps, vars={"round": 0}))).says("Next")
    assert run.issued(RunAgent)[0].vars == {"round": 1}
    assert run.says("Again").says("Next").says("Again").where() == "@Done"


def test_a_guard_sees_the_last_exits() -> None:
    steps = {
        "a": agent({"Yes": to("b"), "No": to("b")}),
        "b": agent({"Yes": (Route(to="@end:Done", when="last.a == 'Yes'"), Route(to="a"))}),
    }
    assert Scenario(protocol(graph(steps))).says("Yes").says("Yes").where() == "@Done"
    assert Scenario(protocol(graph(steps))).says("No").says("Yes").where() == "a"


# people


def test_a_question_runs_no_activity_and_is_answered_once() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck")
    [question] = run.issued(AskHuman)
    assert question.choices == ("retry", "abort")
    assert run.running() == []
    before = run.answers("retry").state
    assert run.happens(run.log[-1]).state is before


def test_an_unknown_choice_leaves_the_question_open() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck")
    assert run.answers("perhaps").where() == "human"
    assert run.asked() == ["root:human"]


def test_a_note_stays_until_an_agent_has_read_it_and_its_work_is_accepted() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck").answers("retry", note="note:1")
    assert run.job().inputs["human_note"] == ("note:1",)
    run.says("Ready", fails=["green"])
    assert run.job().inputs["human_note"] == ("note:1",)
    run.says("Retry")
    assert run.job().inputs["human_note"] == ("note:1",), "what is tried again is not done"
    run.says("Ready")
    assert "human_note" not in run.job().inputs


def test_reminders_repeat_and_a_default_decides_only_where_it_is_named() -> None:
    question = Step(
        kind="ask", asks="human", routes={"yes": to("@end:Done")}, remind=60, default="yes", default_after=600
    )
    run = Scenario(protocol(graph({"q": question})))
    assert {timer.id.rpartition("!")[2] for timer in run.issued(SetTimer)} == {"remind", "default"}
    ask_id = run.question()
    run.fires(f"{ask_id}!remind")
    assert [note.what for note in run.issued(Notify)] == ["reminder"]
    assert run.issued(SetTimer)
    assert run.fires(f"{ask_id}!default").where() == "@Done"


def test_a_manual_step_waits_for_go() -> None:
    steps = {"work": agent({"Ready": to("@end:Done")}, wait=(Wait(kind="manual"),))}
    run = Scenario(protocol(graph(steps)))
    assert run.running() == []
    assert run.signals("go", step="work").running() == ["root:work"]


def test_at_level_one_every_agent_step_waits_for_go() -> None:
    run = Scenario(WORK_AND_REVIEW, level=1)
    assert run.running() == []
    run.signals("go", step="work").says("Ready")
    assert run.running() == []
    assert run.signals("go", step="review").running() == ["root:review"]


def _is_a_persons(run: Scenario) -> bool:
    job = run.job()
    return isinstance(job, RunAgent) and job.by_person


def test_a_run_changes_its_level_between_two_steps() -> None:
    run = Scenario(WORK_AND_REVIEW)
    assert run.signals("level", item="1").running() == ["root:work"], "whoever is at work stays so"
    assert run.says("Ready").running() == []
    assert run.signals("level", item="2").running() == ["root:review"], "what waited for a go waits no longer"
    assert not _is_a_persons(run)


def test_at_level_zero_people_are_the_agents_and_have_no_deadline() -> None:
    run = Scenario(WORK_AND_REVIEW, level=0)
    assert (run.running(), _is_a_persons(run)) == (["root:work"], True)
    assert run.job().due > 10**11
    run.signals("level", item="2").says("Ready")
    assert (run.running(), _is_a_persons(run)) == (["root:review"], False)
    assert run.job().due < 10**11


@pytest.mark.parametrize(("item", "to"), [("3", "root"), ("", "root"), ("two", "root")])
def test_an_unknown_level_is_a_dead_letter(item: str, to: str) -> None:
    run = Scenario(WORK_AND_REVIEW).signals("level", to=to, item=item)
    assert (run.state.level, run.state.dead[-1].name) == (2, "level")


def test_a_note_waits_for_the_next_agent() -> None:
    run = Scenario(WORK_AND_REVIEW, level=1).signals("note", data="ref:note").signals("go", step="work")
    assert run.job().inputs["human_note"] == ("ref:note",)
    run.says("Ready").signals("go", step="review")
    assert "human_note" not in run.job().inputs, "it was heard, and the work was accepted"


def test_a_command_sends_a_waiting_run_to_another_step_if_its_slots_are_there() -> None:
    steps = {
        "plan": agent({"Plan": to("gate")}),
        "gate": ask(stop="@end:Failed"),
        "check": agent({"Ready": to("@end:Done")}, needs=(need("plan.Plan"),)),
    }
    table = protocol(graph(steps, commands={"/check": "check", "/plan": "plan"}))
    run = Scenario(table)
    assert "cannot go" in run.signals("go", step="/check").issued(Notify)[0].detail
    run.says("Plan")
    question = run.question()
    run.signals("go", step="/check")
    assert run.running() == ["root:check"]
    assert Cancel(id=question, why="answered") in run.commands


def test_a_command_is_refused_while_a_slot_is_missing() -> None:
    steps = {"gate": ask(stop="@end:Failed"), "check": agent({"Ready": to("@end:Done")}, needs=(need("plan.Plan"),))}
    run = Scenario(protocol(graph(steps, commands={"/check": "check"}))).signals("go", step="/check")
    assert run.issued(Notify)[0].detail == "check needs plan.Plan"
    assert run.where() == "gate"


def test_pause_holds_at_the_next_safe_point_and_abort_ends() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("pause").says("Ready")
    assert (run.where(), run.running()) == ("review", [])
    assert run.signals("resume").running() == ["root:review"]
    act = run.activity()
    run.signals("abort")
    assert run.where() == "@Aborted"
    assert Cancel(id=act, why="ended") in run.commands
    assert run.state.outcome == "Aborted"


# handlers

INTERRUPTIBLE = {
    "work": agent({"Ready": to("next")}),
    "next": agent({"Ready": to("@end:Done")}),
    "shift": agent({"Ok": to("@resume"), "Bad": to("^work")}),
    "probe": agent({"Ok": to("@resume")}),
}


def _interruptible(preempt: int = -1) -> Scenario:
    shift = Handler(step="shift", prio=0, coalesce=True, preempt=preempt)
    handlers = {"Shift": shift, "Probe": Handler(step="probe", prio=3)}
    return Scenario(protocol(graph(INTERRUPTIBLE, handlers=handlers)))


def test_a_signal_waits_for_the_safe_point_and_then_comes_first() -> None:
    run = _interruptible().signals("Shift")
    assert run.running() == ["root:work"]
    run.says("Ready")
    assert run.running() == ["root:shift"]
    run.says("Ok")
    assert run.running() == ["root:next"]


def test_a_redirect_sends_main_elsewhere() -> None:
    run = _interruptible().signals("Shift").says("Ready").says("Bad")
    assert run.job().id == "root:work#2.1"


def test_coalesced_signals_are_served_together() -> None:
    run = _interruptible().signals("Shift", data="a").signals("Shift", data="b").signals("Shift", data="b")
    run.says("Ready")
    assert run.job().inputs["signals"] == ("a", "b")
    assert run.says("Ok").running() == ["root:next"]


def test_a_low_priority_signal_waits_behind_work() -> None:
    run = _interruptible().signals("Probe").says("Ready")
    assert run.running() == ["root:next"]
    assert run.signals("Shift").says("Ready").where() == "@Done"
    assert {letter.name for letter in run.state.dead} == {"Probe", "Shift"}


def test_preempting_now_cancels_without_costing_an_attempt() -> None:
    run = _interruptible(preempt=0)
    act = run.activity()
    run.signals("Shift")
    assert Cancel(id=act, why="preempted") in run.commands
    run.says("Ok")
    assert run.job().id == "root:work#2.1"


def test_a_preempting_signal_stops_only_running_work_of_lower_priority() -> None:
    steps = {
        "work": agent({"Ready": to("human")}, gates="green"),
        "human": ask(retry="work"),
        "urgent": agent({"Ok": to("@resume")}),
        "casual": agent({"Ok": to("@resume")}),
    }
    handlers = {
        "Urgent": Handler(step="urgent", prio=0, preempt=0),
        "Casual": Handler(step="casual", prio=3, preempt=0),
    }
    run = Scenario(protocol(graph(steps, handlers=handlers)))
    assert run.signals("Casual").running() == ["root:work"]
    assert run.claims("Ready").signals("Urgent").running() == ["root:work"]
    assert run.checked().running() == ["root:urgent"]
    assert run.signals("Urgent").running() == ["root:urgent"]
    assert run.says("Ok").says("Ok").running() == ["root:casual"]
    assert run.issued(Cancel) == []


def test_preempting_after_a_while_sets_a_timer() -> None:
    run = _interruptible(preempt=30).signals("Shift")
    assert run.running() == ["root:work"]
    run.fires("root!preempt:Shift")
    assert run.running() == ["root:shift"]


def test_signals_without_a_handler_go_to_the_dead_letters() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("Gossip")
    assert run.state.dead[0].name == "Gossip"
