"""`go test`: test by test, with the stream, canaries and the exit code as witnesses."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.go_canaries import PATTERN, GoCanaries, preventing
from treadle.toolchains.go_packages import GoPackage, listing_of, read_packages
from treadle.toolchains.go_rounds import (
    NO_FILES,
    GoRound,
    asked_for,
    is_all_well,
    left,
    names_of,
    placed,
    told,
    twofold,
    witnessed,
)
from treadle.toolchains.go_stream import GoStream
from treadle.toolchains.process import COUNT, Finished, scratch_folder
from treadle.toolchains.results import NO_CANARIES, Collected, TestRun

LIMITS: Final = (
    "a panic ends the tests of its whole package",
    "where a test is written is known only of those that failed",
    f"two witnesses (the stream and the exit code), and {NO_CANARIES}",
)
_MOST_ROUNDS: Final = 40
"""How often what a panic has kept from running is run again: each time at least one test more has its verdict."""


class GoTest(msgspec.Struct, frozen=True, kw_only=True):
    """A project that is tested by `go test`."""

    command: tuple[str, ...]
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests, or those with some ids."""
        names = None if ids is None else names_of(ids)
        command = with_options(self.command, "-json", "-count=1", *([] if names is None else ["-run", _any_of(names)]))
        packages = await self._packages(path)
        if not packages:
            stream, finished = await self._run(path, command)
            return judged(command, finished, stream, ids, files)
        rounds = await self._rounds(path, packages, names)
        sure = await self._once_more(path, packages, names) if is_all_well(rounds) else None
        missing = left(packages, rounds, names)
        return witnessed(command, placed(path, packages), rounds, sure, missing, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The names of the tests; subtests are known only when they run."""
        command = with_options(self.command, "-json", "-list", ".")
        stream, finished = await self._run(path, command)
        limits = ("subtests are known only when they run", *([NO_FILES] if files is not None else []))
        places = placed(path, await self._packages(path))
        return Collected(
            ids=tuple(stream.listed),
            files={id_: places[id_][0] for id_ in stream.listed if id_ in places},
            errors={id: test for id, test in stream.tests.items() if test.verdict == "error"},
            problems=tuple(problems_of(command, finished)),
            limits=limits,
            output=finished.output,
        )

    async def _packages(self, path: Path) -> list[GoPackage]:
        """The packages that can have canaries: none if the command leaves no room for them."""
        if preventing(self.command):
            return []
        with scratch_folder() as scratch:
            listed = await run_in(
                path, listing_of(self.command), scratch=scratch, timeout=self.timeout, sandbox=self.sandbox
            )
        return read_packages(listed.output)

    async def _rounds(self, path: Path, packages: list[GoPackage], names: frozenset[str] | None) -> list[GoRound]:
        """A run of all that is asked for; then, as long as something keeps tests from running, of what is left."""
        rounds = [await self._round(path, packages, names, failing=True)]
        while rounds[-1].early and rounds[-1].finished.ended == "done" and len(rounds) < _MOST_ROUNDS:
            rest = left(packages, rounds, names)
            if not rest or (len(rounds) > 1 and rest == left(packages, rounds[:-1], names)):
                break
            again = [one for one in packages if any(id_.startswith(f"{one.import_path}::") for id_ in rest)]
            rounds.append(await self._round(path, again, names_of(rest), failing=True))
        return rounds

    async def _once_more(self, path: Path, packages: list[GoPackage], names: frozenset[str] | None) -> GoRound:
        """With a canary that must fail every run fails; only one without it has an exit code that says something."""
        return await self._round(path, packages, names, failing=False)

    async def _round(
        self, path: Path, packages: list[GoPackage], names: frozenset[str] | None, *, failing: bool
    ) -> GoRound:
        with scratch_folder() as scratch:
            canaries = GoCanaries(packages, scratch, failing=failing)
            chosen = [] if names is None else ["-run", _any_of(names, PATTERN)]
            slots = (
                []
                if any(word.lstrip("-").startswith("parallel") for word in self.command)
                else [f"-parallel={(os.cpu_count() or 1) + 1}"]
            )
            options = ("-json", "-count=1", f"-overlay={canaries.overlay}", *slots, *chosen)
            stream, finished = await self._run(path, with_options(self.command, *options), scratch)
        finished = msgspec.structs.replace(finished, output=canaries.hidden(finished.output))
        return told(stream, finished, canaries)

    async def _run(
        self, path: Path, command: tuple[str, ...], scratch: Path | None = None
    ) -> tuple[GoStream, Finished]:
        stream, count = GoStream(), COUNT.get()

        def listen(chunk: bytes) -> None:
            stream.hear(chunk)
            count(len(stream.tests), 0)

        with scratch_folder() as place:
            finished = await run_in(
                path, command, scratch=scratch or place, timeout=self.timeout, sandbox=self.sandbox, listen=listen
            )
        stream.hear(b"\n")
        return stream, finished


def with_options(command: tuple[str, ...], *options: str) -> tuple[str, ...]:
    """A `go test` command with more options, which must stand before its packages."""
    at = command.index("test") + 1 if "test" in command else len(command)
    wanted = [option for option in options if option not in command]
    return (*command[:at], *wanted, *command[at:])


def _any_of(names: Iterable[str], *patterns: str) -> str:
    return f"^({'|'.join([*map(re.escape, sorted(names)), *patterns])})$"


def judged(
    command: tuple[str, ...],
    finished: Finished,
    stream: GoStream,
    ids: tuple[str, ...] | None = None,
    files: tuple[str, ...] | None = None,
) -> TestRun:
    """What a stream and an exit code say together, where there is no room for canaries."""
    unfinished = [id_ for id_ in stream.started if id_ not in stream.tests]
    problems = [*problems_of(command, finished), *_problems(stream, finished)]
    problems += [f"{id_} did not end" for id_ in unfinished[:20]]
    problems += [f"{id_} was not run" for id_ in ids or () if id_ not in stream.tests]
    tests = asked_for(stream.tests, ids)
    return TestRun(
        command=command,
        exit=finished.exit,
        duration=finished.duration,
        ended=finished.ended,
        tests=tests,
        collected=tuple(dict.fromkeys([*stream.started, *stream.tests])),
        chosen=tuple(tests),
        output=finished.output,
        problems=tuple(problems),
        bent=(*_disagreements(stream, finished), *twofold(stream)),
        limits=(*LIMITS, *([NO_FILES] if files is not None else [])),
        isolation=finished.isolation,
    )


def _problems(stream: GoStream, finished: Finished) -> Iterator[str]:
    yield from (f"a panic ended the tests of {package}" for package in stream.panicked)
    if finished.exit is not None and not stream.tests:
        yield "no tests were found"
    if finished.exit and not any(test.verdict in ("failed", "error") for test in stream.tests.values()):
        yield f"go ended with {finished.exit}, and no test says why"


def _disagreements(stream: GoStream, finished: Finished) -> Iterator[str]:
    bad = [test.id for test in stream.tests.values() if test.verdict in ("failed", "error")]
    if finished.exit == 0 and bad:
        yield f"go ended with 0, and {bad[0]} did not pass"
