"""A run on somebody's desk: its state in memory, always the one that the store has or is about to have."""

from collections.abc import Callable
from contextlib import suppress

import msgspec

from treadle.errors import IllegalEvent, PortError
from treadle.kernel.commands import Command
from treadle.kernel.events import Event, Upgraded
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.ports import Clock
from treadle.protocol.model import Protocol
from treadle.runtime.inbox import Arrival
from treadle.store.batch import Batch
from treadle.store.entry import Entry, entry
from treadle.store.records import Lease, Stray
from treadle.store.sqlite import Store

SNAPSHOT_AFTER = 200
"""Events; what has to be folded again after a crash, at most."""


class Desk:
    """Takes events, and writes them down before anybody acts on them."""

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

    def performed(self, address: str) -> None:
        """A command needs no repetition; written down with the next event, for it is harmless to repeat it."""
        self._performed.append(address)

    def stray(self, act: str, what: str, detail: str) -> None:
        """Something was not obeyed; written down with the next event."""
        self._strays.append(Stray(at=self._clock.now(), act=act, what=what, detail=detail))

    async def take(self, arrivals: list[Arrival]) -> list[tuple[Command, State]]:
        """Reduce events and make the turn durable; what is to be done now, each with the state that asked for it."""
        entries: list[Entry] = []
        orders: list[tuple[Command, State]] = []
        upgraded = False
        for event, _ in arrivals:
            commands = self._reduce(event)
            if commands is not None:
                entries.append(entry(self._chain, self.state, event, commands))
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

    async def leave(self) -> None:
        """Write down what was noted since the last event; a store that takes nothing any more has lost only that."""
        if self._strays:
            with suppress(PortError):
                await self._append([], [], snapshot=False)

    async def _append(self, entries: list[Entry], rows: list[int], snapshot: bool) -> None:
        performed, self._performed = self._performed, []
        strays, self._strays = self._strays, []
        batch = Batch(
            entries=entries, state=self.state, taken=rows, performed=performed, strays=strays, snapshot=snapshot
        )
        await self._store.append(self._lease, batch, self._clock.now())
        if snapshot:
            self._since = 0

    def _reduce(self, event: Event) -> tuple[Command, ...] | None:
        """The commands of an event; None if it changes nothing, which is noted."""
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
