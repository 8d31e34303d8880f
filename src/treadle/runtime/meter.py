"""What an agent at work has used, and whether that is more than it may."""

import asyncio

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.ports import Ended, Session
from treadle.runtime.budgets import Breach, Budgets


class Meter:
    """Counts one session of an agent, on top of the rounds before it."""

    def __init__(self, budgets: Budgets, job: RunAgent, before: Usage) -> None:
        self._budgets, self._job, self._before = budgets, job, before
        self._seen = Usage()
        self._spent = asyncio.Event()
        self.breach: Breach | None = None

    def count(self, usage: Usage) -> None:
        """What the session has used so far, in all."""
        self._seen = usage
        self.breach = self.breach or self._budgets.of_step(self._job, self._before.plus(usage))
        if self.breach:
            self._spent.set()

    async def stop(self, session: Session) -> None:
        """End the session as soon as its budget is spent; what it has done is kept."""
        await self._spent.wait()
        await session.cancel()

    def total(self, ended: Ended) -> Usage:
        """What all rounds have used; whoever was stopped in the middle may not have told it at the end."""
        return self._before.plus(self._seen if ended.usage == Usage() else ended.usage)
