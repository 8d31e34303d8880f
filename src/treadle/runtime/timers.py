"""Timers of a run. The wall clock may expire one early, when it jumps ahead; set back, it never extends one."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from treadle.kernel.events import TimerFired
from treadle.ports import Clock
from treadle.runtime.inbox import Inbox

_LONGEST_SLEEP: Final = 1.0
"""Seconds; a machine that wakes up, or whose clock was changed, is noticed within that."""

Find = Callable[[str], Awaitable[str]]
"""What is to be known about a timer that is due, as a reference to a payload; empty if nothing is."""


class _Due(NamedTuple):
    wall: int
    elapsed: float


class Timers:
    """Puts `TimerFired` into the inbox when one is due."""

    def __init__(self, clock: Clock, inbox: Inbox, find: Find | None = None) -> None:
        self._clock, self._inbox, self._find = clock, inbox, find
        self._due: dict[str, _Due] = {}
        self._next = math.inf  # when the clockwork looks again by itself
        self._changed = asyncio.Event()

    def set(self, id_: str, due: int) -> None:
        """Set a timer, or set it anew."""
        left = (due - self._clock.now()) / 1000
        self._due[id_] = _Due(due, self._clock.elapsed() + left)
        if self._due[id_].elapsed < self._next:
            self._changed.set()

    def cancel(self, id_: str) -> None:
        """Forget a timer."""
        self._due.pop(id_, None)

    async def run(self) -> None:
        """Fire what is due, for ever."""
        while True:
            now, elapsed = self._clock.now(), self._clock.elapsed()
            for id_, due in sorted(self._due.items(), key=lambda item: item[1].wall):
                if due.wall <= now or due.elapsed <= elapsed:
                    del self._due[id_]
                    found = await self._find(id_) if self._find else ""
                    event = TimerFired(id=f"{id_}@{due.wall}", ts=max(now, due.wall), timer=id_, detail_ref=found)
                    self._inbox.put(event)
            await self._rest(elapsed)

    async def _rest(self, elapsed: float) -> None:
        """Until the next one may be due, or another is set."""
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
