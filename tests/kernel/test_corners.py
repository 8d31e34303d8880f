"""What happens rarely: stale news of every kind, recipients that are gone, protocols nobody has checked."""

import msgspec
import pytest

from tests.kernel.protocols import TREE, WORK_AND_REVIEW, agent, ask, graph, need, protocol, to
from tests.refusals import refused
from treadle.errors import IllegalEvent
from treadle.kernel.commands import Cancel, Notify, RunAgent
from treadle.kernel.events import (
    Checked,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Replied,
    SessionStarted,
    Signalled,
    TimerFired,
)
from treadle.kernel.state import load_state
from treadle.protocol.model import (
    Budget,
    CancelGroup,
    Handler,
    Limits,
    ResetThread,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Thread,
)
from treadle.testing.scenario import Scenario, items

GONE = "root:work#9.9"


@pytest.mark.parametrize(
    "event",
    [
        SessionStarted(id="x", ts=0, act=GONE, session="s"),
        Exited(id="x", ts=0, act=GONE, envelope=Envelope("Ready")),
        Checked(id="x", ts=0, act=GONE),
        Checked(id="x", ts=0, act="root:work#1.1"),
        Failed(id="x", ts=0, act=GONE, why="crash"),
        Idle(id="x", ts=0, act=GONE, idle_s=60),
        TimerFired(id="x", ts=0, timer=GONE),
        Replied(id="x", ts=0, ask=GONE, choice="retry"),
        Signalled(id="x", ts=0, inst="root/nobody", name="abort"),
    ],
)
def test_events_about_unknown_ids_do_not_change_the_state(event: Event) -> None:
    run = Scenario(WORK_AND_REVIEW)
    before = run.state
    assert run.happens(event).state is before
    assert run.commands == ()


def test_signals_after_the_end_do_not_change_the_state() -> None:
    run = Scenario(WORK_AND_REVIEW).signals("abort")
    before = run.state
    assert run.signals("resume").state is before


def test_a_table_that_leads_back_without_attempts_is_an_error_not_a_loop() -> None:
    table = protocol(graph({"work": agent({"Ready": to("@end:Done"), "!*": to("work")}, gates="green")}))
    with pytest.raises(IllegalEvent, match="!exhausted leads back"):
        Scenario(table).says("Ready", fails=["green"])


def test_an_exit_without_a_row_is_an_error_and_keeps_the_state() -> None:
    run = Scenario(protocol(graph({"work": Step(kind="agent", role="worker", exits=("Ready",))})))
    before = run.state
    with refused("event.no_row", "main.work: ", "Ready"):
        run.says("Ready")
    assert run.state is before


@pytest.mark.parametrize(
    ("guard", "ends"),
    [
        ("attempt == 2", "@Failed"),
        ("attempt == 1", "@Done"),
        ("same_failure == 0", "@Done"),
        ("depth == 0 and root", "@Done"),
        ("spent.loops > 0", "@Failed"),
        ("data.list == 2", "@Done"),
        ("data.missing == None", "@Done"),
    ],
)
def test_a_guard_reads_attempts_budgets_depth_and_data(guard: str, ends: str) -> None:
    rows = (Route(to="@end:Done", when=guard), Route(to="@end:Failed"))
    table = protocol(graph({"work": agent({"Ready": rows})}, budgets={"loops": Budget(max=1, to="@end:Failed")}))
    assert Scenario(table).says("Ready", list=items("a", "b")).where() == ends


def _family(**routes: Rows) -> Scenario:
    """A parent that works on while its children do."""
    steps = {
        "plan": agent({"Plan": to("work", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
        "work": agent(routes or {"Ready": to("@end:Done")}),
        "wait": ask(stop="@end:Done"),
        "heard": agent({"Ok": to("@resume", do=(Send(signal="Thanks", to="sender"),))}),
    }
    kid = {
        "work": agent({"Say": to("rest", do=(Send(signal="Word", to="parent"),))}),
        "rest": ask(stop="@end:Done"),
        "heard": agent({"Ok": to("@resume")}),
    }
    handlers = {"Thanks": Handler(step="heard"), "News": Handler(step="heard", preempt=0)}
    table = protocol(
        graph(steps, ok={"kids": ("Done",)}, handlers={"Word": Handler(step="heard", prio=1)}),
        ("kid", graph(kid, handlers=handlers)),
    )
    return Scenario(table).says("Plan", parts=items("a", "b"))


def test_a_signal_to_the_parent_is_answered_by_a_signal() -> None:
    run = _family(Pause=to("wait")).says("Say", at="root/a:work")
    assert run.inst().mailbox[0].name == "Word"
    run.says("Pause", at="root:work")
    assert run.running() == ["root/b:work", "root:heard"]
    run.says("Ok", at="root:heard")
    assert run.running() == ["root/a:heard", "root/b:work"]


def test_children_get_their_parents_signal_at_once() -> None:
    run = _family(Tell=to("wait", do=(Send(signal="News", to="children"),)))
    run.says("Tell", at="root:work")
    assert run.running() == ["root/a:heard", "root/b:heard"]
    assert [command.why for command in run.issued(Cancel)] == ["preempted", "preempted"]


def test_a_signal_to_an_ended_child_is_a_dead_letter() -> None:
    run = _family().says("Say", at="root/a:work")
    run.answers("stop", at="root/a:rest")
    run.signals("abort", to="root/b")
    assert run.inst("root/a").outcome == "Done"
    assert any(letter.name == "child:Aborted" for letter in run.state.dead)


def test_an_answer_to_a_persons_signal_is_a_dead_letter() -> None:
    """A signal from a person has no sender to answer."""
    run = _family(Pause=to("wait")).signals("Word").says("Pause", at="root:work").says("Ok", at="root:heard")
    assert [(letter.inst, letter.name) for letter in run.state.dead] == [("", "Thanks")]
    assert run.where() == "wait"


def test_cancelling_a_group_ends_its_children_quietly() -> None:
    run = _family(Drop=to("@end:Done", do=(CancelGroup(group="kids"), CancelGroup(group="nobody"))))
    run.says("Drop", at="root:work")
    assert run.where("root/a") == run.where("root/b") == "@Aborted"
    assert len(run.issued(Cancel)) == 2


def test_a_signal_from_the_root_to_its_parent_is_dropped() -> None:
    table = protocol(graph({"work": agent({"Ready": to("@end:Done", do=(Send(signal="X", to="parent"),))})}))
    assert Scenario(table).says("Ready").where() == "@Done"


def test_a_conversation_can_be_forked_from_the_parents() -> None:
    kid = {"work": agent({"Ok": to("@end:Done")}, thread=Thread(kind="fork", step="plan", up=True))}
    steps = {
        "plan": agent({"Plan": to("rest", do=(Spawn(group="kids", graph="kid", over="parts"),))}),
        "rest": ask(stop="@end:Done"),
    }
    table = protocol(graph(steps, ok={"kids": ("Done",)}), ("kid", graph(kid)))
    run = Scenario(table).has_session("s").says("Plan", parts=items("a"))
    [job] = run.issued(RunAgent)
    assert (job.session, job.fork) == ("s", True)


def test_a_child_reads_its_parents_slots_and_the_root_has_none() -> None:
    kid = {"work": agent({"Ok": to("@end:Done")}, needs=(need("up.plan.Plan?"),))}
    steps = {
        "plan": agent(
            {"Plan": to("rest", do=(Spawn(group="kids", graph="kid", over="parts"),))}, needs=(need("up.plan.Plan?"),)
        ),
        "rest": ask(stop="@end:Done"),
    }
    table = protocol(graph(steps, ok={"kids": ("Done",)}), ("kid", graph(kid)))
    run = Scenario(table)
    assert "up.plan.Plan" not in run.job().inputs
    run.says("Plan", parts=items("a"))
    assert run.job().inputs["up.plan.Plan"] == ("ref:root:plan#1.1.Plan",)


def test_a_redirect_stops_a_running_map_and_keeps_done_items() -> None:
    every = Step(
        kind="map",
        graph="part",
        over="in.parts",
        keep_done=True,
        routes={"AllOk": to("@end:Done"), "SomeFailed": to("@end:Failed")},
    )
    steps = {
        "every": every,
        "again": agent({"Ok": to("every")}),
        "shift": agent({"Back": to("^again")}),
    }
    part = ("part", graph({"work": agent({"Ok": to("@end:Done")})}))
    table = protocol(graph(steps, ok={"every": ("Done",)}, handlers={"Shift": Handler(step="shift", prio=0)}), part)
    run = Scenario(table, {"parts": items("a", "b")}).says("Ok", at="root/a:work")
    run.signals("Shift").says("Back", at="shift")
    assert run.where("root/b") == "@Aborted"
    assert run.says("Ok", at="root:again").running() == ["root/b~2:work"]


def test_forgetting_another_steps_conversation() -> None:
    steps = {
        "a": agent({"Next": to("b")}, thread=Thread(kind="resume")),
        "b": agent({"Back": to("a", do=(ResetThread(step="a"),))}),
    }
    run = Scenario(protocol(graph(steps))).has_session("s").says("Next").says("Back")
    assert run.issued(RunAgent)[0].session == ""


def test_the_cost_limit_asks_once_and_abort_ends() -> None:
    run = Scenario(msgspec.structs.replace(TREE, limits=Limits(cost=1.0, wall=60))).fires("run!wall")
    run.costs(2.0, "Plan")
    assert len(run.state.asks) == 1
    run.answers("continue")
    assert "run!wall" in run.state.timers


def test_the_end_of_a_run_leaves_no_timer_and_no_question() -> None:
    run = Scenario(msgspec.structs.replace(WORK_AND_REVIEW, limits=Limits(cost=1.0, wall=60))).costs(2.0, "Retry")
    assert (list(run.state.asks), list(run.state.timers)) == (["run!limit"], ["run!wall"])
    run.signals("abort")
    assert (len(run.state.asks), len(run.state.timers)) == (0, 0)
    assert [command.id for command in run.commands] == ["run!wall", "run!limit", "run"]


def test_a_run_without_a_cost_limit_only_counts() -> None:
    run = Scenario(TREE).costs(2.0, "Plan")
    assert (run.state.usage.cost, run.running()) == (2.0, ["root:work"])


def test_a_probe_is_answered_while_a_person_is_asked() -> None:
    run = Scenario(WORK_AND_REVIEW).says("Stuck")
    assert run.signals("StatusQuery").issued(Notify)[0].detail == "human waiting"


def test_a_malformed_snapshot_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        load_state(b"{")
