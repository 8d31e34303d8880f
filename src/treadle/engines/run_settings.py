"""The settings of a run, pinned in its record at the start."""

from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.config.agents import parse_agent
from treadle.config.model import Config
from treadle.errors import PortError
from treadle.kernel.commands import RunAgent
from treadle.protocol.model import Protocol
from treadle.store.records import Run
from treadle.views.evidence import Grade
from treadle.views.status import Baseline

FORMAT: Final = 1
MANUAL: Final = "manual"
Level = Literal[0, 1, 2]


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run, as its record in the store keeps them."""

    protocol: str
    """The protocol's name, for people; the run itself is pinned to a digest."""
    config: Config
    agents: dict[str, str]
    """Role → its agent, as written in the settings."""
    spec: str = ""
    """The name of its input file."""
    level: Level = 2
    """The initial level; 0: people are the agents; 1: each agent waits for a person's go; 2: as in the protocol."""
    format: int = FORMAT
    baseline: Baseline | None = None
    """How the tests ended on the base commit; None if no check needs them, or an older version started the run."""

    def agent_of(self, role: str) -> str:
        return self.agents.get(role) or self.config.agent_of(role)

    @property
    def minimum(self) -> Grade:
        """The grade that a criterion needs to be verified."""
        minimum: Grade = msgspec.convert(self.config.verification.minimum, Grade)
        return minimum

    def kind_of(self, role: str) -> str:
        """Return the word before the colon of a role's agent."""
        return parse_agent(self.agent_of(role)).kind

    def is_by_person(self, job: RunAgent) -> bool:
        """Whether a person does this job."""
        return job.by_person or self.kind_of(job.role) == MANUAL


def settings_of(run: Run) -> RunSettings:
    """Return the settings of a run; raise a `PortError` if this version cannot read them."""
    try:
        settings = msgspec.convert(run.settings, RunSettings)
    except msgspec.ValidationError as error:
        raise PortError(
            f"run {run.id}: its settings cannot be read ({error}); was it started by another version of Treadle?",
            code="run.settings",
        ) from None
    if settings.format != FORMAT:
        raise PortError(
            f"run {run.id} was started by another version of Treadle (format {settings.format}); use that version",
            code="run.newer",
        )
    return settings


def agents_of(run: Run, protocol: Protocol | None) -> dict[str, str]:
    """Return role → agent of a run; empty before it has begun, and for unreadable settings."""
    # Evidence and cost only name the agents: a run of another version must not make them fail.
    with suppress(PortError):
        settings = settings_of(run)
        return {role: settings.agent_of(role) for role in protocol.roles} if protocol else {}
    return {}
