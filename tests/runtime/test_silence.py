"""Silence counts from the last sign of life."""

import asyncio

from treadle.ports import Progress
from treadle.runtime.silence import Silence
from treadle.testing.clock import StillClock


def test_every_stretch_of_silence_is_counted_until_the_end() -> None:
    async def run() -> list[tuple[int, float]]:
        clock = StillClock()
        heard: list[tuple[int, float]] = []
        silence = Silence(clock)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def listen() -> None:
            heard.extend([(count, clock.elapsed()) async for count in silence.beyond(60, ended)])

        listening = asyncio.create_task(listen())
        await clock.advance(50)
        silence.broken(Progress("still here"))
        await clock.advance(59)
        await clock.advance(61)
        ended.set_result(None)
        await listening
        return heard

    assert asyncio.run(run()) == [(1, 110.0), (2, 170.0)]


def test_without_a_limit_silence_is_golden() -> None:
    async def run() -> list[int]:
        clock = StillClock()
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.01, ended.set_result, None)
        return [count async for count in Silence(clock).beyond(0, ended)]

    assert asyncio.run(run()) == []
