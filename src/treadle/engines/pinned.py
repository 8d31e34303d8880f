"""How a run was started: everything that has to be the same whenever it is driven on."""

from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.config.agents import parse_agent
from treadle.config.model import Config
from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.protocol.model import Protocol
from treadle.store.records import Run
from treadle.views.baseline import Baseline

FORMAT: Final = 1
MANUAL: Final = "manual"
Level = Literal[0, 1, 2]


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run, as its record in the store keeps them."""

    protocol: str
    """The protocol's name, for people; the run itself is pinned to a digest."""
    config: Config
    agents: dict[str, str]
    """Role → its agent, as the settings name it."""
    spec: str = ""
    """The file that it was given."""
    level: Level = 2
    """As it was started; 0: people are the agents; 1: each agent waits for a person's go; 2: as the protocol says."""
    format: int = FORMAT
    baseline: Baseline | None = None
    """How the tests ended on the base commit; None if no check needs them, or an older version started the run."""

    def agent_of(self, role: str) -> str:
        return self.agents.get(role) or self.config.agent_of(role)

    def kind_of(self, role: str) -> str:
        """The word before the colon of a role's agent."""
        return parse_agent(self.agent_of(role)).kind

    def is_by_person(self, job: RunAgent) -> bool:
        """Whether a person does what others leave to programs."""
        return job.by_person or self.kind_of(job.role) == MANUAL


def pinned(run: Run) -> Pinned:
    """How a run was started; a `PortError` if this program cannot read that."""
    try:
        found = msgspec.convert(run.settings, Pinned)
    except msgspec.ValidationError as error:
        raise PortError(
            f"run {run.id}: its settings cannot be read ({error}); was it started by another treadle?",
            code="run.settings",
        ) from None
    if found.format != FORMAT:
        raise PortError(
            f"run {run.id} was started by another treadle (format {found.format}); use that one", code="run.newer"
        )
    return found


def agents_of(run: Run, protocol: Protocol | None) -> dict[str, str]:
    """Role → its agent, as a run was started; empty before it has begun, and for settings that cannot be read."""
    with suppress(PortError):
        settings = pinned(run)
        return {role: settings.agent_of(role) for role in protocol.roles} if protocol else {}
    return {}
