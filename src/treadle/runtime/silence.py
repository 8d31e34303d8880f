"""How long an agent has been silent. Measured from its last sign of life, not from the start."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from treadle.ports import Clock, Progress


class Silence:
    """Broken by every sign of life."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.elapsed()
        self.latest = Progress()

    def broken(self, progress: Progress) -> None:
        """The agent has shown that it lives."""
        self._last, self.latest = self._clock.elapsed(), progress

    async def beyond(self, seconds: float, ended: "asyncio.Future[Any]") -> AsyncIterator[int]:
        """1, 2, 3 …: each time the silence has lasted that long, until the session ends (never, if 0)."""
        count = 0
        while not ended.done():
            left = self._last + seconds - self._clock.elapsed() if seconds else None
            if left is not None and left <= 0:
                count += 1
                self._last = self._clock.elapsed()
                yield count
                continue
            nap = asyncio.ensure_future(self._clock.sleep(left)) if left is not None else None
            try:
                await asyncio.wait({ended, *([nap] if nap else [])}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if nap:
                    nap.cancel()
