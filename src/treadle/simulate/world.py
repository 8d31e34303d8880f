"""A random world around the kernel: it answers commands with plausible events, and with faults.

Seeded, so the same seed meets the same run with the same world. A run that goes on for long gets a kinder world (see
`Mood`), so one that still does not end is at fault itself.
"""

from random import Random
from typing import Final

from treadle.kernel.advance import OUTAGE
from treadle.kernel.events import Event, RunStarted, Signalled
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.simulate.ledger import Ledger, Open
from treadle.simulate.respond import Mood, Responder
from treadle.simulate.trouble import Trouble
from treadle.simulate.waits import awaits_go

_REMEMBERED: Final = 40
_WHIMS: Final = (0.03, 3.0, 0.9)
"""How often agents and people leave the shortest way to a good end, at most: without faults, more per fault, ever."""


class World:
    """Agents, checks, effects, people and clocks, behind a channel that delays, doubles and reorders.

    An odd world also makes what Treadle would refuse before a run sees it: keys that are no ids, references to nobody.
    """

    def __init__(self, protocol: Protocol, random: Random, faults: float, *, odd: bool = False) -> None:
        self._protocol = protocol
        self._random = random
        self._faults = faults
        least, more, most = _WHIMS
        self._responder = Responder(protocol, random, min(least + more * faults, most), odd=odd)
        self._trouble = Trouble(protocol, random, self._responder)
        self._past: list[Event] = []
        self._on_the_way: list[Event] = []

    def start(self) -> RunStarted:
        """The first event of a run."""
        return self._responder.start()

    def next(self, state: State, ledger: Ledger, mood: Mood) -> Event | None:
        """What happens next; None if nobody has anything left to do."""
        self._responder.mood = mood
        event = self._faulty(state, ledger) if mood == "wild" and self._random.random() < self._faults else None
        event = event or self._regular(state, ledger)
        if event is not None:
            self._past = [*self._past[1 - _REMEMBERED :], event]
        return event

    def lose(self) -> None:
        """The process was killed: what was on its way is gone, and its jobs will be issued again."""
        self._on_the_way.clear()

    def _faulty(self, state: State, ledger: Ledger) -> Event | None:
        """A fault of the world, or of the channel: an event once more, or one that overtakes another."""
        chance = self._random.random()
        if chance < 0.15 and self._past:
            return self._random.choice(self._past)
        if chance < 0.3 and ledger.open:
            self._on_the_way.append(self._responder.answer(self._random.choice(list(ledger.open.values()))))
            return None
        return self._trouble.make(state, ledger)

    def _regular(self, state: State, ledger: Ledger) -> Event | None:
        if self._on_the_way and (not ledger.open or self._random.random() < 0.3):
            return self._on_the_way.pop(self._random.randrange(len(self._on_the_way)))
        waiting: list[Open | tuple[str, str, str]] = [*ledger.open.values(), *self._orders(state)]
        if not waiting:
            return None
        chosen = self._random.choice(waiting)
        if not isinstance(chosen, tuple):
            return self._responder.answer(chosen)
        id_, ts = self._responder.stamp()
        inst, name, step = chosen
        return Signalled(id=id_, ts=ts, inst=inst, name=name, step=step)

    def _orders(self, state: State) -> list[tuple[str, str, str]]:
        """What people must say for the run to go on: let go what waits for it, resume what they have paused."""
        orders = [(ROOT, "resume", "")] if OUTAGE in state.timers else []
        for inst in state.insts.values():
            if inst.paused and inst.live:
                orders.append((inst.id, "resume", ""))
            elif inst.live and (step := awaits_go(self._protocol, state, inst)):
                orders.append((inst.id, "go", step))
        return sorted(orders)
