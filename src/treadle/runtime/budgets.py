"""What agents may use before a person is asked: one activity, and all of a project in a day."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.state import State

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """An amount of money and of tokens; 0: without limit."""

    cost: float = 0.0
    tokens: int = 0

    def exceeded(self, usage: Usage, times: int = 1) -> str:
        """What of it is used up, in words; empty if nothing is. Tokens without a price count as tokens only."""
        used = usage.tokens_in + usage.tokens_out
        unknown = f" ({usage.unpriced:,} tokens have no known price)" if usage.unpriced else ""
        if self.cost and usage.cost >= self.cost * times:
            return f"{usage.cost:.2f} of {self.cost * times:.2f} US dollars{unknown}"
        if self.tokens and used >= self.tokens * times:
            return f"{used:,} of {self.tokens * times:,} tokens"
        return ""

    def __bool__(self) -> bool:
        return bool(self.cost or self.tokens)


class Breach(msgspec.Struct, frozen=True):
    """A budget that is used up: what a person grants by going on, and what to tell about it."""

    grant: str
    words: str


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The budgets of a project that are no run's own."""

    step: Allowance = Allowance()
    turns: int = 0
    """How many turns a model may take in one activity; 0: without limit."""
    day: Allowance = Allowance()
    spent: Callable[[int], Usage] = lambda _since: Usage()
    """What all runs have used since a moment, in milliseconds since the epoch."""

    def of_step(self, job: RunAgent, usage: Usage) -> Breach | None:
        """Whether an agent has used what one may; each time that it is let go on, it gets as much again."""
        used = self.step.exceeded(usage)
        return Breach(f"step:{job.id}", f"{job.id} has used {used} that one agent may use") if used else None

    def of_day(self, state: State, now: int) -> Breach | None:
        """Whether all runs together have used what they may today."""
        if not self.day:
            return None
        today = _EPOCH + timedelta(milliseconds=now)
        midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
        grant = f"day:{today:%Y-%m-%d}"
        used = self.day.exceeded(self.spent(int(midnight.timestamp() * 1000)), 1 + state.grants.get(grant, 0))
        words = f"all runs together have used {used} that they may use on {today:%Y-%m-%d}"
        return Breach(grant, words) if used else None


NO_BUDGETS: Final = Budgets()
