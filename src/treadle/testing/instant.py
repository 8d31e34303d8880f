"""Agents that take no time: each activity is one call of a function in this process."""

from collections.abc import Callable

from treadle.agents.answer import put_answer
from treadle.agents.played import record_of, start_playing
from treadle.ports import Abilities, Ended, Session, Watch, Work
from treadle.protocol.items import Json


class Instant:
    """A runner whose agents work in their lane and answer at once; what was played once is not played again."""

    abilities = Abilities()

    def __init__(self, turn: Callable[[Work], dict[str, Json]], done: Callable[[Work], None] = lambda _: None) -> None:
        self._turn, self._done = turn, done

    async def start(self, work: Work, watch: Watch) -> Session:  # noqa: ARG002
        async def play() -> Ended:
            put_answer(work, self._turn(work))
            self._done(work)
            return Ended(how="done", code=0)

        return await start_playing(work, play)

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        return None

    async def harvest(self, work: Work) -> Ended | None:
        return record_of(work)
