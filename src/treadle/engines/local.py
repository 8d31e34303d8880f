"""Runs of one project, driven in this process: alone in the foreground, or many at once for `treadle serve`."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, Protocol

import msgspec

from treadle.engines.children import mind_children
from treadle.errors import PortError
from treadle.kernel.commands import Cancel, Command, Notify
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.runtime.agent import AgentJobs
from treadle.runtime.desk import Desk
from treadle.runtime.dispatch import Dispatch
from treadle.runtime.inbox import Inbox
from treadle.runtime.loop import Rests, drive
from treadle.runtime.perform import Perform
from treadle.runtime.tasks import Tasks
from treadle.runtime.timers import Timers
from treadle.runtime.world import World
from treadle.store.records import Lease, Run
from treadle.store.sqlite import Store

_GLANCE: Final = 0.05
"""Seconds between two looks into the store's inbox."""
_RENEWAL: Final = 20.0
"""Seconds between two renewals of a lease, for those who look at it from another machine."""
_DECODER: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command)


class Surroundings(Protocol):
    """Makes what a run needs of the world, from how it was started."""

    def world(self, run: Run) -> World: ...

    def dispatch(self, run: Run, desk: Desk, world: World) -> Dispatch: ...


Changed = Callable[[Desk], None]


class Host:
    """Drives runs; what other processes post for them is taken up at once."""

    def __init__(self, store: Store, surroundings: Surroundings) -> None:
        self._store, self._surroundings = store, surroundings
        self._inboxes: dict[str, Inbox] = {}
        self._latest: dict[str, int] = {}
        self._glancing: asyncio.Task[None] | None = None
        self._not_returned: dict[str, Lease] = {}

    async def drive(self, run: str, rests: Rests, changed: Changed | None = None) -> State:
        """Drive one run until it ends or rests; a `PortError` if another process does."""
        mind_children()
        record = self._store.run(run)
        world = self._surroundings.world(record)
        async with self._leased(run, world) as lease, self._inbox(run) as inbox:
            desk = Desk(self._store, lease, world.clock, partial(_moved, world, changed))
            _show(world, desk)
            agents = AgentJobs(desk, inbox, self._surroundings.dispatch(record, desk, world), world)
            timers = Timers(world.clock, inbox, agents.overdue)
            if changed and desk.state.seq and not inbox:
                changed(desk)  # whoever looks sees how the run stands before it moves for the first time
            tasks = Tasks(Perform(desk, agents, world), inbox, timers, self._repeated(run))
            state = await drive(desk, inbox, tasks, rests)
            await desk.leave()
            return state

    @asynccontextmanager
    async def _leased(self, run: str, world: World) -> AsyncIterator[Lease]:
        if run in self._not_returned:
            await self._store.release(self._not_returned[run])
            del self._not_returned[run]
        lease = await self._store.claim(run, world.clock.now())
        renewing = asyncio.create_task(self._renew(lease, world))
        try:
            yield lease
        finally:
            renewing.cancel()
            await self._give_back(lease)

    async def _give_back(self, lease: Lease) -> None:
        """A store that takes nothing any more keeps the lease for now; it ends with this process in any case."""
        try:
            await self._store.release(lease)
        except PortError:
            self._not_returned[lease.run] = lease

    async def _renew(self, lease: Lease, world: World) -> None:
        while True:
            await asyncio.sleep(_RENEWAL)
            with suppress(PortError):  # a courtesy to other machines; whatever is wrong, the next event tells
                await self._store.renew(lease, world.clock.now())

    @asynccontextmanager
    async def _inbox(self, run: str) -> AsyncIterator[Inbox]:
        """An inbox that has what was posted so far, and gets what will be."""
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
        """Look for what other processes have posted, as long as any run is driven."""
        while True:
            await asyncio.sleep(_GLANCE)
            self._hand_out()

    def _hand_out(self, run: str = "") -> None:
        for posted in self._store.posted(run):
            inbox = self._inboxes.get(posted.run)
            if inbox is not None and posted.n > self._latest[posted.run]:
                self._latest[posted.run] = posted.n
                inbox.put(decode_event(posted.body), posted.n)

    def _repeated(self, run: str) -> list[Command]:
        """What was to be told or stopped, and may not have been; jobs, questions and timers follow from the state."""
        commands = [_DECODER.decode(body) for body in self._store.unfinished(run).values()]
        return [command for command in commands if isinstance(command, Notify | Cancel)]


def _moved(world: World, changed: Changed | None, desk: Desk) -> None:
    _show(world, desk)
    if changed:
        changed(desk)


def _show(world: World, desk: Desk) -> None:
    for told in world.show(desk.protocol, desk.state):
        desk.stray("", "file", told)
