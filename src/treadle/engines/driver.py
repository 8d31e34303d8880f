"""Drives runs in this process: takes the lease, opens the inbox, and runs the loop until the run ends or rests."""

import asyncio
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVarTuple

import msgspec

from treadle.engines.notifications import notify_of_parts
from treadle.errors import PortError
from treadle.kernel.commands import Cancel, Command, Notify
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Clock
from treadle.runtime.agent import AgentJobs
from treadle.runtime.desk import Desk, Inbox
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.loop import Rests, Tasks, Timers, has_ended, run_loop
from treadle.runtime.perform import RunPerformer
from treadle.runtime.world import RunWorld
from treadle.store.records import Lease, Run
from treadle.store.sqlite import Store

GLANCE: Final = 0.05
"""Seconds between two polls of the store's inbox."""
_RENEWAL: Final = 20.0
"""Seconds between two renewals of a lease, which other machines look at."""
_DECODER: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command)

Changed = Callable[[Desk], None]


class Surroundings(ABC):
    """Makes the worlds of runs, and does the work before and after the loop.

    `ProjectSurroundings` does so for the runs of a project.
    """

    @abstractmethod
    def world(self, run: Run) -> RunWorld:
        """Return the ports of a run, made from its settings."""

    @abstractmethod
    def dispatch(self, run: Run, desk: Desk, world: RunWorld) -> Dispatch:
        """Return the dispatcher of the run's agents."""

    def rest_rule(self, run: Run) -> Rests:  # noqa: ARG002
        """Return when to stop driving a run that has not ended."""
        return has_ended

    async def prepare(self, run: Run) -> None:  # noqa: B027 - there may be none
        """Do the work that must precede the loop; raise a `PortError` if the run cannot be driven here."""

    async def finish(self, run: Run, world: RunWorld, state: State) -> None:  # noqa: B027 - there may be none
        """Do the work that follows the end of a run."""


class Driver:
    """Drives runs, any number at a time, and hands them the events that other processes post for them."""

    def __init__(self, store: Store, surroundings: Surroundings) -> None:
        self._store, self._surroundings = store, surroundings
        self._inboxes: dict[str, Inbox] = {}
        self._latest: dict[str, int] = {}
        self._glancing: asyncio.Task[None] | None = None
        self._not_returned: dict[str, Lease] = {}

    async def drive(self, run: str, changed: Changed | None = None, rests: Rests | None = None) -> State:
        """Drive a run until it ends or rests: by `rests`, or by the rule of the surroundings.

        Raises a `PortError` if another process drives it.
        """
        record = self._store.run(run)
        if record.outcome:
            return self._store.load(run).state
        watch_children()
        await self._surroundings.prepare(record)
        record, before = self._store.run(run), self._store.load(run).state  # the settings may have a baseline now
        world, rests = self._surroundings.world(record), rests or self._surroundings.rest_rule(record)
        async with (
            notify_of_parts(run, before, world.notifier) as notify,
            self._leased(run, world.clock) as lease,
            self._inbox(run) as inbox,
        ):

            def update_files(desk: Desk) -> None:
                for conflict in world.files.update(desk.protocol, desk.state):
                    desk.stray("", "file", conflict)

            def after_change(desk: Desk) -> None:
                update_files(desk)
                notify(desk.protocol, desk.state)
                if changed:
                    changed(desk)

            desk = Desk(self._store, lease, world.clock, after_change)
            update_files(desk)
            agents = AgentJobs(desk, inbox, self._surroundings.dispatch(record, desk, world), world)
            timers = Timers(world.clock, inbox, agents.overdue)
            if changed and desk.state.seq and not inbox:
                changed(desk)  # the live view shows the run before its first change
            tasks = Tasks(desk, RunPerformer(desk, agents, world), inbox, timers, self._repeated(run))
            state = await run_loop(desk, inbox, tasks, rests)
            await desk.store_strays()
        if state.outcome:
            await self._surroundings.finish(record, world, state)
        return state

    @asynccontextmanager
    async def _leased(self, run: str, clock: Clock) -> AsyncIterator[Lease]:
        """Hold the lease of a run, and renew it."""
        if run in self._not_returned:
            await self._store.release(self._not_returned[run])
            del self._not_returned[run]
        lease = await self._store.take_lease(run, clock.now())

        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEWAL)
                with suppress(PortError):  # a courtesy to other machines; the next event reports any fault
                    await self._store.renew(lease, clock.now())

        renewing = asyncio.create_task(renew())
        try:
            yield lease
        finally:
            renewing.cancel()
            try:
                await self._store.release(lease)
            except PortError:  # a full disk: release it before the next drive; it ends with this process in any case
                self._not_returned[run] = lease

    @asynccontextmanager
    async def _inbox(self, run: str) -> AsyncIterator[Inbox]:
        """Open an inbox with the events posted so far, which also receives later ones."""
        self._inboxes[run], self._latest[run] = Inbox(), 0
        self._hand_out(run)
        if self._glancing is None:
            self._glancing = asyncio.create_task(self._glance())
        try:
            yield self._inboxes[run]
        finally:
            del self._inboxes[run]
            if not self._inboxes and self._glancing is not None:
                self._glancing.cancel()
                self._glancing = None

    async def _glance(self) -> None:
        """Poll for events posted by other processes, one poll for all runs that are driven."""
        while True:
            await asyncio.sleep(GLANCE)
            self._hand_out()

    def _hand_out(self, run: str = "") -> None:
        """Put new events of the store's inbox into the inboxes of their runs; the rows stay until they are stored."""
        for posted in self._store.posted(run):
            inbox = self._inboxes.get(posted.run)
            if inbox is not None and posted.n > self._latest[posted.run]:
                self._latest[posted.run] = posted.n
                inbox.put(decode_event(posted.body), posted.n)

    def _repeated(self, run: str) -> list[Command]:
        """Return the stored notifications and cancellations to repeat; `outstanding` gives all other open commands."""
        commands = [_DECODER.decode(body) for body in self._store.unfinished(run).values()]
        return [command for command in commands if isinstance(command, Notify | Cancel)]


# A child watcher that waits for programs by pidfd instead of one thread for each.
#
# Python 3.12 and later do so by themselves.

_Ts = TypeVarTuple("_Ts")


def watch_children() -> None:
    """Install the child watcher; without pidfds, asyncio's own stays."""
    if sys.version_info < (3, 12):
        try:
            os.close(os.pidfd_open(os.getpid()))
        except (AttributeError, OSError):
            return
        asyncio.set_child_watcher(_Watcher())


if sys.version_info < (3, 12):

    class _Watcher(asyncio.PidfdChildWatcher):
        """Serves any loop in any thread, because it keeps no state: each program belongs to the loop that started it.

        The watcher of Python 3.11 serves only the one loop that it is attached to.
        """

        def add_child_handler(self, pid: int, callback: Callable[[int, int, *_Ts], object], *args: *_Ts) -> None:
            loop, handle = asyncio.get_running_loop(), os.pidfd_open(pid)

            def over() -> None:
                loop.remove_reader(handle)
                os.close(handle)
                try:
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                except ChildProcessError:  # reaped before; 255, as everywhere in asyncio
                    code = 255
                callback(pid, code, *args)

            loop.add_reader(handle, over)

        def is_active(self) -> bool:
            return True
