"""What a trial has shown of an agent: the document, and its lines."""

import msgspec

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from treadle.cli.output import harmless, say
from treadle.kernel.advance import is_out
from treadle.kernel.commands import RunAgent
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle, Deed
from treadle.views.moment import duration, seconds
from treadle.views.outage import WORDS
from treadle.views.refusal import first_words, words_of

RUN: Final = "trial"
"""The name of the run in the scratch repository."""
_FREE: Final = ("command", "scripted")
"""Agents that may answer as they like: nobody has told them of tools."""

Seen = Literal["yes", "no", "not tried"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of an agent: `treadle agents try --json`."""

    schema: Literal[1] = 1
    agent: str
    version: str
    """As its program tells it; empty if it does not."""
    played: bool
    """Whether its model was played."""
    works: bool
    """Whether it came to the end, wrote its file and answered by its tools."""
    outcome: str
    """How the run ended; empty: it did not."""
    writes: Seen
    """Whether it wrote the file that it was asked for, and said so."""
    channel: str
    """How its answer came: `mcp` is the tool `emit_exit`."""
    schema_kept: Seen
    """Whether every answer was what the step's schema asks for, at once."""
    resume: Seen
    """Whether it knew in a continued conversation what it was told before."""
    fork: Seen
    """Whether it knew that in a conversation that branches off."""
    kept_in: Seen
    """Whether something kept it from writing where it may not; if not, the check on the diff has found it."""
    sandbox: str
    """What was in force to keep it in: a box, something of its own, or `none`."""
    tokens: int
    cost: float
    unpriced: int
    """Those of the tokens that nobody has told a price of."""
    seconds: float
    trouble: str
    """What went wrong, in words; empty: nothing."""
    folder: str
    """The scratch repository, which is kept."""
