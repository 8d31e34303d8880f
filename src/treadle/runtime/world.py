"""Everything outside of a run that its performing needs, in one place."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from treadle.config.redaction import NOTHING, Redaction
from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.state import State
from treadle.ports import Checks, Clock, Effects, Notifier, Payloads, Progress, Runner, Workspace
from treadle.protocol.model import Protocol
from treadle.runtime.budgets import NO_BUDGETS, Budgets
from treadle.runtime.meter import Prices


async def _no_notes(_paths: Sequence[str]) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class World:
    """The ports of a project."""

    clock: Clock
    payloads: Payloads
    runner_of: Callable[[RunAgent], Runner | None]
    """Who does it; None: it is left as it is, to be started or found by another process."""
    agent_of: Callable[[RunAgent], str] = lambda _job: ""
    """The name of the agent that does it, for the log; empty: a person, who is named in the answer."""
    model_of: Callable[[str, int], str]
    """The model for a role at a tier; empty: the agent's own choice."""
    workspace: Workspace
    checks: Checks
    effects: Effects
    notifier: Notifier
    budgets: Budgets = NO_BUDGETS
    prices_of: Callable[[str], Prices] = lambda _role: ()
    """What tokens of a role's agent cost, where it does not tell itself."""
    progress: Callable[[str, Progress], None] = lambda _act, _progress: None
    """Hears of every sign of life of an agent."""
    hidden: Callable[[], Redaction] = lambda: NOTHING
    """What of an agent's words and files is kept nowhere: the keys that it was lent."""
    show: Callable[[Protocol, State], Sequence[str]] = lambda _protocol, _state: ()
    """Brings files that are views of the run up to date, whenever it has moved; what of a person's is in their way."""
    bank: Callable[[], Mapping[str, str]] = dict
    """The memory bank as it stands: path → text."""
    files_of: Callable[[str], Mapping[str, str]] = lambda _inst: {}
    """The files of the story that an instance works on, as an agent finds them in its lane: path → text."""
    notes: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]] = _no_notes
    """The project's notes for agents that lie at some paths of the commit that the run starts from: path → text."""


def event_id(job: ActivityCommand, what: str) -> str:
    """The same for the same fact, however often it is told; another one when the activity is issued again."""
    return f"{job.id}~{job.retry}:{what}" if job.retry else f"{job.id}:{what}"
