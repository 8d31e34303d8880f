"""`go test`: test by test, with the stream and the exit code as witnesses."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.go_stream import GoStream
from treadle.toolchains.process import Finished, scratch_folder
from treadle.toolchains.results import Collected, TestResult, TestRun

LIMITS: Final = (
    "a panic ends the tests of its whole package",
    "where a test is written is known only of those that failed",
    "two witnesses (the stream and the exit code), and no canaries",
)
_NO_FILES: Final = "Go chooses packages and names, not files: the tests of all files ran"


class GoTest(msgspec.Struct, frozen=True, kw_only=True):
    """A project that is tested by `go test`."""

    command: tuple[str, ...]
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests, or those with some ids."""
        options = ["-count=1", *(["-run", _pattern(ids)] if ids is not None else [])]
        command = with_options(self.command, "-json", *options)
        stream, finished = await self._run(path, command)
        return judged(command, finished, stream, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The names of the tests; subtests are known only when they run."""
        command = with_options(self.command, "-json", "-list", ".")
        stream, finished = await self._run(path, command)
        limits = ("subtests are known only when they run", *([_NO_FILES] if files is not None else []))
        return Collected(
            ids=tuple(stream.listed),
            errors={id: test for id, test in stream.tests.items() if test.verdict == "error"},
            problems=tuple(problems_of(command, finished)),
            limits=limits,
            output=finished.output,
        )

    async def _run(self, path: Path, command: tuple[str, ...]) -> tuple[GoStream, Finished]:
        stream = GoStream()
        with scratch_folder() as scratch:
            finished = await run_in(
                path, command, scratch=scratch, timeout=self.timeout, sandbox=self.sandbox, listen=stream.hear
            )
        stream.hear(b"\n")
        return stream, finished


def with_options(command: tuple[str, ...], *options: str) -> tuple[str, ...]:
    """A `go test` command with more options, which must stand before its packages."""
    at = command.index("test") + 1 if "test" in command else len(command)
    wanted = [option for option in options if option not in command]
    return (*command[:at], *wanted, *command[at:])


def _pattern(ids: tuple[str, ...]) -> str:
    names = sorted({id.rpartition("::")[2].partition("/")[0] for id in ids})
    return f"^({'|'.join(map(re.escape, names))})$"


def judged(
    command: tuple[str, ...],
    finished: Finished,
    stream: GoStream,
    ids: tuple[str, ...] | None = None,
    files: tuple[str, ...] | None = None,
) -> TestRun:
    """What a stream and an exit code say together."""
    tests = stream.tests if ids is None else {id: test for id, test in stream.tests.items() if _asked_for(test, ids)}
    unfinished = [id for id in stream.started if id not in stream.tests]
    problems = [*problems_of(command, finished), *_problems(stream, finished)]
    problems += [f"{id} did not end" for id in unfinished[:20]]
    problems += [f"{id} was not run" for id in ids or () if id not in stream.tests]
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
        bent=tuple(_disagreements(stream, finished)),
        limits=(*LIMITS, *([_NO_FILES] if files is not None else [])),
        isolation=finished.isolation,
    )


def _asked_for(test: TestResult, ids: tuple[str, ...]) -> bool:
    return test.id in ids or test.verdict == "error" or any(test.id.startswith(f"{id}/") for id in ids)


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
