"""A session that Treadle plays itself, in this process: no program, so nothing of it outlives this process."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from treadle.agents.answer import answered, put_file
from treadle.agents.tail import open_regular
from treadle.errors import writing
from treadle.ports import Ended, Session, Work

Play = Callable[[], Awaitable[Ended]]


class Played:
    """A `Session` whose part is played by a coroutine."""

    def __init__(self, work: Work, play: Play) -> None:
        self._task = asyncio.ensure_future(_recorded(work, play))

    async def wait(self) -> Ended:
        """Until the part is played to its end; giving up waiting does not end it."""
        await asyncio.wait([self._task])
        if self._task.cancelled():
            return Ended(how="lost", detail="it was ended on request")
        return self._task.result()

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        """A play cannot be changed while it runs."""
        return False

    async def cancel(self) -> None:
        """Stop playing."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([self._task])


async def start_playing(work: Work, play: Play) -> Session:
    """Play a part, unless it has been played already: then its end is handed out again."""
    earlier = record_of(work)
    return Played(work, play if earlier is None else _again(earlier))


def record_of(work: Work) -> Ended | None:
    """How the part ended when it was played."""
    file = open_regular(work.home / _name(work))
    if file is None:
        return Ended(how="done") if answered(work) else None
    with os.fdopen(file, "rb") as opened:
        try:
            return msgspec.json.decode(opened.read(), type=Ended)
        except msgspec.DecodeError:
            return None


async def _recorded(work: Work, play: Play) -> Ended:
    with writing(work.out):
        work.out.mkdir(parents=True, exist_ok=True)
    ended = await play()
    put_file(work.home, _name(work), msgspec.json.encode(ended))
    return ended


def _again(earlier: Ended) -> Play:
    async def play() -> Ended:
        return earlier

    return play


def _name(work: Work) -> str:
    return f"played-{work.retry}.json"
