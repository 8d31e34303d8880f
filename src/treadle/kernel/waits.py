"""Waiting relations: an instance is stuck if it waits only for instances that never move."""

from treadle.kernel.advance import is_manual, is_paused, is_stopped
from treadle.kernel.state import Instance, State
from treadle.protocol.model import Protocol

_MOVES = None
"""In place of a list of instances: something from outside will move this one."""


def stuck_instances(protocol: Protocol, state: State) -> list[str]:
    """Describe the live instances that nothing from outside can ever move, directly or through others."""
    if state.outcome or is_stopped(state):
        return []
    live = [inst for inst in state.insts.values() if inst.live]
    waits = {inst.id: _waits_for(protocol, state, inst) for inst in live}
    moving = {id_ for id_, others in waits.items() if others is _MOVES}
    while grown := {id_ for id_, others in waits.items() if id_ not in moving and not moving.isdisjoint(others or ())}:
        moving |= grown
    frozen = sorted(id_ for id_ in waits if id_ not in moving)
    places = {
        id_: " under ".join(f"{frame.step} ({frame.status})" for frame in state.insts[id_].frames) for id_ in frozen
    }
    return [f"stuck: {id_} stands at {place} and nothing can move it" for id_, place in places.items()]


def _waits_for(protocol: Protocol, state: State, inst: Instance) -> list[str] | None:
    """Return the instances of which one must move first; `_MOVES` if a job, a person or a pool's user will move this
    one.
    """
    top = inst.frames[-1]
    step = protocol.graphs[inst.graph].steps[top.step]
    if top.status == "active" or is_paused(state, inst):
        return _MOVES
    if top.status == "synced":
        chunk = [state.insts[id_] for id_ in state.insts[inst.parent].groups[inst.group].current]
        return [other.id for other in chunk if other.live and all(frame.status != "synced" for frame in other.frames)]
    if top.status == "waiting" and step.kind == "map":
        return _members(state, inst, top.step)
    if top.status == "waiting":
        ask = state.asks.get(top.id)
        return _MOVES if ask is None or ask.command is not None else [inst.parent]
    # It is queued: for its children, for a person's `go`, or for a pool that some activity occupies.
    for wait in step.wait:
        if wait.kind == "group" and (group := inst.groups.get(wait.group)) and group.open:
            return _members(state, inst, wait.group)
    if is_manual(state, step) and top.step not in inst.released:
        return _MOVES
    occupied = inst.ticket is not None and any(inst.ticket[0] in act.pools for act in state.acts.values())
    return _MOVES if occupied else []


def awaits_go(protocol: Protocol, state: State, inst: Instance) -> str:
    """Return the step that a person's `go` would start; empty if there is none."""
    top = inst.frames[-1]
    step = protocol.graphs[inst.graph].steps[top.step]
    manual = top.status == "queued" and is_manual(state, step) and top.step not in inst.released
    return top.step if manual else ""


def _members(state: State, inst: Instance, group: str) -> list[str]:
    return [id_ for id_ in inst.groups[group].members.values() if state.insts[id_].live]
