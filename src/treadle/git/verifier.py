"""What a merge or a rebase has to pass before anybody sees it; the checks behind it are not git's business."""

from pathlib import Path
from typing import Protocol

import msgspec

from treadle.protocol.items import Json


class Tried(msgspec.Struct, frozen=True):
    """How a check of a checkout ended. One that could not run has not passed."""

    ok: bool
    details: str = ""
    failing: tuple[str, ...] = ()
    """Ids of the tests that failed, or that changed their verdict."""
    ran: dict[str, Json] = {}
    """The command that it rests on, as it is kept: `command`, `exit`, `duration`, `output`."""
    findings: tuple[dict[str, Json], ...] = ()
    """What it has found, as data: each with its `code`, `what`, and where."""


class Verifier(Protocol):
    """Looks at clean checkouts, and at commits."""

    async def build(self, path: Path, /) -> Tried:
        """Whether it builds."""
        ...

    async def contract(self, path: Path, /) -> Tried:
        """Whether the contract suite passes."""
        ...

    async def suite(self, path: Path, /) -> Tried:
        """Whether all tests pass."""
        ...

    async def same_colour(self, before: str, after: str, /) -> Tried:
        """Whether every test has the verdict that it had in another commit, before."""
        ...
