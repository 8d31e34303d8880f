"""Test commands of any kind: Treadle knows only their exit code."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.port import Enclosure
from treadle.toolchains.process import run_in_checkout
from treadle.toolchains.results import NO_CANARIES, CollectedTests, TestRun

LIMITS: Final = (
    "only the exit code is known: no tests by name, no failure kinds",
    f"one witness only, and {NO_CANARIES}",
)
NOT_CHOSEN: Final = "single tests cannot be chosen here: the whole suite ran"
NO_FILES: Final = "Go chooses packages and names, not files: the tests of all files ran"
NOT_LISTED: Final = "single tests cannot be chosen here: the whole suite is listed"
RAN_MORE: Final = frozenset({NOT_CHOSEN, NOT_LISTED, NO_FILES})
"""The limits of runs of more tests than those that were asked for."""


class PlainCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A test command of which only the exit code is known."""

    command: tuple[str, ...]
    listing: tuple[str, ...] = ()
    """The command that lists the tests, one per line."""
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests."""
        finished = await run_in_checkout(path, self.command, timeout=self.timeout, sandbox=self.sandbox)
        limits = (*LIMITS, *([NOT_CHOSEN] if ids is not None or files is not None else []))
        return finished.as_test_run(problems=finished.problems, limits=limits)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        """Return the tests that the listing command prints, one per line."""
        if not self.listing:
            return CollectedTests(ids=(), problems=("nothing lists the tests of this project (`toolchain.collect`)",))
        listed = await run_in_checkout(path, self.listing, timeout=self.timeout, sandbox=self.sandbox)
        lines = (line.strip() for line in listed.output.splitlines())
        return CollectedTests(
            ids=tuple(dict.fromkeys(line for line in lines if line)),
            problems=(f"{self.listing[0]} ended with {listed.exit}",) if listed.exit else listed.problems,
            limits=() if files is None else (NOT_LISTED,),
            output=listed.output,
        )
