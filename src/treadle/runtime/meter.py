"""What an agent at work has used, and whether that is more than it may."""

import asyncio
from typing import Final

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.ports import Ended, Session
from treadle.runtime.budgets import Breach, Budgets

Prices = tuple[float, ...]
"""US dollars for a million tokens that go in, come out, and (if there is a third) come from the cache; or nothing."""
_MILLION: Final = 1_000_000


def priced(usage: Usage, prices: Prices) -> Usage:
    """What was used, with the user's own prices for the tokens that nobody has told a price of."""
    total = usage.tokens_in + usage.tokens_out
    if not prices or not usage.unpriced or not total:
        return usage
    cached = prices[2] if prices[2:] else prices[0]
    parts = (usage.tokens_in - usage.cached, prices[0]), (usage.cached, cached), (usage.tokens_out, prices[1])
    cost = sum(tokens * price for tokens, price in parts) / _MILLION
    return msgspec.structs.replace(usage, cost=usage.cost + cost * min(usage.unpriced / total, 1.0), unpriced=0)


class Meter:
    """Counts one session of an agent, on top of the rounds before it."""

    def __init__(self, budgets: Budgets, job: RunAgent, before: Usage, prices: Prices = ()) -> None:
        self._budgets, self._job, self._before, self._prices = budgets, job, before, prices
        self._seen = Usage()
        self._spent = asyncio.Event()
        self.breach: Breach | None = None

    def count(self, usage: Usage) -> None:
        """What the session has used so far, in all."""
        self._seen = priced(usage, self._prices)
        self.breach = self.breach or self._budgets.of_step(self._job, self._before.plus(self._seen))
        if self.breach:
            self._spent.set()

    async def stop(self, session: Session) -> None:
        """End the session as soon as its budget is spent; what it has done is kept."""
        await self._spent.wait()
        await session.cancel()

    def total(self, ended: Ended) -> Usage:
        """What all rounds have used; whoever was stopped in the middle may not have told it at the end."""
        return self._before.plus(self._seen if ended.usage == Usage() else priced(ended.usage, self._prices))
