"""Everything a run has going on at the moment: one task for each open command, and the timers."""

import asyncio
from collections.abc import Coroutine, Iterable
from types import TracebackType
from typing import Any, Protocol, Self

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
from treadle.kernel.events import Event
from treadle.kernel.state import State
from treadle.runtime.inbox import Inbox
from treadle.runtime.timers import Timers
from treadle.store.entry import address


class Performer(Protocol):
    """Does what a command asks for. It never raises: what goes wrong is an event as well."""

    async def job(self, job: ActivityCommand, state: State) -> Event:
        """Run an activity to its end. Cancelled, it stops it, and keeps what an agent wrote."""
        ...

    async def nudge(self, act: str, count: int) -> None:
        """Remind a silent agent."""
        ...

    async def ask(self, question: AskHuman, state: State) -> None:
        """Make a question known; its answer arrives in the inbox."""
        ...

    async def notify(self, message: Notify) -> None:
        """Tell people something."""
        ...

    def performed(self, address: str) -> None:
        """A command of the outbox needs no repetition."""
        ...

    def leave(self, *, orderly: bool) -> None:
        """What is cancelled from now on is not ended for good: this process merely stops driving the run."""
        ...


class Tasks:
    """Starts commands and stops them; a job waits until what it replaces in its instance has really ended."""

    def __init__(self, performer: Performer, inbox: Inbox, timers: Timers, repeated: Iterable[Command] = ()) -> None:
        self._performer, self._inbox, self._timers = performer, inbox, timers
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
        await self._wait(self._ended())  # what the kernel has cancelled is ended for good, before anything is left
        self._performer.leave(orderly=kind is None)
        for task in self._everything():
            task.cancel()
        await self._wait(self._everything())

    def start(self, command: Command, state: State) -> None:
        """Do what is asked for, without waiting for it."""
        match command:
            case SetTimer(id=id_, due=due):
                self._timers.set(id_, due)
            case CancelTimer(id=id_):
                self._timers.cancel(id_)
            case RunAgent() | RunEffect() | RunChecks():
                self._start_job(command, state)
            case Cancel(id=id_):
                self._cancel(id_)
                self._performer.performed(address(command))
            case Nudge(id=id_, count=count):
                self._spawn(self._performer.nudge(id_, count))
            case AskHuman():
                self._spawn(self._performer.ask(command, state))
            case Notify():
                self._spawn(self._tell(command))
            case Done():
                pass

    def _start_job(self, job: ActivityCommand, state: State) -> None:
        before = [*self._ending.get(job.inst, ()), *([old] if (old := self._jobs.get(job.id)) else [])]
        task = asyncio.create_task(self._run(job, state, before), name=job.inst)
        self._jobs[job.id] = task
        task.add_done_callback(lambda done: self._forget(job.id, job.inst, done))

    async def _run(self, job: ActivityCommand, state: State, before: list["asyncio.Task[None]"]) -> None:
        if before:
            await self._wait(before)
        self._inbox.put(await self._performer.job(job, state))

    def _cancel(self, id_: str) -> None:
        task = self._jobs.pop(id_, None)
        if task is not None:
            self._ending.setdefault(task.get_name(), set()).add(task)
            task.cancel()

    def _forget(self, id_: str, inst: str, task: "asyncio.Task[None]") -> None:
        if self._jobs.get(id_) is task:
            del self._jobs[id_]
        if ending := self._ending.get(inst):
            ending.discard(task)
            if not ending:
                del self._ending[inst]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._inbox.fail(error)

    async def _tell(self, message: Notify) -> None:
        await self._performer.notify(message)
        self._performer.performed(address(message))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    def _everything(self) -> list["asyncio.Task[None]"]:
        clockwork = [self._clockwork] if self._clockwork else []
        return [*self._jobs.values(), *self._ended(), *self._others, *clockwork]

    def _ended(self) -> list["asyncio.Task[None]"]:
        return [task for tasks in self._ending.values() for task in tasks]

    @staticmethod
    async def _wait(tasks: Iterable["asyncio.Task[None]"]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
