"""A run while this process drives it: its inbox of events, and its state in memory.

The state always equals the stored one, or the one about to be stored.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from treadle.errors import IllegalEvent, PortError
from treadle.kernel.commands import Command
from treadle.kernel.events import Event, Upgraded
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.ports import Clock
from treadle.protocol.model import Protocol
from treadle.store.batch import LogBatch, LogEntry, make_entry
from treadle.store.records import Lease, Stray
from treadle.store.sqlite import Store

# Pending events: from tasks and timers, and rows that other processes have posted.


class Arrival(NamedTuple):
    """An event, and the row of the store's inbox that it came from (0: none)."""

    event: Event
    row: int = 0


class Inbox:
    """An unbounded queue of events, first in, first out."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []
        self._something = asyncio.Event()
        self._error: BaseException | None = None

    def put(self, event: Event, row: int = 0) -> None:
        """Add an event."""
        self._arrivals.append(Arrival(event, row))
        self._something.set()

    def wake(self) -> None:
        """Wake the loop without an event, because the run's rest condition may have changed."""
        self._something.set()

    def fail(self, error: BaseException) -> None:
        """Raise this error in the next `take`: something broke that no event can express."""
        self._error = error
        self._something.set()

    async def take(self) -> list[Arrival]:
        """Wait for events and return all of them."""
        await self._something.wait()
        if self._error is not None:
            raise self._error
        self._something.clear()
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def __bool__(self) -> bool:
        return bool(self._arrivals)


SNAPSHOT_AFTER = 200
"""The number of events between snapshots: the most that must be replayed after a crash."""


class Desk:
    """Reduces events and stores them before any command is performed."""

    def __init__(
        self, store: Store, lease: Lease, clock: Clock, changed: "Callable[[Desk], None] | None" = None
    ) -> None:
        history = store.load(lease.run)
        self.protocol: Protocol = history.protocol
        self.state: State = history.state
        self._store, self._lease, self._clock = store, lease, clock
        self._chain, self._since = history.chain, history.since_snapshot
        self._changed = changed
        self._performed: list[str] = []
        self._strays: list[Stray] = []

    @property
    def run(self) -> str:
        return self._lease.run

    def performed(self, key: str) -> None:
        """Mark a command as performed; stored with the next event, because repeating it is harmless."""
        self._performed.append(key)

    def stray(self, act: str, what: str, detail: str) -> None:
        """Record something that was ignored; stored with the next event."""
        self._strays.append(Stray(at=self._clock.now(), act=act, what=what, detail=detail))

    async def process(self, arrivals: list[Arrival]) -> list[tuple[Command, State]]:
        """Reduce events and store them in one transaction; return the commands, each with its issuing state."""
        entries: list[LogEntry] = []
        orders: list[tuple[Command, State]] = []
        upgraded = False
        for event, _ in arrivals:
            commands = self._reduce(event)
            if commands is not None:
                entries.append(make_entry(self._chain, self.state, event, commands))
                self._chain = entries[-1].chain
                orders += [(command, self.state) for command in commands]
                upgraded = upgraded or isinstance(event, Upgraded)
        self._since += len(entries)
        rows = [row for _, row in arrivals if row]
        if entries or rows or self._strays:
            await self._append(entries, rows, upgraded or self._since >= SNAPSHOT_AFTER)
        if self._changed:
            self._changed(self)
        return orders

    async def store_strays(self) -> None:
        """Store the strays since the last event; if the store cannot be written, only they are lost."""
        if self._strays:
            with suppress(PortError):
                await self._append([], [], snapshot=False)

    async def _append(self, entries: list[LogEntry], rows: list[int], snapshot: bool) -> None:
        performed, self._performed = self._performed, []
        strays, self._strays = self._strays, []
        batch = LogBatch(
            entries=entries, state=self.state, taken=rows, performed=performed, strays=strays, snapshot=snapshot
        )
        await self._store.append(self._lease, batch, self._clock.now())
        if snapshot:
            self._since = 0

    def _reduce(self, event: Event) -> tuple[Command, ...] | None:
        """Return the commands of an event; None if it changes nothing, which is recorded as a stray."""
        if event.ts < self.state.now:  # the machine's clock was set back
            event = msgspec.structs.replace(event, ts=self.state.now)
        protocol = self._store.protocol(event.protocol) if isinstance(event, Upgraded) else self.protocol
        try:
            state, commands = reduce(protocol, self.state, event)
        except IllegalEvent as error:
            self.stray("", type(event).__name__, str(error))
            return None
        if state is self.state:
            self.stray(getattr(event, "act", ""), type(event).__name__, "came too late, or twice; it changes nothing")
            return None
        self.state, self.protocol = state, protocol if state.protocol != self.state.protocol else self.protocol
        return commands
