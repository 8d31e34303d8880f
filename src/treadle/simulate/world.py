"""A random world around the kernel: it answers commands with plausible events, and with faults.

A ledger lists the open commands, a responder makes the regular answers, and `Trouble` makes the faults.
"""

from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import Final, Literal, TypedDict, TypeVar, get_args

from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.commands import (
    AskHuman,
    Cancel,
    CancelTimer,
    Command,
    Done,
    RunAgent,
    RunChecks,
    RunEffect,
    SetTimer,
)
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Outages,
    Replied,
    RunStarted,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
    Usage,
)
from treadle.kernel.instances import ROOT, map_keys
from treadle.kernel.reduce import outstanding
from treadle.kernel.state import State
from treadle.kernel.waits import awaits_go
from treadle.protocol.model import ABORTED, Protocol, Rows, Spawn, exit_keys, row, target
from treadle.simulate.values import Values, derivation, envelope, input_item

# The distance of every exit from an end; a kind world and an ending one follow the shortest way.

_FAR: Final = 1000
_DETOUR: Final = 5
"""The extra cost of a route that starts children, or that leaves a map after a failure."""


class Nearest:
    """Distances for one protocol, to good ends or to any."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._steps = cache(self._distances)

    def best(self, graph: str, step: str, keys: Iterable[str], good: bool) -> list[str]:
        """Return the keys that lead to an end on the shortest way."""
        far = {key: self._key(graph, step, key, self._steps(graph, good), good) for key in keys}
        least = min(far.values())
        return [key for key, distance in far.items() if distance == least]

    def _distances(self, name: str, good: bool) -> dict[str, int]:
        graph = self._protocol.graphs[name]
        far = dict.fromkeys(graph.steps, _FAR)
        changed = True
        while changed:
            changed = False
            for step, definition in graph.steps.items():
                keys = exit_keys(self._protocol, definition)
                least = 1 + min((self._key(name, step, key, far, good) for key in keys), default=_FAR)
                if least < far[step]:
                    far[step], changed = least, True
        return far

    def _key(self, name: str, step: str, key: str, far: dict[str, int], good: bool) -> int:
        """The distance by the nearest row of a key, given those of the steps."""
        graph = self._protocol.graphs[name]
        rows: Rows = row(graph, step, key) or ()
        distances: list[int] = []
        for route in rows:
            place = target(route.to)
            distance = _DETOUR if any(isinstance(action, Spawn) for action in route.do) else 0
            if place.kind != "end":
                distance += 0 if place.kind == "resume" else far.get(place.name, _FAR)
            elif good and place.name not in self._good_ends(name):
                distance = _FAR
            distances.append(distance)
        return min(distances, default=_FAR) + (_DETOUR if key == "SomeFailed" else 0)

    def _good_ends(self, name: str) -> frozenset[str]:
        """The outcomes that some graph counts as good; of the root, those that need something."""
        graph = self._protocol.graphs[name]
        liked = {
            outcome
            for other in self._protocol.graphs.values()
            for outcomes in other.ok.values()
            for outcome in outcomes
            if outcome in graph.ends
        }
        if name == self._protocol.root or not liked:
            liked = {outcome for outcome, needs in graph.ends.items() if any(not need.optional for need in needs)}
        return frozenset(liked or graph.ends.keys() - {ABORTED} or graph.ends)


# The world's own account of open commands.
#
# It uses commands and events alone, so a comparison with the kernel's list of outstanding commands is a real test.

Open = RunAgent | RunEffect | RunChecks | AskHuman


class Ledger:
    """Open jobs and questions, and set timers, by id."""

    def __init__(self) -> None:
        self.open: dict[str, Open] = {}
        self.timers: dict[str, SetTimer] = {}
        self.done: Done | None = None
        self.unverified: set[str] = set()
        """Instances with a merge that was refused for unverified criteria, and without a person's decision."""
        self.unasked: list[str] = []
        """Merges that were tried again without such a decision."""

    def enter(self, event: Event, commands: tuple[Command, ...]) -> None:
        """Remove the commands that the event answers, then add the new ones."""
        match event:
            case Exited(act=act, envelope=envelope) if isinstance(job := self.open.get(act), RunAgent | RunEffect):
                if isinstance(job, RunEffect) and envelope.key == "MergeRejected.Unverified":
                    self.unverified.add(job.inst)
                del self.open[act]
            case Replied(ask=ask) if isinstance(asked := self.open.get(ask), AskHuman):
                self.unverified.discard(asked.inst)
            case Checked(act=act) if isinstance(self.open.get(act), RunChecks):
                del self.open[act]
            case Failed(act=act):
                self.open.pop(act, None)
            case Unavailable(act=act) if isinstance(self.open.get(act), RunAgent):
                del self.open[act]
            case TimerFired(timer=timer):
                self.timers.pop(timer, None)
        for command in commands:
            match command:
                case RunAgent() | RunEffect() | RunChecks() | AskHuman():
                    self.open[command.id] = command
                    if isinstance(command, RunEffect) and command.effect == "merge" and command.inst in self.unverified:
                        self.unasked.append(f"unverified: {command.id} merges again, and no person was asked")
                case SetTimer():
                    self.timers[command.id] = command
                case CancelTimer(id=id_):
                    self.timers.pop(id_, None)
                case Cancel(id=id_):
                    self.open.pop(id_, None)
                case Done():
                    self.open, self.timers, self.done = {}, {}, command

    def differences(self, state: State) -> list[str]:
        """Where this account and the state's own list of open commands disagree."""
        if self.unasked:
            return self.unasked
        mine = [self.done] if self.done else [*self.open.values(), *self.timers.values()]
        theirs = outstanding(state)
        known = {f"{type(command).__name__} {command.id}": command for command in mine}
        listed = {f"{type(command).__name__} {command.id}": command for command in theirs}
        if len(mine) == len(theirs) and known == listed:
            return []
        lost = [f"{name} was asked for and is not outstanding" for name in sorted(known.keys() - listed.keys())]
        made = [f"{name} is outstanding and was never asked for" for name in sorted(listed.keys() - known.keys())]
        return lost + made or ["an open command is not the one that was issued"]


# Plausible answers of agents, checks, effects and people when nothing goes wrong.

Mood = Literal["wild", "kind", "ending"]
"""Wild: any exit. Kind: the shortest way to a good end. Ending: the shortest way to any end."""


class Stamp(TypedDict):
    """The id and the time of an event."""

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
        return Stamp(id=f"e{self._count}", ts=self._now)

    def start(self) -> RunStarted:
        """The first event of a run."""
        item = input_item(self._protocol, self._protocol.graphs[self._protocol.root], self._values.given)
        level: Literal[0, 1, 2] = self._random.choice((0, 1, 2, 2, 2, 2))
        return RunStarted(**self.stamp(), run="r", protocol="simulated", input=item, level=level)

    def answer(self, command: Open) -> Event:
        """One answer that the command may get."""
        self._values.modest = self.mood != "wild"
        match command:
            case RunAgent() | RunEffect():
                step = self._protocol.graphs[command.graph].steps[command.step]
                key = self._pick(command.graph, command.step, exit_keys(self._protocol, step))
                return self.exited(
                    command, envelope(self._protocol, key, self._values.of, isinstance(command, RunAgent))
                )
            case RunChecks():
                results = tuple(CheckResult(check.name, True) for check in command.checks)
                derived = derivation(self._protocol, command.exit, self._values.of)
                return Checked(**self.stamp(), act=command.id, results=results, derived=derived)
            case AskHuman():
                note = f"text:note {self._random.randrange(9)}" if self._random.random() < 0.3 else ""
                if command.id in (LIMIT_ASK, OUTAGE):
                    choice = "continue" if self.mood != "ending" and self._random.random() < 0.8 else "abort"
                else:
                    choice = self._pick(command.graph, command.step, command.choices)
                return Replied(**self.stamp(), ask=command.id, choice=choice, note_ref=note, actor="somebody")

    def exited(self, command: RunAgent | RunEffect, made: Envelope) -> Event:
        """The end of a job with this claim."""
        usage = Usage(self._random.randrange(9000), self._random.randrange(900), self._random.random())
        return Exited(**self.stamp(), act=command.id, envelope=made, channel="tool", usage=usage)

    def _pick(self, graph: str, step: str, keys: tuple[str, ...]) -> str:
        if self.mood == "wild" and self._random.random() < self._whims:
            return self._random.choice(keys)
        return self._random.choice(self._nearest.best(graph, step, keys, self.mood != "ending"))


# Faults: wrong exits, failed checks, lost workers, timeouts, people's interference.

Thing = TypeVar("Thing")
_REASONS: Final[tuple[Literal["crash", "invalid", "blocked", "store"], ...]] = ("crash", "invalid", "blocked", "store")


class Trouble:
    """A source of faults for a state; None if the fault it has drawn does not apply."""

    def __init__(self, protocol: Protocol, random: Random, responder: Responder) -> None:
        self._protocol = protocol
        self._random = random
        self._responder = responder
        self._kinds: dict[Callable[[State, Ledger], Event | None], int] = {
            self._bad_answer: 14,
            self._timer: 3,
            self._failure: 4,
            self._outage: 2,
            self._chatter: 2,
            self._signal: 3,
            self._order: 3,
        }

    def make(self, state: State, ledger: Ledger) -> Event | None:
        """A fault of a random kind."""
        (make,) = self._random.choices(list(self._kinds), list(self._kinds.values()))
        return make(state, ledger)

    def _bad_answer(self, _state: State, ledger: Ledger) -> Event | None:
        command = self._one_of(list(ledger.open.values()))
        match command:
            case RunAgent() | RunEffect():
                return self._responder.exited(command, self._foreign_exit(command))
            case RunChecks():
                return self._refusal(command)
            case AskHuman():
                return Replied(**self._responder.stamp(), ask=command.id, choice="whatever")
        return None

    def _foreign_exit(self, command: RunAgent | RunEffect) -> Envelope:
        """An exit that the step does not have, or a variant that the exit does not have."""
        own = self._protocol.graphs[command.graph].steps[command.step].exits
        foreign = sorted(set(self._protocol.exits) - set(own)) or ["Nonsense"]
        if own and self._random.random() < 0.5:
            return Envelope(self._random.choice(own), "nonsense", payload_ref="text:nonsense")
        return Envelope(self._random.choice(foreign), payload_ref="text:foreign")

    def _refusal(self, command: RunChecks) -> Event:
        """Some checks fail, or are missing from the answer."""
        names = [check.name for check in command.checks]
        failed = {name for name in names if self._random.random() < 0.4} or set(names[:1])
        missing = self._random.random() < 0.2
        results = tuple(CheckResult(name, name not in failed) for name in names if not (missing and name in failed))
        print_ = self._random.choice(("", "same", "same", "other"))
        return Checked(**self._responder.stamp(), act=command.id, results=results, fingerprint=print_)

    def _timer(self, _state: State, ledger: Ledger) -> Event | None:
        timer = self._one_of(sorted(ledger.timers))
        if timer is None:
            return None
        return TimerFired(**self._responder.stamp(), timer=timer)

    def _failure(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._job(ledger)
        if job is None:
            return None
        return Failed(**self._responder.stamp(), act=job.id, why=self._random.choice(_REASONS), detail_ref="text:lost")

    def _outage(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._one_of([job for job in ledger.open.values() if isinstance(job, RunAgent)])
        if job is None:
            return None
        why = self._random.choice(get_args(Outages))
        wait, grant = self._random.choice((0, 0, 60, 7200)), self._random.choice(("", "step"))
        grant = grant if why == "budget" else ""
        return Unavailable(**self._responder.stamp(), act=job.id, why=why, wait=wait, grant=grant)

    def _chatter(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._job(ledger)
        if job is None:
            return None
        stamp = self._responder.stamp()
        if self._random.random() < 0.5:
            return Idle(**stamp, act=job.id, idle_s=60)
        return SessionStarted(**stamp, act=job.id, session=f"session {stamp['id']}")

    def _signal(self, state: State, _ledger: Ledger) -> Event | None:
        """Send a signal from outside to any instance, with or without a handler for it."""
        inst = state.insts[self._random.choice(sorted(state.insts))]
        known = sorted(self._protocol.graphs[inst.graph].handlers)
        name = self._random.choice(["StatusQuery", "Unheard", *known])
        return Signalled(**self._responder.stamp(), inst=inst.id, name=name, data_ref="text:from outside")

    def _order(self, state: State, _ledger: Ledger) -> Event | None:
        """Make a person's order to pause, resume, redirect or abort a part of the run; seldom all of it."""
        inst = state.insts[self._random.choice(sorted(state.insts))]
        graph = self._protocol.graphs[inst.graph]
        name = self._random.choice(("pause", "resume", "resume", "go", "go", "abort"))
        if name == "abort" and not inst.parent and self._random.random() < 0.9:
            return None
        step = self._random.choice([*sorted(graph.steps), *sorted(graph.commands)]) if name == "go" else ""
        named = map_keys(inst, step, graph.steps[step]) if step in graph.itemized else ()
        item = self._random.choice((*named, "", "nobody")) if named else ""
        return Signalled(**self._responder.stamp(), inst=inst.id, name=name, step=step, item=item)

    def _job(self, ledger: Ledger) -> RunAgent | RunEffect | RunChecks | None:
        return self._one_of([job for job in ledger.open.values() if not isinstance(job, AskHuman)])

    def _one_of(self, things: list[Thing]) -> "Thing | None":
        return self._random.choice(things) if things else None


_REMEMBERED: Final = 40
_WHIMS: Final = (0.03, 3.0, 0.9)
"""How often agents and people leave the shortest way to a good end, at most: without faults, more per fault, ever."""


class RandomWorld:
    """Agents, checks, effects, people and clocks, behind a channel that delays, duplicates and reorders events.

    An odd world also makes values that Treadle would refuse before a run sees them: keys that are no ids, references to
    missing items.
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
        """Return the next event; None if nothing is left to do."""
        self._responder.mood = mood
        event = self._faulty(state, ledger) if mood == "wild" and self._random.random() < self._faults else None
        event = event or self._regular(state, ledger)
        if event is not None:
            self._past = [*self._past[1 - _REMEMBERED :], event]
        return event

    def lose(self) -> None:
        """Simulate a killed process: drop the events in transit; recovery issues their jobs again."""
        self._on_the_way.clear()

    def _faulty(self, state: State, ledger: Ledger) -> Event | None:
        """Return a fault of the world or of the channel: a duplicate event, or one that overtakes another."""
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
        inst, name, step = chosen
        return Signalled(**self._responder.stamp(), inst=inst, name=name, step=step)

    def _orders(self, state: State) -> list[tuple[str, str, str]]:
        """Return the orders that the run needs from people to go on: start held steps, resume paused instances."""
        orders = [(ROOT, "resume", "")] if OUTAGE in state.timers else []
        for inst in state.insts.values():
            if inst.paused and inst.live:
                orders.append((inst.id, "resume", ""))
            elif inst.live and (step := awaits_go(self._protocol, state, inst)):
                orders.append((inst.id, "go", step))
        return sorted(orders)
