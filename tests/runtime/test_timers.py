"""Timers fire once, in order, late rather than never; a clock that is set back does not put them off."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from tests.fakes import StillClock
from treadle.kernel.events import TimerFired
from treadle.runtime.desk import Inbox
from treadle.runtime.loop import Timers

Play = Callable[[StillClock, Timers], Awaitable[None]]


def fired(play: Play) -> list[tuple[str, int]]:
    """Which timers fire, and when, while this is played."""

    async def run() -> list[tuple[str, int]]:
        clock, inbox = StillClock(0), Inbox()
        timers = Timers(clock, inbox)
        running = asyncio.create_task(timers.run())
        await play(clock, timers)
        running.cancel()
        arrivals = await inbox.take() if inbox else []
        return [(event.timer, event.ts) for event in (cast(TimerFired, one.event) for one in arrivals)]

    return asyncio.run(run())


def test_a_timer_fires_when_it_is_due_and_not_before() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", 5000)
        timers.set("b", 3000)
        timers.set("late", 9000)
        await clock.advance(6)

    assert fired(play) == [("b", 3000), ("a", 5000)]


def test_a_timer_that_was_due_without_a_driver_fires_at_once() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", -60_000)
        await clock.advance(0)

    assert fired(play) == [("a", 0)]


def test_a_cancelled_timer_is_silent() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", 1000)
        timers.cancel("a")
        await clock.advance(5)

    assert fired(play) == []


def test_a_timer_set_anew_fires_at_its_new_time() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", 1000)
        timers.set("a", 4000)
        await clock.advance(5)

    assert [name for name, _ in fired(play)] == ["a"]


def test_a_clock_that_jumps_ahead_expires_a_deadline() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", 3_600_000)
        await clock.advance(0)
        clock.set_wall(4_000_000)
        await clock.advance(2)

    assert [name for name, _ in fired(play)] == ["a"]


def test_a_clock_that_is_set_back_delays_no_timer() -> None:
    async def play(clock: StillClock, timers: Timers) -> None:
        timers.set("a", 10_000)
        await clock.advance(1)
        clock.set_wall(-3_600_000)
        await clock.advance(10)

    assert [name for name, _ in fired(play)] == ["a"]
