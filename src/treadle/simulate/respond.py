"""Plausible answers to commands: what agents, checks, effects and people say when nothing goes wrong."""

from random import Random
from typing import Literal, NamedTuple

from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.commands import AskHuman, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import Checked, CheckResult, Envelope, Event, Exited, Replied, RunStarted, Usage
from treadle.protocol.model import Protocol, exit_keys
from treadle.simulate.claims import derivation, envelope, input_item
from treadle.simulate.ledger import Open
from treadle.simulate.nearest import Nearest
from treadle.simulate.values import Values

Mood = Literal["wild", "kind", "ending"]
"""Wild: any exit. Kind: the shortest way to a good end. Ending: the shortest way to any end."""


class Stamp(NamedTuple):
    """What every event has: an id and a time."""

    id: str
    ts: int


class Responder:
    """Answers one command at a time, from a seed."""

    def __init__(self, protocol: Protocol, random: Random, whims: float, *, odd: bool = False) -> None:
        self.mood: Mood = "wild"
        self._protocol = protocol
        self._random = random
        self._values = Values(protocol, random, odd=odd)
        self._nearest = Nearest(protocol)
        self._whims = self._random.uniform(0, whims)
        """How often a wild world leaves the shortest way; some runs get far, others see many exits."""
        self._count = 0
        self._now = 0

    def stamp(self) -> Stamp:
        """The next event's id and time."""
        self._count += 1
        self._now += self._random.randrange(2000)
        return Stamp(f"e{self._count}", self._now)

    def start(self) -> RunStarted:
        """The first event of a run."""
        item = input_item(self._protocol, self._protocol.graphs[self._protocol.root], self._values.given)
        level: Literal[0, 1, 2] = self._random.choice((0, 1, 2, 2, 2, 2))
        id_, ts = self.stamp()
        return RunStarted(id=id_, ts=ts, run="r", protocol="simulated", input=item, level=level)

    def answer(self, command: Open) -> Event:
        """One answer that the command may get."""
        self._values.modest = self.mood != "wild"
        match command:
            case RunAgent() | RunEffect():
                return self._exit(command)
            case RunChecks():
                return self._verdict(command)
            case AskHuman():
                return self._choice(command)

    def _exit(self, command: RunAgent | RunEffect) -> Event:
        step = self._protocol.graphs[command.graph].steps[command.step]
        key = self._pick(command.graph, command.step, exit_keys(self._protocol, step))
        return self.claim(command, key)

    def claim(self, command: RunAgent | RunEffect, key: str) -> Event:
        """A claim by this exit, plausible in all its fields."""
        made = envelope(self._protocol, key, self._values.of, isinstance(command, RunAgent))
        return self.exited(command, made)

    def exited(self, command: Open, made: Envelope) -> Event:
        usage = Usage(self._random.randrange(9000), self._random.randrange(900), self._random.random())
        id_, ts = self.stamp()
        return Exited(id=id_, ts=ts, act=command.id, envelope=made, channel="tool", usage=usage)

    def _verdict(self, command: RunChecks) -> Event:
        results = tuple(CheckResult(check.name, True) for check in command.checks)
        derived = derivation(self._protocol, command.exit, self._values.of)
        id_, ts = self.stamp()
        return Checked(id=id_, ts=ts, act=command.id, results=results, derived=derived)

    def _choice(self, command: AskHuman) -> Event:
        note = f"text:note {self._random.randrange(9)}" if self._random.random() < 0.3 else ""
        choice = self._decide(command)
        id_, ts = self.stamp()
        return Replied(id=id_, ts=ts, ask=command.id, choice=choice, note_ref=note, actor="somebody")

    def _decide(self, command: AskHuman) -> str:
        if command.id in (LIMIT_ASK, OUTAGE):
            return "continue" if self.mood != "ending" and self._random.random() < 0.8 else "abort"
        return self._pick(command.graph, command.step, command.choices)

    def _pick(self, graph: str, step: str, keys: tuple[str, ...]) -> str:
        if self.mood == "wild" and self._random.random() < self._whims:
            return self._random.choice(keys)
        return self._random.choice(self._nearest.best(graph, step, keys, self.mood != "ending"))
