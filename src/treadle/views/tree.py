"""A run as a tree of instances: where each stands, what it does there, and what it waits for."""

from collections.abc import Collection, Iterator
from typing import Final, Literal

import msgspec

from treadle.kernel.state import Frame, Instance, State
from treadle.protocol.drawing.table import who
from treadle.protocol.model import Only, Protocol, Step, base_of
from treadle.simulate.waits import awaits_go
from treadle.views.exit_words import exit_words
from treadle.views.outage import held

Mood = Literal["works", "checks", "waits", "asks", "done", "failed"]
Whom = Literal["", "person", "agent", "treadle", "checks", "quota", "children", "siblings", "parent", "turn"]
"""Whom an instance waits for: `treadle` for an effect, `quota` for a service that is out, `turn` for free capacity."""


RANK: Final[dict[Mood, int]] = {"asks": 0, "works": 1, "checks": 1, "waits": 2, "failed": 3, "done": 4}
"""What a person must see first."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One instance, or what of it comes after something else, in a tree drawn line by line."""

    depth: int
    instance: str
    name: str
    """The instance's own name; empty for what it goes on with afterwards."""
    step: str = ""
    mood: Mood
    waits_for: Whom = ""
    """Empty once it has ended."""
    text: str
    """What it does or waits for, in a few words."""


def tree(protocol: Protocol, state: State, yours: Collection[str] = ()) -> list[Line]:
    """Every instance below the one that started it, in the order they were created.

    `yours` are the activities that lie in a person's hands.
    """
    below: dict[str, list[Instance]] = {}
    for inst in sorted(state.insts.values(), key=lambda inst: inst.n):
        below.setdefault(inst.parent, []).append(inst)
    lines = list(_lines(protocol, state, below, "", 0))
    theirs = {state.acts[id_].command.inst for id_ in yours if id_ in state.acts}
    return [_in_hand(line) if line.instance in theirs and line.mood == "works" else line for line in lines]


def _in_hand(line: Line) -> Line:
    return msgspec.structs.replace(line, mood="asks", waits_for="person", text=f"yours, as {line.text}")


def foremost(lines: list[Line], room: int) -> list[Line]:
    """As many lines as there is room for, in their order: questions and work go first, what has ended last."""
    ranked = sorted(range(len(lines)), key=lambda at: (RANK[lines[at].mood], lines[at].depth))
    return [lines[at] for at in sorted(ranked[: max(room, 0)])]


def _lines(
    protocol: Protocol, state: State, below: dict[str, list[Instance]], parent: str, depth: int
) -> Iterator[Line]:
    for inst in below.get(parent, []):
        yield from _instance(protocol, state, inst, depth)
        yield from _lines(protocol, state, below, inst.id, depth + 1)


def _instance(protocol: Protocol, state: State, inst: Instance, depth: int) -> Iterator[Line]:
    name = inst.id.rpartition("/")[2]
    if inst.outcome:
        good, part = is_good_end(protocol, state, inst), step_alone(protocol, state, inst)
        text = f"{part.step} is done" if part else inst.outcome
        yield Line(depth=depth, instance=inst.id, name=name, mood="done" if good else "failed", text=text)
        return
    above = ""
    for frame in reversed(inst.frames):
        shown = "" if above else name
        stands = _afterwards(protocol, state, inst, frame, above) if above else _doing(protocol, state, inst, frame)
        mood, whom, text = stands
        above = base_of(frame.step)
        signal = f" on {frame.signal}" if frame.signal else ""
        step = base_of(frame.step) + signal
        yield Line(depth=depth, instance=inst.id, name=shown, step=step, mood=mood, waits_for=whom, text=text)


def is_good_end(protocol: Protocol, state: State, inst: Instance) -> bool:
    """Whether an instance has ended as whoever started it hoped."""
    parent = state.insts.get(inst.parent)
    if parent is None:
        return inst.outcome != "Aborted"
    return inst.outcome in protocol.graphs[parent.graph].ok.get(inst.group, ())


def step_alone(protocol: Protocol, state: State, inst: Instance) -> Only | None:
    """The step that was all that had to be done, of what has ended well and has more steps to go in other runs."""
    only = protocol.graphs[inst.graph].only if inst.graph in protocol.graphs else None
    return only if only and only.then and inst.outcome and is_good_end(protocol, state, inst) else None


def how_it_ended(protocol: Protocol, state: State, inst: Instance) -> str:
    """The end of a part of a run, as a message tells it."""
    if part := step_alone(protocol, state, inst):
        return f"{part.step} is done ✓ Next: {part.then}."
    return "all complete ✓" if is_good_end(protocol, state, inst) else f"has ended with {inst.outcome}"


def _doing(protocol: Protocol, state: State, inst: Instance, frame: Frame) -> tuple[Mood, Whom, str]:
    step = protocol.graphs[inst.graph].steps.get(frame.step)
    if step is None:
        return "waits", "", "is at a step that this protocol does not have"
    if inst.paused:
        return "waits", "person", "paused by a person"
    if frame.status == "active":
        return _activity(protocol, state, frame, step, inst.attempts.get(frame.step, 0))
    if frame.status == "synced":
        return "waits", "siblings", "waits for its siblings to arrive"
    if frame.status == "waiting" and step.kind == "ask":
        ask = state.asks.get(frame.id)
        choices = ", ".join(step.routes)
        person = step.asks == "human" or (ask is not None and ask.command is not None)
        if person:
            return "asks", "person", f"asks a person: {choices}"
        return "waits", "parent", "waits for its parent's answer"
    if frame.status == "waiting":
        return "waits", "children", _children(inst, frame.step)
    if awaits_go(protocol, state, inst) == frame.step:
        return "waits", "person", "waits for a person's go"
    unjoined = _unjoined(inst, step)
    return ("waits", "children", unjoined) if unjoined else ("waits", "turn", _queued(inst))


def _afterwards(protocol: Protocol, state: State, inst: Instance, frame: Frame, above: str) -> tuple[Mood, Whom, str]:
    """What a handler stands above: nothing of that is at work, for a signal is served only between two steps."""
    if frame.status != "queued":
        return _doing(protocol, state, inst, frame)
    step = protocol.graphs[inst.graph].steps.get(frame.step)
    if step and (unjoined := _unjoined(inst, step)):
        return "waits", "children", unjoined
    return "waits", "turn", f"held until {above} is done"


def _activity(protocol: Protocol, state: State, frame: Frame, step: Step, attempt: int) -> tuple[Mood, Whom, str]:
    act, worker = state.acts.get(frame.id), who(step) if step.kind == "agent" else step.title or who(step)
    count = f", attempt {attempt} of {step.attempts}" if attempt > 1 else ""
    count += f", broke and was started again ({act.losses})" if act and act.losses else ""
    if act is not None and act.phase == "held":
        return "waits", "quota", f"{worker} {held(state)}{count}"
    if act is not None and act.phase == "verifying":
        claimed = f"{exit_words(protocol, act.claim.key)} claimed, " if act.claim else ""
        return "checks", "checks", f"{claimed}checking {' '.join(check.name for check in act.checks)}{count}"
    whom: Whom = "agent" if step.kind == "agent" else "checks" if step.kind == "check" else "treadle"
    return "works", whom, f"{worker}{count}"


def _children(inst: Instance, group: str) -> str:
    found = inst.groups.get(group)
    if found is None:
        return "waits for its children"
    return f"{len(found.members) - found.live} of {found.total or len(found.members)} children done"


def _unjoined(inst: Instance, step: Step) -> str:
    """The children that a step waits for; empty if it waits for none."""
    for group in [wait.group for wait in step.wait if wait.group]:
        if inst.groups.get(group) and inst.groups[group].open:
            return f"held, {inst.groups[group].open} of {group} open"
    return ""


def _queued(inst: Instance) -> str:
    return f"queued for {inst.ticket[0].rpartition(':')[2]}" if inst.ticket else "queued"
