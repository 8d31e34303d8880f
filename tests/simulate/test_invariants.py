"""Every invariant can be broken, and says what broke."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.kernel.protocols import BATCH, TREE, WORK_AND_REVIEW
from treadle.kernel.state import Activity, Frame, Instance, Pool, State
from treadle.simulate.invariants import turn_violations, violations
from treadle.testing.scenario import Scenario, items


def tree() -> Scenario:
    run = Scenario(TREE).says("Plan", parts=items("a", "b"))
    return run.says("Plan", at="root/a:plan").says("Worked", at="root/a:work")


def spoilt(state: State, id_: str = "root", **changes: Any) -> State:
    inst = msgspec.structs.replace(state.insts[id_].draft(), **changes)
    return msgspec.structs.replace(state, insts=state.insts.set(id_, inst))


def test_what_the_kernel_makes_is_sound() -> None:
    for run in (Scenario(WORK_AND_REVIEW).says("Stuck"), tree()):
        assert violations(run.protocol, run.state) == []
        assert turn_violations(run.protocol, run.state, run.commands) == []


def _no_acts(state: State) -> State:
    return msgspec.structs.replace(state, acts=state.acts.delete("root/b:plan#1.1"))


def _stray_act(state: State) -> State:
    act: Activity = state.acts["root/b:plan#1.1"]
    command = msgspec.structs.replace(act.command, id="root/b:plan#7.1")
    return msgspec.structs.replace(
        state, acts=state.acts.set(command.id, msgspec.structs.replace(act, command=command))
    )


def _lost_pool(state: State) -> State:
    return msgspec.structs.replace(state, pools=state.pools.set("run:agents", Pool(held=5)))


def _miscounted(state: State) -> State:
    return msgspec.structs.replace(state, live=99)


def _open_group(state: State) -> State:
    inst: Instance = state.insts["root"]
    group = msgspec.structs.replace(inst.groups["children"], open=7)
    return spoilt(state, groups={"children": group})


def _too_many_attempts(state: State) -> State:
    return spoilt(state, "root/b", attempts={"plan": 9})


def _ended_with_frames(state: State) -> State:
    return spoilt(state, "root/b", outcome="Done")


def _two_active(state: State) -> State:
    return spoilt(state, "root/b", frames=[*state.insts["root/b"].frames, Frame("rebase", "active", signal="Shift")])


def _stray_timer(state: State) -> State:
    return msgspec.structs.replace(state, timers=state.timers.set("nobody", 5))


@pytest.mark.parametrize(
    "spoil",
    [
        _no_acts,
        _stray_act,
        _lost_pool,
        _miscounted,
        _open_group,
        _too_many_attempts,
        _ended_with_frames,
        _two_active,
        _stray_timer,
    ],
)
def test_a_broken_state_is_noticed(spoil: Callable[[State], State]) -> None:
    run = tree()
    assert violations(run.protocol, spoil(run.state))


def test_a_barrier_that_is_miscounted_is_noticed() -> None:
    run = Scenario(BATCH, {"cycles": items("a", "b"), "parallel": 2}).says("Red", at="root/a:red")
    assert violations(run.protocol, run.state) == []
    group = msgspec.structs.replace(run.inst().groups["all"], arrived=0)
    assert violations(run.protocol, spoilt(run.state, groups={"all": group}))


def test_a_command_issued_twice_is_noticed() -> None:
    run = tree()
    assert turn_violations(run.protocol, run.state, (run.commands[0], run.commands[0]))
