"""R10, R11, R13, R15, R19: children, joins, judging, rebasing, limits."""

import msgspec
import pytest

from tests.kernel.protocols import TREE, agent, ask, graph, protocol, to
from treadle.kernel.commands import AskHuman, Cancel, Done, RunEffect
from treadle.protocol.items import Item
from treadle.protocol.model import Handler, Limits
from treadle.testing.scenario import Scenario, items


def grown(*keys: str) -> Scenario:
    run = Scenario(TREE).says("Plan", parts=items(*keys))
    for key in keys:
        run.says("Plan", at=f"root/{key}:plan")
    return run


def test_a_join_holds_its_step_without_a_session() -> None:
    run = grown("a", "b")
    assert (run.where(), run.status()) == ("work", "queued")
    assert run.running() == ["root/a:work", "root/b:work"]


def test_an_empty_group_does_not_hold_its_parent() -> None:
    assert Scenario(TREE).says("Plan").running() == ["root:work"]


def test_the_worked_trace() -> None:
    """Merge, broadcast, interrupt at the safe point, judge while held, accept, go on."""
    run = grown("a", "b")
    run.says("Worked", at="root/a:work").says("Merged", at="root/a:merge")
    assert run.running() == ["root/b:work", "root:judge"]
    run.says("Worked", at="root/b:work")
    assert run.running() == ["root/b:rebase", "root:judge"]
    run.says("Clean", at="root/b:rebase")
    assert [job.step for job in run.issued(RunEffect)] == ["merge"]
    run.says("Yes", at="root:judge")
    assert run.where("root/a") == "@Done"
    assert run.where() == "work"
    run.says("Merged", at="root/b:merge").says("Yes", at="root:judge")
    assert run.running() == ["root:work"]
    run.says("Worked").says("Merged")
    assert run.issued(Done) == [Done(id="run", outcome="Done")]


def test_no_merge_starts_on_a_stale_base() -> None:
    run = grown("a", "b")
    run.says("Worked", at="root/a:work").says("Worked", at="root/b:work")
    assert run.running() == ["root/a:merge"]
    assert run.inst("root/b").ticket is not None
    run.says("Merged", at="root/a:merge")
    assert run.running() == ["root/b:rebase", "root:judge"]
    run.says("Clean", at="root/b:rebase")
    assert "root/b:merge" in run.running()


def test_a_rejected_child_goes_back_to_work_and_is_judged_again() -> None:
    run = grown("a").says("Worked", at="root/a:work").says("Merged").says("No", at="root:judge")
    assert run.running() == ["root/a:work"]
    run.says("Worked", at="root/a:work").says("Merged").says("Yes", at="root:judge")
    assert run.running() == ["root:work"]


def test_a_question_climbs_to_the_parent_and_the_answer_comes_back() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a")).says("Ask", at="root/a:plan")
    assert run.running() == ["root:explain"]
    run.says("Explained")
    assert run.running() == ["root/a:plan"]
    assert run.inst("root/a").slots["clarify.Answer"].ref == "ref:root:explain#1.1.Explained"


def test_at_the_root_a_person_is_the_parent() -> None:
    run = Scenario(TREE).says("Ask")
    assert run.issued(AskHuman)[0].choices == ("Answer",)
    assert run.answers("Answer", note="n").running() == ["root:plan"]


def test_a_failed_child_reaches_its_handler_and_replanning_drops_it() -> None:
    run = grown("a", "b").fails("blocked", at="root/a:work")
    assert run.where() == "lost"
    run.answers("replan")
    assert run.running() == ["root/b:work", "root:plan"]
    run.says("Plan", at="root:plan", parts=None)
    assert dict(run.inst().groups["children"].members) == {"b": "root/b"}


def test_a_note_goes_to_the_step_that_the_answer_leads_to() -> None:
    run = grown("a", "b").fails("blocked", at="root/a:work").answers("replan", note="note:1")
    assert run.job("root:plan").inputs["human_note"] == ("note:1",), "a redirect takes it along"
    assert all("human_note" not in run.job(at).inputs for at in run.running() if at != "root:plan")


def test_a_note_to_a_handler_is_not_for_the_work_below_it() -> None:
    steps = {
        "work": agent({"Ready": to("more")}),
        "more": agent({"Ready": to("@end:Done")}),
        "shown": ask(noted="@resume"),
    }
    run = Scenario(protocol(graph(steps, handlers={"Shift": Handler(step="shown", prio=0)})))
    run.signals("Shift").says("Ready").answers("noted", note="note:1")
    assert "human_note" not in run.job().inputs


def test_replanning_reconciles_by_key() -> None:
    run = grown("a", "b").fails("blocked", at="root/a:work").answers("replan")
    run.says("Plan", at="root:plan", parts=items("a", "c"))
    assert dict(run.inst().groups["children"].members) == {"a": "root/a~2", "c": "root/c"}
    assert run.where("root/b") == "@Aborted"
    assert run.running() == ["root/a~2:plan", "root/c:plan"]


def test_a_kept_child_gets_its_new_text() -> None:
    run = grown("a", "b").fails("blocked", at="root/a:work").answers("replan")
    run.says("Plan", at="root:plan", parts=(Item("b", "new"),))
    assert run.inst("root/b").input.ref == "new"


def test_a_redirect_of_a_waiting_parent_keeps_its_children_running() -> None:
    run = grown("a").signals("Shift").says("Conflict", at="root:rebase")
    assert run.running() == ["root/a:work", "root:plan"]


def test_aborting_a_parent_ends_its_children_first() -> None:
    run = grown("a", "b")
    acts = sorted(run.state.acts)
    run.signals("abort")
    assert [command.id for command in run.issued(Cancel)] == acts
    assert run.where("root/a") == run.where("root/b") == "@Aborted"
    assert not run.state.acts
    assert not run.state.timers


def test_aborting_a_child_is_handled_by_its_parent() -> None:
    run = grown("a").signals("abort", to="root/a")
    assert run.asked() == ["root:lost"]


def test_an_abandoned_question_is_not_answered() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a", "b")).says("Ask", at="root/a:plan")
    run.signals("abort", to="root/a")
    assert run.running() == ["root/b:plan", "root:explain"]
    run.says("Explained", at="root:explain")
    assert any(letter.name == "Answer" for letter in run.state.dead)


@pytest.mark.parametrize(
    ("limits", "keys", "why"),
    [
        (Limits(depth=0), "a", "no children at depth 0"),
        (Limits(children=1), "ab", "2 children are too many (limit 1)"),
        (Limits(instances=2), "ab", "1 instance is live (limit 2), and 2 would be added: do this part directly"),
    ],
)
def test_a_spawn_beyond_a_limit_is_a_failed_gate(limits: Limits, keys: str, why: str) -> None:
    plan = msgspec.structs.replace(TREE.graphs["main"].steps["plan"], attempts=2)
    steps = {**TREE.graphs["main"].steps, "plan": plan}
    graphs = {"main": msgspec.structs.replace(TREE.graphs["main"], steps=steps)}
    run = Scenario(msgspec.structs.replace(TREE, limits=limits, graphs=graphs)).says("Plan", parts=items(*keys))
    assert run.job().attempt == 2
    assert why in run.job().inputs["gate_report"][0]


def test_agents_share_a_pool_in_order_of_arrival() -> None:
    run = Scenario(msgspec.structs.replace(TREE, limits=Limits(agents=1))).says("Plan", parts=items("a", "b", "c"))
    assert run.running() == ["root/a:plan"]
    run.says("Plan")
    assert run.running() == ["root/b:plan"]
    assert run.says("Plan").says("Plan").running() == ["root/a:work"]


def test_the_cost_limit_asks_before_the_next_agent_starts() -> None:
    run = Scenario(msgspec.structs.replace(TREE, limits=Limits(cost=1.0)))
    run.costs(1.5, "Plan")
    assert run.running() == []
    assert run.ask().step == "cost"
    run.answers("continue")
    assert run.running() == ["root:work"]
    assert run.state.allowances == 2


def test_the_time_limit_can_end_the_run() -> None:
    run = Scenario(msgspec.structs.replace(TREE, limits=Limits(wall=60))).fires("run!wall")
    assert run.answers("abort").state.outcome == "Aborted"
