"""A clock that stands still until it is told otherwise."""

import asyncio


class StillClock:
    """Wall time and elapsed time move only by `advance`; the wall clock alone by `set_wall`."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self._now, self._elapsed = now, 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> int:
        return self._now

    def elapsed(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Until the clock has been advanced that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._elapsed + seconds, woken))
        await woken

    def naps(self) -> list[float]:
        """How many seconds more those sleep who do."""
        return [at - self._elapsed for at, woken in self._sleepers if not woken.done()]

    def set_wall(self, now: int) -> None:
        """Somebody sets the clock."""
        self._now = now

    async def advance(self, seconds: float) -> None:
        """Let time pass, and let those whom it wakes act."""
        end = self._elapsed + seconds
        await _idle()
        while due := sorted((at, number) for number, (at, _) in enumerate(self._sleepers) if at <= end):
            at, number = due[0]
            self._move(at)
            woken = self._sleepers.pop(number)[1]
            if not woken.done():
                woken.set_result(None)
            await _idle()
        self._move(end)
        await _idle()

    def _move(self, elapsed: float) -> None:
        self._now += round((elapsed - self._elapsed) * 1000)
        self._elapsed = elapsed


async def _idle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)
