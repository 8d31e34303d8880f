"""How a run stands when nobody drives it any more: what the commands that drive runs tell programs at their end."""

from typing import Literal

import msgspec

from treadle.views.asking import Choice
from treadle.views.evidence import Ruling
from treadle.views.result import Result
from treadle.views.status import Startable
from treadle.views.yours import Yours


class Posed(msgspec.Struct, frozen=True, kw_only=True):
    """A question with everything that a person reads of it."""

    id: str
    title: str
    text: str
    choices: tuple[Choice, ...]
    default: str
    """What is decided if nobody answers; empty: nothing is."""
    default_after: int
    """Seconds after which that happens."""


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended, or that only a person, an agent or time can move: `treadle run --json`."""

    schema: Literal[1] = 1
    run: str
    outcome: str
    """How it ended; empty: it has not."""
    code: int
    """The exit code of the command, if this is the only run that it drives."""
    questions: tuple[Posed, ...]
    starts: tuple[Startable, ...]
    yours: tuple[Yours, ...]
    """Activities whose agent is a person."""
    paused: tuple[str, ...]
    """Instances that were paused."""
    agents: tuple[str, ...]
    """Activities that programs are to do."""
    due: str
    """When the next timer decides something."""
    result: Result | None
    """None until the run has ended, and if it has changed nothing."""
    verdict: Ruling | Literal[""] = ""
    """Whether its criteria are verified; empty: it has not ended."""
