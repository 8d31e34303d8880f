"""A run as a tree of instances: each with its step, its work, and the thing it waits for."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, Literal

import msgspec

from treadle.kernel.advance import OUTAGE, is_out, is_stopped
from treadle.kernel.events import Outages
from treadle.kernel.state import Frame, Instance, State
from treadle.kernel.waits import awaits_go
from treadle.protocol.drawing.table import step_worker
from treadle.protocol.model import Only, Protocol, Step, base_of
from treadle.views.chronicle import Chronicle
from treadle.views.outcomes import is_good
from treadle.views.words import exit_words, moment, plain, seconds

# Outages of an agent's service: the reason, and the time or person that ends them.

OUTAGE_WORDS: Final[dict[Outages, str]] = {
    "rate": "its service takes no more requests for now",
    "quota": "its quota is used up",
    "overload": "its service is overloaded",
    "network": "its service cannot be reached",
    "billing": "its service wants payment",
    "login": "its login is refused",
    "budget": "a budget is spent",
}


class ServiceOutage(msgspec.Struct, frozen=True, kw_only=True):
    """A service that cannot be used: the run waits, and no attempt is lost."""

    why: Outages
    code: str
    """`outage.quota` and the like."""
    until: str
    """When the run goes on by itself; empty: a person has to see to it."""
    said: str
    """The agent program's own message."""


def outage(state: State, message: str) -> ServiceOutage | None:
    """Return the current outage with the agent program's message; None if there is none."""
    if state.outage is None or not is_out(state):
        return None
    return ServiceOutage(
        why=state.outage.why, code=f"outage.{state.outage.why}", until=moment(state.timers.get(OUTAGE, 0)), said=message
    )


def outage_line(state: State) -> str:
    """Describe the outage in one line, for the activities that wait for its end."""
    why = OUTAGE_WORDS[state.outage.why] if state.outage else "its service is out"
    if until := plain(moment(state.timers.get(OUTAGE, 0))):
        return f"held up, {why}; continues at {until}"
    rest = "Treadle asks a person" if is_stopped(state) else "the outage is over, but a person paused the run"
    return f"held up, {why}; {rest}"


Mood = Literal["works", "checks", "waits", "asks", "done", "failed"]
Whom = Literal["", "person", "agent", "treadle", "checks", "quota", "children", "siblings", "parent", "turn"]
"""The thing that an instance waits for: `treadle` for an effect, `quota` for an outage, `turn` for free capacity."""


RANK: Final[dict[Mood, int]] = {"asks": 0, "works": 1, "checks": 1, "waits": 2, "failed": 3, "done": 4}
"""The order of urgency for a person."""


class InstanceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One instance, or the step it resumes after a signal handler, in a tree drawn line by line."""

    depth: int
    instance: str
    name: str
    """The instance's own name; empty for a step that it resumes later."""
    step: str = ""
    mood: Mood
    waits_for: Whom = ""
    """Empty once it has ended."""
    text: str
    """Its work or the thing it waits for, in a few words; its outcome, or the only step that it had to do."""
    part: Only | None = None
    """The single step that the instance has done, and the one that is left to other runs."""

    @property
    def end(self) -> str:
        """The end of the instance, for a message."""
        if self.part:
            return f"{self.text} ✓ Next: {self.part.then}."
        return "all complete ✓" if self.mood == "done" else f"has ended with {self.text}"


def tree(protocol: Protocol, state: State, yours: Collection[str] = ()) -> list[InstanceLine]:
    """Return every instance, each below its parent, in order of creation.

    `yours` are the activities in a person's hands.
    """
    below: dict[str, list[Instance]] = {}
    for inst in sorted(state.insts.values(), key=lambda inst: inst.n):
        below.setdefault(inst.parent, []).append(inst)
    by_people = {state.acts[id_].command.inst for id_ in yours if id_ in state.acts}

    def lines_below(parent: str, depth: int) -> Iterator[InstanceLine]:
        for inst in below.get(parent, []):
            for line in _instance_lines(protocol, state, inst, depth):
                if inst.id in by_people and line.mood == "works":
                    text = f"yours, as {line.text}"
                    yield msgspec.structs.replace(line, mood="asks", waits_for="person", text=text)
                else:
                    yield line
            yield from lines_below(inst.id, depth + 1)

    return list(lines_below("", 0))


def foremost(lines: list[InstanceLine], room: int) -> list[InstanceLine]:
    """Return as many lines as there is room for, in their order; questions and work have priority, ended instances come
    last.
    """
    ranked = sorted(range(len(lines)), key=lambda at: (RANK[lines[at].mood], lines[at].depth))
    return [lines[at] for at in sorted(ranked[: max(room, 0)])]


def ended_well(protocol: Protocol, state: State, inst: Instance) -> bool:
    """Whether an ended instance has a good outcome, by the graph of its parent or, at the root, by any protocol."""
    parent = state.insts.get(inst.parent)
    return inst.outcome in protocol.graphs[parent.graph].ok.get(inst.group, ()) if parent else is_good(inst.outcome)


def _instance_lines(protocol: Protocol, state: State, inst: Instance, depth: int) -> Iterator[InstanceLine]:
    name = inst.id.rpartition("/")[2]
    if inst.outcome:
        good = ended_well(protocol, state, inst)
        only = protocol.graphs[inst.graph].only if inst.graph in protocol.graphs else None
        part = only if only and only.then and good else None
        text = f"{part.step} is done" if part else inst.outcome
        mood: Mood = "done" if good else "failed"
        yield InstanceLine(depth=depth, instance=inst.id, name=name, mood=mood, text=text, part=part)
        return
    above = ""
    for frame in reversed(inst.frames):
        shown = "" if above else name
        mood, whom, text = _frame_status(protocol, state, inst, frame, above)
        above = base_of(frame.step)
        step = above + (f" on {frame.signal}" if frame.signal else "")
        yield InstanceLine(depth=depth, instance=inst.id, name=shown, step=step, mood=mood, waits_for=whom, text=text)


def _frame_status(protocol: Protocol, state: State, inst: Instance, frame: Frame, above: str) -> tuple[Mood, Whom, str]:
    """Describe a step; `above` is the signal handler that it resumes after, if there is one."""
    step = protocol.graphs[inst.graph].steps.get(frame.step)
    if above and frame.status == "queued":
        # never at work: signals are served only between two steps
        unjoined = _open_children(inst, step) if step else ""
        return ("waits", "children", unjoined) if unjoined else ("waits", "turn", f"held until {above} is done")
    if step is None:
        return "waits", "", "is at a step that this protocol does not have"
    if inst.paused:
        return "waits", "person", "paused by a person"
    if frame.status == "active":
        return _activity_status(protocol, state, frame, step, inst.attempts.get(frame.step, 0))
    if frame.status == "synced":
        return "waits", "siblings", "waits for its siblings to arrive"
    if frame.status == "waiting" and step.kind == "ask":
        ask = state.asks.get(frame.id)
        if step.asks == "human" or (ask is not None and ask.command is not None):
            return "asks", "person", f"asks a person: {', '.join(step.routes)}"
        return "waits", "parent", "waits for its parent's answer"
    if frame.status == "waiting":
        group = inst.groups.get(frame.step)
        if group is None:
            return "waits", "children", "waits for its children"
        done = len(group.members) - group.live
        return "waits", "children", f"{done} of {group.total or len(group.members)} children done"
    if awaits_go(protocol, state, inst) == frame.step:
        return "waits", "person", "waits for a person's go"
    if unjoined := _open_children(inst, step):
        return "waits", "children", unjoined
    return "waits", "turn", f"queued for {inst.ticket[0].rpartition(':')[2]}" if inst.ticket else "queued"


def _activity_status(
    protocol: Protocol, state: State, frame: Frame, step: Step, attempt: int
) -> tuple[Mood, Whom, str]:
    act = state.acts.get(frame.id)
    worker = step_worker(step) if step.kind == "agent" else step.title or step_worker(step)
    count = f", attempt {attempt} of {step.attempts}" if attempt > 1 else ""
    count += f", lost and started again ({act.losses})" if act and act.losses else ""
    if act is not None and act.phase == "held":
        return "waits", "quota", f"{worker} {outage_line(state)}{count}"
    if act is not None and act.phase == "verifying":
        claimed = f"{exit_words(protocol, act.claim.key)} claimed, " if act.claim else ""
        return "checks", "checks", f"{claimed}checking {' '.join(check.name for check in act.checks)}{count}"
    whom: Whom = "agent" if step.kind == "agent" else "checks" if step.kind == "check" else "treadle"
    return "works", whom, f"{worker}{count}"


def _open_children(inst: Instance, step: Step) -> str:
    """Return the children that a step waits for; empty if it waits for none."""
    for group in [wait.group for wait in step.wait if wait.group]:
        if inst.groups.get(group) and inst.groups[group].open:
            return f"waits for {group}: {inst.groups[group].open} open"
    return ""


# The instances of a run as a tree for programs: the position of each, since when, and the thing it waits for.


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """An instance's position; below a signal handler stands the step that it resumes afterwards."""

    step: str
    status: Mood
    waits_for: Whom
    text: str
    """Its work there, or the thing it waits for."""
    signal: str
    """The signal that the step serves, if it serves one."""
    attempt: int
    attempts: int
    """How often it may be tried."""
    id: str
    """The activity or the question it is busy with."""
    elapsed: float
    """Seconds since that began."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """An instance of a graph, and the instances that it has started."""

    id: str
    name: str
    graph: str
    status: Mood
    outcome: str
    """How it ended; empty while it goes on."""
    text: str
    """How it ended, in a few words: the step, if it had a single step to do; else its outcome."""
    began: str
    ended: str
    elapsed: float
    paused: bool
    positions: tuple[Position, ...]
    """The current one first; none once it has ended."""
    children: tuple["Branch", ...]


def forest(chronicle: Chronicle, protocol: Protocol, now: int, tree: Iterable[InstanceLine]) -> tuple[Branch, ...]:
    """Return the lines of a tree with their times: each instance with those that it has started, by creation."""
    lines: dict[str, list[InstanceLine]] = {}
    for line in tree:
        lines.setdefault(line.instance, []).append(line)
    below: dict[str, list[Branch]] = {}
    for inst in sorted(chronicle.state.insts.values(), key=lambda inst: -inst.n):  # children are born after parents
        steps, own = protocol.graphs[inst.graph].steps, lines[inst.id]
        positions = []
        for frame, line in zip(reversed(inst.frames), own, strict=False):
            deed, step = chronicle.deeds.get(frame.id), steps.get(frame.step)
            position = Position(
                step=base_of(frame.step),
                status=line.mood,
                waits_for=line.waits_for,
                text=line.text,
                signal=frame.signal,
                attempt=inst.attempts.get(frame.step, 0),
                attempts=step.attempts if step else 0,
                id=frame.id,
                elapsed=seconds(deed.began if deed else chronicle.put.get(frame.id, now), now),
            )
            positions.append(position)
        born, gone = chronicle.born.get(inst.id, 0), chronicle.gone.get(inst.id, 0)
        branch = Branch(
            id=inst.id,
            name=own[0].name,
            graph=inst.graph,
            status=own[0].mood,
            outcome=inst.outcome,
            text=own[0].text if inst.outcome else "",
            began=moment(born),
            ended=moment(gone),
            elapsed=seconds(born, gone or now),
            paused=inst.paused,
            positions=tuple(positions),
            children=tuple(reversed(below.pop(inst.id, []))),
        )
        below.setdefault(inst.parent, []).append(branch)
    return tuple(reversed(below.get("", [])))
