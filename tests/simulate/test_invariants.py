"""Every invariant can be broken, and says which one it was."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.kernel.protocols import BATCH, TREE, WORK_AND_REVIEW
from treadle.kernel.commands import RunEffect
from treadle.kernel.state import Ask, Frame, Message, Pool, State
from treadle.protocol.model import Limits
from treadle.simulate.invariants import turn_violations, violations
from treadle.testing.scenario import Scenario, items

Spoil = Callable[[State], State]
PLAN = "root/b:plan#1.1"


def tree() -> Scenario:
    """The root waits for its children, a merges, b plans."""
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    return run.says("Plan", at="root/a:plan").says("Worked", at="root/a:work")


def queue() -> Scenario:
    """b stands in the queue of the branch into which a merges."""
    return tree().says("Plan", at="root/b:plan").says("Worked", at="root/b:work")


def question() -> Scenario:
    """a has asked its parent, and the parent is about to explain."""
    return Scenario(TREE).says("Plan", parts=items("a")).says("Ask", at="root/a:plan")


def loss() -> Scenario:
    """a was given up, and a person is asked what becomes of its part."""
    return Scenario(TREE).says("Plan", parts=items("a", "b")).signals("abort", to="root/a")


def barrier() -> Scenario:
    """a waits at the barrier for b."""
    return Scenario(BATCH, {"cycles": items("a", "b"), "parallel": 2}).says("Red", at="root/a:red")


def desk() -> Scenario:
    """b stands in the queue of the agents, of which only one may run."""
    table = msgspec.structs.replace(TREE, limits=Limits(depth=2, children=3, agents=1))
    return Scenario(table).says("Plan", parts=items("a", "b"))


def limit() -> Scenario:
    """Nothing starts until a person has granted more money."""
    table = msgspec.structs.replace(WORK_AND_REVIEW, limits=Limits(cost=1.0))
    return Scenario(table).costs(2.0, "Retry")


def review() -> Scenario:
    return Scenario(WORK_AND_REVIEW).says("Ready").says("More").says("Stuck")


def state_with(**changes: Any) -> Spoil:
    return lambda state: msgspec.structs.replace(state, **changes)


def inst_with(id_: str, **changes: Any) -> Spoil:
    def spoil(state: State) -> State:
        inst = msgspec.structs.replace(state.insts[id_].draft(), **changes)
        return msgspec.structs.replace(state, insts=state.insts.set(id_, inst))

    return spoil


def group_with(name: str, **changes: Any) -> Spoil:
    def spoil(state: State) -> State:
        group = msgspec.structs.replace(state.insts["root"].groups[name], **changes)
        return inst_with("root", groups={name: group})(state)

    return spoil


def frame_with(id_: str, **changes: Any) -> Spoil:
    def spoil(state: State) -> State:
        *below, top = state.insts[id_].frames
        return inst_with(id_, frames=[*below, msgspec.structs.replace(top, **changes)])(state)

    return spoil


def below_question(*frames: Frame) -> Spoil:
    def spoil(state: State) -> State:
        main, asked = state.insts["root"].frames
        return inst_with("root", frames=[main, *frames, asked])(state)

    return spoil


def without_activity(state: State) -> State:
    return msgspec.structs.replace(state, acts=state.acts.delete(PLAN))


def stray_activity(state: State) -> State:
    act = state.acts[PLAN]
    command = msgspec.structs.replace(act.command, id="root/b:plan#7.1")
    stray = msgspec.structs.replace(act, command=command)
    return msgspec.structs.replace(state, acts=state.acts.set(command.id, stray))


def mistaken_activity(state: State) -> State:
    act = state.acts[PLAN]
    mistaken = msgspec.structs.replace(act, command=msgspec.structs.replace(act.command, step="work"))
    return msgspec.structs.replace(state, acts=state.acts.set(PLAN, mistaken))


def second_holder(state: State) -> State:
    """b merges too, although a has the branch; the pool even counts it."""
    id_ = next(id_ for id_ in state.acts if "merge" in id_)
    act = state.acts[PLAN]
    state = msgspec.structs.replace(
        state, acts=state.acts.set(PLAN, msgspec.structs.replace(act, pools=(*act.pools, "root:branch")))
    )
    assert state.acts[id_].pools == ("root:branch",)
    pool = msgspec.structs.replace(state.pools["root:branch"], held=2)
    return msgspec.structs.replace(state, pools=state.pools.set("root:branch", pool))


def idle_pool(state: State) -> State:
    """The branch is free and b still waits for it."""
    act = next(act for act in state.acts.values() if "root:branch" in act.pools)
    freed = state.acts.set(act.command.id, msgspec.structs.replace(act, pools=()))
    pool = msgspec.structs.replace(state.pools["root:branch"], held=0)
    return msgspec.structs.replace(state, acts=freed, pools=state.pools.set("root:branch", pool))


def timers_of_nobody(state: State) -> State:
    return msgspec.structs.replace(state, timers=state.timers.set("nobody", 5))


def lost_question(state: State) -> State:
    return frame_with("root", signals=())(state)


def unheard_answer(state: State) -> State:
    return msgspec.structs.replace(state, asks=state.asks.set("root:plan#9.1", Ask("root", "plan")))


def lost_child(state: State) -> State:
    return inst_with("root", groups={})(state)


@pytest.mark.parametrize(
    ("world", "spoil", "rule"),
    [
        (tree, without_activity, "frames: root/b at plan is active without an activity"),
        (tree, stray_activity, "activity: root/b:plan#7.1 is not what the top frame"),
        (tree, mistaken_activity, "activity: root/b:plan#1.1 runs work"),
        (tree, inst_with("root/b", outcome="Done"), "activity: root/b:plan#1.1 belongs to no live instance"),
        (tree, inst_with("root/b", outcome="Done"), "ended: root/b still has a frame"),
        (tree, inst_with("root", outcome="Done", frames=[]), "ended: root has ended before root/a in children"),
        (tree, inst_with("root", outcome="Done", frames=[]), "ended: root has ended before root/b in children"),
        (tree, state_with(live=99), "count: 3 instances are live"),
        (tree, group_with("children", open=7), "group: root counts 7 open"),
        (tree, lost_child, "orphan: root/a is alive"),
        (tree, inst_with("root/b", attempts={"plan": 9}), "attempts: root/b is at attempt 9 of 1"),
        (tree, inst_with("root/b", frames=[]), "frames: root/b has not exactly one main frame"),
        (tree, frame_with("root/b", signal="Shift"), "frames: root/b has not exactly one main frame"),
        (tree, frame_with("root/b", reply="Accept"), "frames: root/b at plan has an answer"),
        (tree, frame_with("root/b", status="waiting"), "frames: root/b at plan waits at a step"),
        (tree, frame_with("root/b", landing="work"), "frames: root/b at plan is active with the landing"),
        (tree, inst_with("root/b", ticket=("root:branch", 5)), "frames: root/b has a place in the queue"),
        (tree, timers_of_nobody, "timer: nobody belongs to nothing"),
        (tree, second_holder, "pool: root:branch has 2 holders, its limit is 1"),
        (tree, state_with(pools=tree().state.pools.set("run:agents", Pool(held=5))), "pool: run:agents counts 5"),
        (tree, state_with(pools=tree().state.pools.delete("root:branch")), "pool: root:branch is held and unknown"),
        (queue, idle_pool, "pool: root/b waits for root:branch, which has room"),
        (queue, inst_with("root/b", ticket=None), "pool: root/b stands in the queue of root:branch and does not"),
        (queue, frame_with("root/b", step="work"), "pool: root/b stands in the queue of root:branch, which it"),
        (desk, frame_with("root/b", step="merge"), "pool: root/b stands in the queue of run:agents, which it"),
        (limit, state_with(live=2), "count: 1 instances are live, the state says 2"),
        (question, lost_question, "question: root/a:clarify#1.1 has not reached root"),
        (question, unheard_answer, "question: nobody waits for the answer to root:plan#9.1"),
        (question, state_with(asks=State().asks), "frames: root/a at clarify waits for an answer"),
        (loss, below_question(Frame("judge", signal="Judge")), "frames: root could go on with judge and waits at lost"),
        (loss, below_question(Frame("lost", signal="child:Aborted")), "frames: root serves two signals by the same"),
        (loss, inst_with("root", mailbox=[Message("Judge", "root/b", (), 1)]), "frames: root could serve Judge"),
        (barrier, group_with("all", arrived=0), "group: root counts 0 arrived in all"),
        (barrier, group_with("all", live=0), "frames: root at all waits for children of which none is alive"),
        (barrier, group_with("all", live=1), "group: root counts 1 live in all"),
        (barrier, group_with("all", bad=1), "group: root counts 1 bad in all"),
        (barrier, group_with("all", total=3), "group: root counts 3 total in all"),
        (barrier, frame_with("root/b", status="synced", landing="green"), "group: the barrier of root in all"),
        (review, inst_with("root", spent={"reviews": 5}), "budget: root has spent 5 of 2 reviews"),
        (review, frame_with("root", step="work", status="queued", id=""), "frames: root could start work"),
    ],
)
def test_a_broken_state_is_named(world: Callable[[], Scenario], spoil: Spoil, rule: str) -> None:
    run = world()
    assert violations(run.protocol, run.state) == []
    found = violations(run.protocol, spoil(run.state))
    assert any(text.startswith(rule) for text in found), found
    assert found == sorted(found)


def test_an_instance_without_any_move_is_stuck() -> None:
    """The join waits for a child that has failed, and the news of it is gone."""
    run = Scenario(TREE).says("Plan", parts=items("a")).signals("abort", to="root/a")
    lonely = inst_with("root", frames=[Frame("work")], mailbox=[])(run.state)
    found = violations(TREE, msgspec.structs.replace(lonely, asks=State().asks))
    assert [line.startswith("stuck: root stands at work") for line in found] == [True]


def test_a_command_issued_twice_is_noticed() -> None:
    run = tree()
    assert turn_violations(run.protocol, run.state, run.commands) == []
    [found] = turn_violations(run.protocol, run.state, (run.commands[0], run.commands[0]))
    assert "was issued 2 times" in found


def test_no_merge_may_start_while_a_sibling_has_news() -> None:
    run = tree()
    merge = run.issued(RunEffect)[0]
    shift = Message("Shift", "root/b", (), run.state.seq)
    hasty = inst_with("root/a", mailbox=[shift])(run.state)
    [found] = turn_violations(run.protocol, hasty, (merge,))
    assert found.startswith("hasty: root/a:merge#1.1 ")
    assert " Shift " in found


def test_work_may_start_although_news_came_in_the_same_turn() -> None:
    run = Scenario(TREE).says("Plan", parts=items("a"))
    job = run.job("root/a:plan")
    for seq, count in ((run.state.seq, 0), (run.state.seq - 1, 1)):
        state = inst_with("root/a", mailbox=[Message("Shift", "", (), seq)])(run.state)
        assert len(turn_violations(run.protocol, state, (job,))) == count
