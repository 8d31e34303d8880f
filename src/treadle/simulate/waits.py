"""Who waits for whom: an instance that only waits for others that never move is stuck."""

from treadle.kernel.advance import is_stopped
from treadle.kernel.state import Frame, Instance, State
from treadle.protocol.model import Protocol, Step

_MOVES = None
"""In place of a list of instances: something from outside will move this one."""


def stuck(protocol: Protocol, state: State) -> list[str]:
    """The live instances that nothing from outside can ever move, directly or through others."""
    if state.outcome or is_stopped(state):
        return []
    live = [inst for inst in state.insts.values() if inst.live]
    waits = {inst.id: _waits_for(protocol, state, inst) for inst in live}
    moving = {id_ for id_, others in waits.items() if others is _MOVES}
    while grown := {id_ for id_, others in waits.items() if id_ not in moving and not moving.isdisjoint(others or ())}:
        moving |= grown
    frozen = sorted(id_ for id_ in waits if id_ not in moving)
    return [f"stuck: {id_} stands at {_place(state.insts[id_])} and nothing can move it" for id_ in frozen]


def _place(inst: Instance) -> str:
    return " under ".join(f"{frame.step} ({frame.status})" for frame in inst.frames)


def _waits_for(protocol: Protocol, state: State, inst: Instance) -> list[str] | None:
    """Instances one of which must move first; `_MOVES` if a job, a person or a pool's holder will do."""
    top = inst.frames[-1]
    step = protocol.graphs[inst.graph].steps[top.step]
    if top.status == "active" or is_paused(state, inst):
        return _MOVES
    if top.status == "synced":
        return _unsynced(state, inst)
    if top.status == "waiting" and step.kind == "map":
        return _members(state, inst, top.step)
    if top.status == "waiting":
        ask = state.asks.get(top.id)
        return _MOVES if ask is None or ask.command is not None else [inst.parent]
    return _queued(state, inst, top, step)


def _queued(state: State, inst: Instance, top: Frame, step: Step) -> list[str] | None:
    for wait in step.wait:
        if wait.kind == "group" and (group := inst.groups.get(wait.group)) and group.open:
            return _members(state, inst, wait.group)
    if is_manual(state, step) and top.step not in inst.released:
        return _MOVES
    holders = [act for act in state.acts.values() if inst.ticket is not None and inst.ticket[0] in act.pools]
    return _MOVES if holders else []


def is_manual(state: State, step: Step) -> bool:
    """Whether a step starts only with a person's `go`."""
    return (state.level == 1 and step.kind == "agent") or any(wait.kind == "manual" for wait in step.wait)


def is_paused(state: State, inst: Instance) -> bool:
    """Whether an instance or one above it is paused."""
    while not inst.paused and inst.parent:
        inst = state.insts[inst.parent]
    return inst.paused


def awaits_go(protocol: Protocol, state: State, inst: Instance) -> str:
    """The step that a person's `go` would start, or nothing."""
    top = inst.frames[-1]
    step = protocol.graphs[inst.graph].steps[top.step]
    manual = top.status == "queued" and is_manual(state, step) and top.step not in inst.released
    return top.step if manual else ""


def _members(state: State, inst: Instance, group: str) -> list[str]:
    return [id_ for id_ in inst.groups[group].members.values() if state.insts[id_].live]


def _unsynced(state: State, inst: Instance) -> list[str]:
    chunk = state.insts[inst.parent].groups[inst.group].current
    others = [state.insts[id_] for id_ in chunk]
    return [other.id for other in others if other.live and all(frame.status != "synced" for frame in other.frames)]
