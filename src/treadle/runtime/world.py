"""The world of a run: its ports, clocks and budgets, and the meter of an agent's usage."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

import msgspec

from treadle.config.bug_reports import NO_REPORTS, BugReports
from treadle.config.secrets import NO_REDACTION, Redaction
from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.events import Usage
from treadle.kernel.state import State
from treadle.ports import Checks, Clock, Effects, Ended, Notifier, Payloads, Progress, Runner, Session, Workspace
from treadle.protocol.model import Protocol as ProtocolModel

# Budgets of agents before a person is asked: for one activity, and for the whole project in a day.

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class BudgetAllowance(msgspec.Struct, frozen=True, kw_only=True):
    """An amount of money and of tokens; 0: without limit."""

    cost: float = 0.0
    tokens: int = 0

    def exceeded(self, usage: Usage, times: int = 1) -> str:
        """Describe the exhausted allowance; empty if there is none. Unpriced tokens count as tokens only."""
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
    """An exhausted budget: the grant that a person gives by continuing, and a sentence about it."""

    grant: str
    words: str


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The budgets of a project, in addition to those of each run."""

    step: BudgetAllowance = BudgetAllowance()
    turns: int = 0
    """The most turns of a model in one activity; 0: no limit."""
    day: BudgetAllowance = BudgetAllowance()
    spent: Callable[[int], Usage] = lambda _since: Usage()
    """Returns the usage of all runs since a moment, in milliseconds since the epoch."""

    def of_step(self, job: RunAgent, usage: Usage) -> Breach | None:
        """Return the breach if an agent has used up its budget; continuing grants the same amount again."""
        used = self.step.exceeded(usage)
        return Breach(f"step:{job.id}", f"{job.id} has used {used} that one agent may use") if used else None

    def of_day(self, state: State, now: int) -> Breach | None:
        """Return the breach if all runs together have used up today's budget."""
        if not self.day:
            return None
        today = _EPOCH + timedelta(milliseconds=now)
        midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
        grant = f"day:{today:%Y-%m-%d}"
        used = self.day.exceeded(self.spent(int(midnight.timestamp() * 1000)), 1 + state.grants.get(grant, 0))
        words = f"all runs together have used {used} that they may use on {today:%Y-%m-%d}"
        return Breach(grant, words) if used else None


NO_BUDGETS: Final = Budgets()


# Metering the usage of a working agent, and whether it exceeds the budget.

Prices = tuple[float, ...]
"""US dollars for a million input, output and (if there is a third) cached tokens; empty: unknown."""
_MILLION: Final = 1_000_000


def with_prices(usage: Usage, prices: Prices) -> Usage:
    """Price the unpriced tokens of a usage with the user's own prices."""
    total = usage.tokens_in + usage.tokens_out
    if not prices or not usage.unpriced or not total:
        return usage
    cached = prices[2] if prices[2:] else prices[0]
    parts = (usage.tokens_in - usage.cached, prices[0]), (usage.cached, cached), (usage.tokens_out, prices[1])
    cost = sum(tokens * price for tokens, price in parts) / _MILLION
    return msgspec.structs.replace(usage, cost=usage.cost + cost * min(usage.unpriced / total, 1.0), unpriced=0)


class Meter:
    """Counts the usage of one session of an agent, on top of the rounds before it."""

    def __init__(self, budgets: Budgets, job: RunAgent, before: Usage, prices: Prices = ()) -> None:
        self._budgets, self._job, self._before, self._prices = budgets, job, before, prices
        self._seen = Usage()
        self._spent = asyncio.Event()
        self.breach: Breach | None = None

    def count(self, usage: Usage) -> None:
        """Record the total usage of the session so far."""
        self._seen = with_prices(usage, self._prices)
        self.breach = self.breach or self._budgets.of_step(self._job, self._before.plus(self._seen))
        if self.breach:
            self._spent.set()

    async def stop(self, session: Session) -> None:
        """End the session as soon as its budget is spent; its work is kept."""
        await self._spent.wait()
        await session.cancel()

    def total(self, ended: Ended) -> Usage:
        """Return the usage of all rounds; a stopped session may not report its own, so the last count is used."""
        return self._before.plus(self._seen if ended.usage == Usage() else with_prices(ended.usage, self._prices))


# The ports of a run.


class AgentDirectory(Protocol):
    """Knows the agents of a run: programs and people, their models, their prices and their keys.

    `engines.surroundings.ProjectAgents` does for the runs of a project.
    """

    def runner_of(self, job: RunAgent) -> Runner | None:
        """Return the runner for a job; None: leave the job alone, for another process to start or find."""
        ...

    def name_of(self, job: RunAgent) -> str:  # noqa: ARG002
        """Return the agent's name for the log; empty for a person, whom the answer names."""
        return ""

    def model_of(self, role: str, tier: int) -> str:  # noqa: ARG002
        """Return the model for a role at a tier; empty: the agent's own choice."""
        return ""

    def prices_of(self, role: str) -> Prices:  # noqa: ARG002
        """Return the token prices of a role's agent, for agents that report none."""
        return ()

    def secrets(self) -> Redaction:
        """Return the keys lent to agents, to redact them from an agent's output and files."""
        return NO_REDACTION


class RunFiles:
    """The files that follow a run's log, and the files that its agents read. In this class, there are none."""

    def update(self, protocol: ProtocolModel, state: State) -> Sequence[str]:  # noqa: ARG002
        """Write the files anew after a change; return conflicts with a person's own files."""
        return ()

    def bank(self) -> Mapping[str, str]:
        """Return the current memory bank: path → text."""
        return {}

    def of_instance(self, inst: str) -> Mapping[str, str]:  # noqa: ARG002
        """Return the files of an instance's story for an agent's lane: path → text."""
        return {}

    async def notes(self, paths: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the project's notes for agents at some paths of the base commit: path → text."""
        return {}


NO_FILES: Final = RunFiles()


@dataclass(frozen=True, kw_only=True)
class RunWorld:
    """The ports of one run. `engines/surroundings.py` fills them for the runs of a project."""

    clock: Clock
    payloads: Payloads
    agents: AgentDirectory
    workspace: Workspace
    checks: Checks
    effects: Effects
    notifier: Notifier
    files: RunFiles = NO_FILES
    budgets: Budgets = NO_BUDGETS
    progress: Callable[[str, Progress], None] = lambda _act, _progress: None
    """Receives every sign of life of an agent."""
    bugs: BugReports = NO_REPORTS


def event_id(job: ActivityCommand, what: str) -> str:
    """Return an id that is the same for every report of a fact, and differs when the activity is issued again."""
    return f"{job.id}~{job.retry}:{what}" if job.retry else f"{job.id}:{what}"


# The machine's clocks.


class SystemClock(Clock):
    """Wall time for records, and a clock that includes suspended time for waiting."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def elapsed(self) -> float:
        """Seconds since the machine was started, including the time that it was suspended."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    async def sleep(self, seconds: float) -> None:
        """Wait, a little longer if the machine sleeps meanwhile."""
        await asyncio.sleep(seconds)
