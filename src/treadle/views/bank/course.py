"""The course of a run as the memory bank tells it: its chronicle, and how things stood when an agent failed."""

from collections.abc import Callable
from typing import Final

import msgspec

from treadle.kernel.events import Event, Failed, TimerFired
from treadle.kernel.replay import Move
from treadle.kernel.state import Instance, State
from treadle.protocol.model import Protocol
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.payload import Get

AGENT_FAILURES: Final = {"crash": "!crash", "blocked": "!blocked", "store": "!store"}
TIMEOUT: Final = "!timeout"


class Position(msgspec.Struct, frozen=True):
    """Where an instance is, and what it has been through."""

    inst: str
    step: str
    attempt: int
    vars: dict[str, int | str | bool]
    last: dict[str, str]


class Snapshot(msgspec.Struct, frozen=True):
    """How a run stood when an agent failed."""

    at: int
    act: str
    cause: str
    detail_ref: str
    positions: tuple[Position, ...]


class Course:
    """Takes the events of a run one by one, and knows what the bank's documents are made of."""

    def __init__(self, find: Callable[[str], Protocol]) -> None:
        self.chronicle = Chronicle(find)
        self.snapshots: list[Snapshot] = []
        self._below: dict[str, list[Deed]] = {}
        """Instance → what was done there and below; made when it is asked for."""

    @property
    def state(self) -> State:
        return self.chronicle.state

    @property
    def protocol(self) -> Protocol | None:
        return self.chronicle.protocol

    def take(self, body: bytes) -> Move:
        """Apply the next event of the log."""
        made = self.chronicle.take(body)
        self._below = {}
        act, cause, detail = _failure(made.event)
        if cause and act in made.before.acts and act not in made.state.acts:
            self.snapshots.append(Snapshot(made.state.now, act, cause, detail, positions(made.before)))
        return made

    def deeds(self) -> list[Deed]:
        """All activities, the earliest first."""
        return list(self.chronicle.deeds.values())

    def below(self, inst: str) -> list[Deed]:
        """The activities of an instance and of all below it, the earliest first."""
        if not self._below:
            for deed in self.chronicle.deeds.values():
                names = deed.command.inst.split("/")
                for depth in range(1, len(names) + 1):
                    self._below.setdefault("/".join(names[:depth]), []).append(deed)
        return self._below.get(inst, [])


View = Callable[[Protocol, Course, Get], str]
"""The text of a document."""


def positions(state: State) -> tuple[Position, ...]:
    """Where everybody is, in order of birth."""
    live = sorted((it for it in state.insts.values() if it.live and it.frames), key=lambda it: it.n)
    return tuple(_position(it) for it in live)


def _position(inst: Instance) -> Position:
    step = inst.frames[-1].step
    return Position(inst.id, step, inst.attempts.get(step, 0), dict(inst.vars), dict(inst.last))


def _failure(event: Event) -> tuple[str, str, str]:
    """The activity that an agent's failure ends, if it does, the system exit, and what is known about it."""
    match event:
        case Failed(act=act, why=why, detail_ref=ref) if why in AGENT_FAILURES:
            return act, AGENT_FAILURES[why], ref
        case TimerFired(timer=timer):
            return timer, TIMEOUT, ""
    return "", "", ""
