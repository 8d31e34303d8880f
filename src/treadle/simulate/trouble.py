"""What goes wrong: wrong exits, failed checks, lost workers, time-outs, people who interfere."""

from collections.abc import Callable
from random import Random
from typing import Final, Literal, TypeVar, get_args

from treadle.kernel.commands import AskHuman, RunAgent, RunChecks, RunEffect
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Failed,
    Idle,
    Outages,
    Replied,
    SessionStarted,
    Signalled,
    TimerFired,
    Unavailable,
)
from treadle.kernel.groups import keys_of
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.simulate.ledger import Ledger, Open
from treadle.simulate.respond import Responder

Thing = TypeVar("Thing")
_REASONS: Final[tuple[Literal["crash", "invalid", "blocked", "store"], ...]] = ("crash", "invalid", "blocked", "store")


class Trouble:
    """Makes faults for a given state; None where the fault it has drawn does not apply."""

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
                id_, ts = self._responder.stamp()
                return Replied(id=id_, ts=ts, ask=command.id, choice="whatever")
        return None

    def _foreign_exit(self, command: Open) -> Envelope:
        """An exit that the step does not have, or a variant that the exit does not have."""
        assert isinstance(command, RunAgent | RunEffect)
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
        id_, ts = self._responder.stamp()
        return Checked(id=id_, ts=ts, act=command.id, results=results, fingerprint=print_)

    def _timer(self, _state: State, ledger: Ledger) -> Event | None:
        timer = self._one_of(sorted(ledger.timers))
        if timer is None:
            return None
        id_, ts = self._responder.stamp()
        return TimerFired(id=id_, ts=ts, timer=timer)

    def _failure(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._job(ledger)
        if job is None:
            return None
        id_, ts = self._responder.stamp()
        return Failed(id=id_, ts=ts, act=job.id, why=self._random.choice(_REASONS), detail_ref="text:lost")

    def _outage(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._one_of([job for job in ledger.open.values() if isinstance(job, RunAgent)])
        if job is None:
            return None
        why = self._random.choice(get_args(Outages))
        wait, grant = self._random.choice((0, 0, 60, 7200)), self._random.choice(("", "step"))
        id_, ts = self._responder.stamp()
        return Unavailable(id=id_, ts=ts, act=job.id, why=why, wait=wait, grant=grant if why == "budget" else "")

    def _chatter(self, _state: State, ledger: Ledger) -> Event | None:
        job = self._job(ledger)
        if job is None:
            return None
        id_, ts = self._responder.stamp()
        if self._random.random() < 0.5:
            return Idle(id=id_, ts=ts, act=job.id, idle_s=60)
        return SessionStarted(id=id_, ts=ts, act=job.id, session=f"session {id_}")

    def _signal(self, state: State, _ledger: Ledger) -> Event | None:
        """A signal from outside to anybody, whether it handles it or not."""
        inst = state.insts[self._random.choice(sorted(state.insts))]
        known = sorted(self._protocol.graphs[inst.graph].handlers)
        name = self._random.choice(["StatusQuery", "Unheard", *known])
        id_, ts = self._responder.stamp()
        return Signalled(id=id_, ts=ts, inst=inst.id, name=name, data_ref="text:from outside")

    def _order(self, state: State, _ledger: Ledger) -> Event | None:
        """A person pauses, resumes, sends somewhere or aborts a part of the run; seldom all of it."""
        inst = state.insts[self._random.choice(sorted(state.insts))]
        graph = self._protocol.graphs[inst.graph]
        name = self._random.choice(("pause", "resume", "resume", "go", "go", "abort"))
        if name == "abort" and not inst.parent and self._random.random() < 0.9:
            return None
        step = self._random.choice([*sorted(graph.steps), *sorted(graph.commands)]) if name == "go" else ""
        named = keys_of(inst, step, graph.steps[step]) if step in graph.itemized else ()
        item = self._random.choice((*named, "", "nobody")) if named else ""
        id_, ts = self._responder.stamp()
        return Signalled(id=id_, ts=ts, inst=inst.id, name=name, step=step, item=item)

    def _job(self, ledger: Ledger) -> RunAgent | RunEffect | RunChecks | None:
        return self._one_of([job for job in ledger.open.values() if not isinstance(job, AskHuman)])

    def _one_of(self, things: list[Thing]) -> "Thing | None":
        return self._random.choice(things) if things else None
