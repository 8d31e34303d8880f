"""The step rules table of the Agentic Coding Protocol, as it stands in `.ai/step-rules.yaml` and in the defaults."""

from typing import Final

import msgspec

from treadle.protocol.findings import Place
from treadle.protocol.reading.source import Node

REASONS: Final = {
    "constitution_violation": "it breaks a rule of the constitution",
    "needs_clarification": "a requirement is unclear",
    "nfr_missing": "a non-functional requirement has no threshold",
    "scope_warning": "it touches a non-goal",
    "test_timeout": "the tests took too long",
}
"""Why a step fails, besides `default`."""
DONE: Final = "done"
STUCK: Final = "stuck"
SKIPPABLE: Final = "stuck-"
REWORK: Final = "-rework"
CONFIRM: Final = "confirm-"
"""The questions that rows give rise to: `stuck`, `stuck-ROW` (may be skipped), `ROW-rework` (sent back too often),
`confirm-ROW` (may it begin?)."""


class TeamRole(msgspec.Struct, frozen=True, kw_only=True):
    """What one role of a team may read and write."""

    place: Place
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    hidden: tuple[str, ...]
    gates: Node | None
    advisory: bool


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One row: who works, for how long, on which files, and where each result leads."""

    name: str
    place: Place
    human: bool
    confirmed: bool
    """A person is asked before an executor begins."""
    passes: Node
    fails: dict[str, Node]
    """Reason → step; `default` is always there."""
    attempts: int
    minutes: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    amends: tuple[str, ...]
    """Documents that it may change besides."""
    stubs_for: str
    """The step in whose files it may add stubs."""
    post_check: str
    role: str
    pass_exit: str
    fail_exit: str
    gates: dict[str, Node]
    fails_by: tuple[str, ...]
    """Checks of a pass that stand for a failure: what they find is for another step to mend."""
    needs: tuple[str, ...]
    skippable: bool
    copied: dict[str, Node]
    team: dict[str, TeamRole]
    keys: dict[str, Place]
    """Where each key of the row stands."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Work of the orchestrator between a row and the one after it."""

    name: str
    place: Place
    after: str
    exit: str
    copied: dict[str, Node]


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table."""

    steps: dict[str, Rule]
    effects: dict[str, Effect]
    dispatch: dict[str, str]
    """Size → single, auto or team."""
    place: Place
    sized_by: str
    team: str
    team_passes: str
    """The check of the graph that leads on where the row of the team does."""
    team_rework: str
    """The budget that a team is charged when its lead sends the story back."""
    done: str
    max_rework: int

    @property
    def teamed(self) -> Rule | None:
        """The row that a team may work on."""
        return next((rule for rule in self.steps.values() if rule.team), None)

    @property
    def has_team(self) -> bool:
        return bool(self.teamed and self.team and self.sized_by)
