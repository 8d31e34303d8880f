"""The machine's clocks."""

import asyncio
import time


class SystemClock:
    """Wall time for what is written down, and a clock that counts sleep for what is waited for."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def elapsed(self) -> float:
        """Seconds since the machine was started, those it slept through included."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    async def sleep(self, seconds: float) -> None:
        """Wait, a little longer if the machine sleeps meanwhile."""
        await asyncio.sleep(seconds)
