"""Runs to watch, scene by scene; those of a random world are made here."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.simulate.ledger import Ledger
from treadle.simulate.respond import Mood
from treadle.simulate.trace import describe
from treadle.simulate.world import World

PATIENCE = 150


class Scene(NamedTuple):
    """What has just happened, and how things stand after it."""

    caption: str
    """What a viewer is told about it; empty if it speaks for itself."""
    state: State
    log: str = ""
    """The line that the log of a real run has for it."""


def simulated(protocol: Protocol, seed: int, faults: float) -> Iterator[Scene]:
    """A run in a random world, until it ends."""
    world, state, ledger = World(protocol, Random(f"{protocol.name} {seed}"), faults), State(), Ledger()
    event: Event | None = world.start()
    count = 0
    while event is not None:
        state, commands = reduce(protocol, state, event)
        ledger.enter(event, commands)
        yield Scene(describe(event), state)
        if state.outcome:
            return
        count += 1
        mood: Mood = "wild" if count < PATIENCE else "kind" if count < 4 * PATIENCE else "ending"
        event = world.next(state, ledger, mood)
