"""The loop of the program: an event, the reducer, the store, the commands. `run_loop` is all of it.

The rest is the work that it starts: one task for each open command, and the timers.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from treadle.kernel.commands import (
    ActivityCommand,
    AskHuman,
    Cancel,
    CancelTimer,
    Command,
    Done,
    Notify,
    Nudge,
    RunAgent,
    RunChecks,
    RunEffect,
    SetTimer,
)
from treadle.kernel.events import TimerFired
from treadle.kernel.reduce import outstanding
from treadle.kernel.state import State
from treadle.ports import Clock, Performer
from treadle.runtime.desk import Desk, Inbox
from treadle.store.batch import outbox_key

Rests = Callable[[State], bool]


async def run_loop(desk: Desk, inbox: Inbox, tasks: "Tasks", rests: Rests) -> State:
    """Drive a run until it ends, or until it rests and nothing has arrived meanwhile."""
    async with tasks:
        for command in outstanding(desk.state):  # recovery: issue open commands again
            tasks.start(command, desk.state)
        while not desk.state.outcome and (inbox or not rests(desk.state)):
            for command, state in await desk.process(await inbox.take()):  # one transaction, before any effect
                tasks.start(command, state)  # I/O; an activity ends as an event in the inbox
        return desk.state


IDLE_TIMERS: Final = ("!remind", "!wall")
"""Timers that decide nothing: a reminder, and the run's wall time, which only ends a run while something runs."""


def has_ended(state: State) -> bool:
    """Whether the run has ended: the rest condition of a host that never stops earlier."""
    return bool(state.outcome)


def awaits_only_people(state: State) -> bool:
    """Whether nothing runs and no timer will decide anything, so only a person can move the run."""
    deciding = [id_ for id_ in state.timers if not id_.endswith(IDLE_TIMERS)]
    return bool(state.seq) and not state.acts and not deciding


# Timers of a run. A wall clock that jumps ahead may expire one early; set back, it never extends one.

_LONGEST_SLEEP: Final = 1.0
"""Seconds within which a suspended machine or a changed clock is noticed."""

Find = Callable[[str], Awaitable[str]]
"""Returns details about a due timer as a reference to a payload; empty if there are none."""


class _Due(NamedTuple):
    wall: int
    elapsed: float


class Timers:
    """Puts a `TimerFired` into the inbox when a timer is due."""

    def __init__(self, clock: Clock, inbox: Inbox, find: Find | None = None) -> None:
        self._clock, self._inbox, self._find = clock, inbox, find
        self._due: dict[str, _Due] = {}
        self._next = math.inf  # the time at which `run` wakes by itself
        self._changed = asyncio.Event()

    def set(self, id_: str, due: int) -> None:
        """Set or reset a timer."""
        left = (due - self._clock.now()) / 1000
        self._due[id_] = _Due(due, self._clock.elapsed() + left)
        if self._due[id_].elapsed < self._next:
            self._changed.set()

    def cancel(self, id_: str) -> None:
        """Forget a timer."""
        self._due.pop(id_, None)

    async def run(self) -> None:
        """Fire due timers, for ever."""
        while True:
            now, elapsed = self._clock.now(), self._clock.elapsed()
            for id_, due in sorted(self._due.items(), key=lambda item: item[1].wall):
                if due.wall <= now or due.elapsed <= elapsed:
                    del self._due[id_]
                    detail = await self._find(id_) if self._find else ""
                    # The due time is part of the id: a timer that is set again fires again, and the store drops only
                    # a repetition of the same event.
                    event = TimerFired(id=f"{id_}@{due.wall}", ts=max(now, due.wall), timer=id_, detail_ref=detail)
                    self._inbox.put(event)
            # Sleep until the next timer may be due, or an earlier one is set.
            first = min((due.elapsed for due in self._due.values()), default=None)
            self._next = math.inf if first is None else min(first, elapsed + _LONGEST_SLEEP)
            if first is None:
                await self._changed.wait()
            else:
                changed = asyncio.ensure_future(self._changed.wait())
                nap = asyncio.ensure_future(self._clock.sleep(max(0.0, min(first - elapsed, _LONGEST_SLEEP))))
                try:
                    await asyncio.wait({changed, nap}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                    nap.cancel()
            self._changed.clear()


class Tasks:
    """Starts and cancels commands; a job waits until the cancelled jobs of its instance have really ended."""

    def __init__(
        self, desk: Desk, performer: Performer, inbox: Inbox, timers: Timers, repeated: Iterable[Command] = ()
    ) -> None:
        self._desk, self._performer, self._inbox, self._timers = desk, performer, inbox, timers
        self._jobs: dict[str, asyncio.Task[None]] = {}
        self._ending: dict[str, set[asyncio.Task[None]]] = {}
        self._others: set[asyncio.Task[None]] = set()
        self._clockwork: asyncio.Task[None] | None = None
        self._repeated = tuple(repeated)

    async def __aenter__(self) -> Self:
        self._clockwork = asyncio.create_task(self._timers.run())
        for command in self._repeated:
            self.start(command, State())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._wait(self._others)
        await self._wait(self._ended())  # jobs that the kernel has cancelled must really end; the others stay open
        self._performer.stop_driving(orderly=kind is None)
        for task in self._everything():
            task.cancel()
        await self._wait(self._everything())

    def start(self, command: Command, state: State) -> None:
        """Start a command without waiting for it."""
        match command:
            case SetTimer(id=id_, due=due):
                self._timers.set(id_, due)
            case CancelTimer(id=id_):
                self._timers.cancel(id_)
            case RunAgent() | RunEffect() | RunChecks():
                self._start_job(command, state)
            case Cancel(id=id_):
                if task := self._jobs.pop(id_, None):
                    self._ending.setdefault(task.get_name(), set()).add(task)
                    task.cancel()
                # The mark is stored with the next event; after a crash before that, the driver cancels again.
                self._desk.performed(outbox_key(command))
            case Nudge(id=id_, count=count):
                self._spawn(self._performer.nudge(id_, count))
            case AskHuman():
                self._spawn(self._performer.ask(command, state))
            case Notify():
                self._spawn(self._performer.notify(command))
            case Done():
                pass

    def _start_job(self, job: ActivityCommand, state: State) -> None:
        # A cancelled agent may still write to the lane; the next job of its instance starts when it really has ended.
        # `old` is usually no cancelled job: `RunChecks` has the id of its `RunAgent`, whose task has just put the claim
        # into the inbox and is about to end.
        before = [*self._ending.get(job.inst, ()), *([old] if (old := self._jobs.get(job.id)) else [])]

        async def run() -> None:
            if before:
                await self._wait(before)
            self._inbox.put(await self._performer.job(job, state))

        def forget(done: "asyncio.Task[None]") -> None:
            if self._jobs.get(job.id) is done:
                del self._jobs[job.id]
            if ending := self._ending.get(job.inst):
                ending.discard(done)
                if not ending:
                    del self._ending[job.inst]
            if not done.cancelled() and (error := done.exception()) is not None:
                self._inbox.fail(error)

        task = self._jobs[job.id] = asyncio.create_task(run(), name=job.inst)
        task.add_done_callback(forget)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._others.add(task)  # asyncio itself keeps only weak references to tasks
        task.add_done_callback(self._others.discard)

    def _everything(self) -> list["asyncio.Task[None]"]:
        clockwork = [self._clockwork] if self._clockwork else []
        return [*self._jobs.values(), *self._ended(), *self._others, *clockwork]

    def _ended(self) -> list["asyncio.Task[None]"]:
        return [task for tasks in self._ending.values() for task in tasks]

    @staticmethod
    async def _wait(tasks: Iterable["asyncio.Task[None]"]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
