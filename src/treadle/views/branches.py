"""The instances of a run as a tree for programs: where each stands, since when, and what it waits for."""

from collections.abc import Collection

import msgspec

from treadle.kernel.state import Frame, Instance
from treadle.protocol.model import Protocol, base_of
from treadle.views.chronicle import Chronicle
from treadle.views.moment import moment, seconds
from treadle.views.tree import Line, Mood, Whom, tree


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where an instance stands; below a step that serves a signal lies the one that it goes on with afterwards."""

    step: str
    status: Mood
    waits_for: Whom
    text: str
    """What it does there, or waits for."""
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
    """In a few words how it ended: of one that had a single step to do, which that was; else its outcome."""
    began: str
    ended: str
    elapsed: float
    paused: bool
    positions: tuple[Position, ...]
    """The current one first; none once it has ended."""
    children: tuple["Branch", ...]


def forest(chronicle: Chronicle, protocol: Protocol, now: int, yours: Collection[str] = ()) -> tuple[Branch, ...]:
    """The instances of a run, each with those it has started, in the order they were created."""
    lines: dict[str, list[Line]] = {}
    for one in tree(protocol, chronicle.state, yours):
        lines.setdefault(one.instance, []).append(one)
    below: dict[str, list[Branch]] = {}
    for inst in sorted(chronicle.state.insts.values(), key=lambda inst: -inst.n):  # children are born after parents
        children = tuple(reversed(below.pop(inst.id, [])))
        below.setdefault(inst.parent, []).append(_branch(chronicle, protocol, inst, lines[inst.id], children, now))
    return tuple(reversed(below[""]))


def _branch(
    chronicle: Chronicle, protocol: Protocol, inst: Instance, lines: list[Line], children: tuple[Branch, ...], now: int
) -> Branch:
    born, gone = chronicle.born[inst.id], chronicle.gone.get(inst.id, 0)
    pairs = zip(reversed(inst.frames), lines, strict=False)
    return Branch(
        id=inst.id,
        name=lines[0].name,
        graph=inst.graph,
        status=lines[0].mood,
        outcome=inst.outcome,
        text=lines[0].text if inst.outcome else "",
        began=moment(born),
        ended=moment(gone),
        elapsed=seconds(born, gone or now),
        paused=inst.paused,
        positions=tuple(_position(chronicle, protocol, inst, frame, one, now) for frame, one in pairs),
        children=children,
    )


def _position(chronicle: Chronicle, protocol: Protocol, inst: Instance, frame: Frame, one: Line, now: int) -> Position:
    step = protocol.graphs[inst.graph].steps.get(frame.step)
    deed = chronicle.deeds.get(frame.id)
    began = deed.began if deed else chronicle.put.get(frame.id, now)
    return Position(
        step=base_of(frame.step),
        status=one.mood,
        waits_for=one.waits_for,
        text=one.text,
        signal=frame.signal,
        attempt=inst.attempts.get(frame.step, 0),
        attempts=step.attempts if step else 0,
        id=frame.id,
        elapsed=seconds(began, now),
    )
