"""What a scripted agent does: rules that say when, and turns that say what."""

from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

import msgspec

from treadle.kernel.events import Outages, Usage
from treadle.protocol.items import Json

Channel = Literal["answer", "executor-result", "handoff", "message", "code"]
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
Misbehaviour = Literal["", "hang", "crash", "blocked"]
CRITERIA: Final = ("role", "step", "instance", "graph", "mode", "visit", "attempt")


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A service that cannot be used, the first times that an activity is issued."""

    why: Outages
    wait: int = 0
    times: int = 1


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an agent, from its start to its answer; things happen in the order of these fields."""

    delay: float = 0.0
    say: tuple[str, ...] = ()
    write: dict[str, str] = {}
    append: dict[str, str] = {}
    rename: dict[str, str] = {}
    delete: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    run: tuple[tuple[str, ...], ...] = ()
    usage: Usage = Usage()
    outage: Broken | None = None
    misbehave: Misbehaviour = ""
    exit: dict[str, Json] | None = None
    channel: Channel = "answer"
    exit_code: int = 0


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Which activities these turns are for; what is not said fits everything."""

    line: int
    when: dict[str, tuple[str, ...]]
    turns: tuple[Turn, ...]

    def fits(self, facts: dict[str, str]) -> bool:
        """Whether each criterion has a pattern that fits."""
        return all(
            any(fnmatchcase(facts.get(name, ""), pattern) for pattern in patterns)
            for name, patterns in self.when.items()
        )

    def turn(self, visit: int, attempt: int) -> Turn:
        """Each further attempt and each further visit takes the next turn; the last one is repeated."""
        return self.turns[min(visit + attempt - 2, len(self.turns) - 1)]


class Script(msgspec.Struct, frozen=True):
    """A file of rules; the first that fits counts."""

    file: str
    rules: tuple[Rule, ...]

    def rule(self, facts: dict[str, str]) -> Rule | None:
        return next((rule for rule in self.rules if rule.fits(facts)), None)
