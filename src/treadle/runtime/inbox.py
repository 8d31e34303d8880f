"""What has happened and is not yet taken up: events of tasks and timers, and rows that other processes have posted."""

import asyncio
from typing import NamedTuple

from treadle.kernel.events import Event


class Arrival(NamedTuple):
    """An event, and the row of the store's inbox that it came from (0: none)."""

    event: Event
    row: int = 0


class Inbox:
    """First in, first out; never full."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []
        self._something = asyncio.Event()
        self._error: BaseException | None = None

    def put(self, event: Event, row: int = 0) -> None:
        """Add an event."""
        self._arrivals.append(Arrival(event, row))
        self._something.set()

    def wake(self) -> None:
        """Whoever waits for something is to look again: what the run rests on may have changed without an event."""
        self._something.set()

    def fail(self, error: BaseException) -> None:
        """Whoever takes from here next gets this error: something broke that cannot be told as an event."""
        self._error = error
        self._something.set()

    async def take(self) -> list[Arrival]:
        """Everything there is, once there is something."""
        await self._something.wait()
        if self._error is not None:
            raise self._error
        self._something.clear()
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def __bool__(self) -> bool:
        return bool(self._arrivals)
