"""Any command that runs tests: its exit code is all that is known."""

from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.process import scratch_folder
from treadle.toolchains.results import NO_CANARIES, Collected, TestRun

LIMITS: Final = (
    "only the exit code is known: no tests by name, no failure kinds",
    f"one witness only, and {NO_CANARIES}",
)
NOT_CHOSEN: Final = "single tests cannot be chosen here: the whole suite ran"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A project that is tested by a command."""

    command: tuple[str, ...]
    listing: tuple[str, ...] = ()
    """Lists the tests, one a line."""
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests."""
        with scratch_folder() as scratch:
            finished = await run_in(path, self.command, scratch=scratch, timeout=self.timeout, sandbox=self.sandbox)
        return TestRun(
            command=self.command,
            exit=finished.exit,
            duration=finished.duration,
            ended=finished.ended,
            output=finished.output,
            problems=tuple(problems_of(self.command, finished)),
            limits=(*LIMITS, *([NOT_CHOSEN] if ids is not None or files is not None else [])),
            isolation=finished.isolation,
        )

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The tests that the listing command names."""
        return await listed(self.listing, path, files, timeout=self.timeout, sandbox=self.sandbox)


async def listed(
    listing: tuple[str, ...], path: Path, files: tuple[str, ...] | None, *, timeout: float, sandbox: Enclosure | None
) -> Collected:
    """What a command lists, one test a line."""
    if not listing:
        why = "nothing lists the tests of this project (`toolchain.collect`)"
        return Collected(ids=(), problems=(why,))
    with scratch_folder() as scratch:
        finished = await run_in(path, listing, scratch=scratch, timeout=timeout, sandbox=sandbox)
    problems = problems_of(listing, finished)
    if finished.exit:
        problems.append(f"{listing[0]} ended with {finished.exit}")
    lines = (line.strip() for line in finished.output.splitlines())
    limits = () if files is None else (NOT_CHOSEN.replace("ran", "is listed"),)
    return Collected(
        ids=tuple(dict.fromkeys(line for line in lines if line)),
        problems=tuple(problems),
        limits=limits,
        output=finished.output,
    )
