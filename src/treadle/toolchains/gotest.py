"""Run `go test` and read each test's result, with three witnesses: the stream, canaries and the exit code.

A panic ends all tests of its package, so one suite may need several rounds; `combine_rounds` merges their results.
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.port import Enclosure
from treadle.git.files import temporary_folder
from treadle.toolchains.command import NO_FILES
from treadle.toolchains.go_output import GoPackage, GoStream, listing_command, read_packages
from treadle.toolchains.process import COUNT, run_in_checkout
from treadle.toolchains.results import MAX_OUTPUT, NO_CANARIES, CollectedTests, CommandResult, TestResult, TestRun

# Canaries: tests of our own, added to each package, that expose a program which ends or falsifies its test run.
#
# They lie outside the checkout and get new random names for each run. One must fail; the other waits until no other
# test runs, and must pass. A program that prints verdicts and exits never reaches them, and does not know their names.

PATTERN: Final = "TestTreadle[0-9a-f]{24}"
"""The pattern of canary names for `-run`: no command line contains the names themselves."""
_PREVENTING: Final = frozenset("run skip failfast overlay list c exec args bench fuzz count cpu".split())
_ALONE: Final = """package {package}_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func {green}(t *testing.T) {{
	t.Parallel()
	slots := flag.Lookup("test.parallel")
	for room := 1 << 20; slots == nil || slots.Value.String() != "1"; {{
		stacks := make([]byte, room)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if len(stacks) == room && room < 1<<26 {{
			room *= 2
			continue
		}}
		if strings.Count(string(stacks), "created by testing.(*T).Run") <= 1 {{
			break
		}}
		time.Sleep(5 * time.Millisecond)
	}}
	if os.Stdout.Fd() != 1 {{
		t.Fatal("the output goes elsewhere")
	}}
	t.Log("{word}")
}}
"""
_FAILING: Final = """
func {red}(t *testing.T) {{
	t.Fatal("{word}")
}}
"""


# Older versions of Go (Debian's 1.19) do not show an overlay to `go vet`, which `go test` runs first: the tests of each
# package with a canary then count as not built. A probe finds out which kind the installed Go is, once, and only if
# a run looks like that: the output of a run alone could be the program's own.

_UNSEEN: Final = re.compile(r"^vet: open \S*zz_[0-9a-f]{16}_test\.go: no such file", re.MULTILINE)
_NO_VET: Final = "this Go cannot vet files of an overlay, so its tests run without `go vet`"
_without_vet: dict[tuple[str, str], bool] = {}
"""Program and sandbox → whether its `go vet` does not see an overlay."""


def _place(program: str, sandbox: Enclosure | None) -> tuple[str, str]:
    return program, sandbox.name if sandbox else ""


async def _lacks_overlay_in_vet(program: str, sandbox: Enclosure | None) -> bool:
    """Whether a Go fails to vet a file of an overlay, tried on an empty package of our own."""
    place = _place(program, sandbox)
    if place not in _without_vet:
        with temporary_folder("scratch") as folder:
            (folder / "go.mod").write_text("module example.org/probe\n\ngo 1.18\n", encoding="utf-8")
            (folder / "probe.go").write_text("package probe\n", encoding="utf-8")
            name = f"zz_{secrets.token_hex(8)}_test.go"
            (folder / "hidden.txt").write_text("package probe_test\n", encoding="utf-8")
            replaced = {str(folder / name): str(folder / "hidden.txt")}
            (folder / "overlay.json").write_bytes(msgspec.json.encode({"Replace": replaced}))
            command = (program, "test", f"-overlay={folder / 'overlay.json'}", ".")
            done = await run_in_checkout(folder, command, timeout=_PROBE_SECONDS, sandbox=sandbox)
        _without_vet[place] = _UNSEEN.search(done.output) is not None
    return _without_vet[place]


_PROBE_SECONDS: Final = 120.0


def option_against_canaries(command: Sequence[str]) -> str:
    """Return the option of a test command that rules out canaries; empty if there is none."""
    for word in command:
        if word.startswith("-") and word != "-count=1" and word.lstrip("-").partition("=")[0] in _PREVENTING:
            return word
    return "" if "test" in command and Path(command[0]).name == "go" else command[0]


class _Pair(msgspec.Struct, frozen=True):
    """The names of a package's two canaries, and the words that they print; all of them drawn by chance."""

    green: str
    green_word: str
    red: str
    red_word: str


class GoCanaries:
    """The canaries for one run of some packages."""

    def __init__(self, packages: Sequence[GoPackage], folder: Path, *, failing: bool) -> None:
        self._pairs: dict[str, _Pair] = {}
        self._failing = failing
        replaced = {}
        for number, one in enumerate(packages):
            green, red = (f"TestTreadle{secrets.token_hex(12)}" for _ in range(2))
            pair = _Pair(green, secrets.token_hex(16), red, secrets.token_hex(16))
            self._pairs[one.import_path] = pair
            text = _ALONE.format(package=one.name, green=pair.green, word=pair.green_word)
            text += _FAILING.format(red=pair.red, word=pair.red_word) if failing else ""
            source = folder / f"canary_{number}.go"
            source.write_text(text, encoding="utf-8")
            replaced[str(Path(one.dir) / f"zz_{secrets.token_hex(8)}_test.go")] = str(source)
        self.overlay = folder / "overlay.json"
        self.overlay.write_bytes(msgspec.json.encode({"Replace": replaced}))

    def early(self, stream: GoStream) -> dict[str, str]:
        """Return the packages with tests that ended early, each with the canary that shows it."""
        early: dict[str, str] = {}
        for package, pair in self._pairs.items():
            # A package may report no test at all: its build failed, or its `TestMain` ran none.
            is_unbuilt = package in stream.tests and stream.tests[package].phase == "collect"
            has_started = any(id_.startswith(f"{package}::") for id_ in (*stream.started, *stream.verdicts))
            if is_unbuilt or (stream.ended.get(package) == "pass" and not has_started):
                continue
            expected = [(pair.green, "passed", pair.green_word)]
            expected += [(pair.red, "failed", pair.red_word)] if self._failing else []
            for name, verdict, word in expected:
                is_reported = stream.verdicts.get(f"{package}::{name}") == [verdict]
                if not is_reported or word not in stream.text(package, name):
                    early[package] = f"a canary that must have {verdict} is not reported so in {package}"
                    break
        return early

    def is_misreported(self, stream: GoStream, package: str) -> bool:
        """Whether a canary has an impossible verdict."""
        pair = self._pairs[package]
        found = {name: stream.verdicts.get(f"{package}::{name}", []) for name in (pair.green, pair.red)}
        return (bool(found[pair.green]) and found[pair.green] != ["passed"]) or "passed" in found[pair.red]

    def late(self, stream: GoStream) -> Iterator[str]:
        """Yield tests with a verdict after the passing canary, which ends only when no other test runs."""
        for package, pair in self._pairs.items():
            ids = [id_ for id_ in stream.order if id_.startswith(f"{package}::")]
            last = f"{package}::{pair.green}"
            after = ids[ids.index(last) + 1 :] if last in ids else []
            yield from (id_ for id_ in after if id_.startswith(f"{package}::Test"))

    def is_own(self, id_: str) -> bool:
        """Whether a test is one of these canaries."""
        package, _, name = id_.partition("::")
        pair = self._pairs.get(package)
        return pair is not None and name in (pair.green, pair.red)

    def hidden(self, output: str) -> str:
        """Return the output without the lines about canaries."""
        names = {word for pair in self._pairs.values() for word in (pair.green, pair.red)}
        lines = output.splitlines(keepends=True)
        return "".join(line for line in lines if not any(name in line for name in names))


# One round is one run of `go test` with canaries; several rounds combine into one result.

CANARY_LIMITS: Final = ("three witnesses (the stream, canaries and the exit code), and no mirrors",)
_BAD: Final = ("failed", "error")
_SHOWN: Final = 20


class GoRound(msgspec.Struct, frozen=True):
    """One run of `go test`."""

    stream: GoStream
    finished: CommandResult
    early: dict[str, str]
    """The packages with tests that ended early, each with the evidence."""
    tests: dict[str, TestResult]
    """The results to believe: from packages that ended early, only the failures."""
    started: tuple[str, ...]
    bent: tuple[str, ...]

    @property
    def stopped(self) -> set[str]:
        """The tests during which a package exited without a panic; a retry would exit again."""
        ended = [package for package in self.early if package not in self.stream.panicked]
        unfinished = [id_ for id_ in self.started if id_ not in self.stream.verdicts and id_ not in self.stream.paused]
        return {top_level_test(id_) for id_ in unfinished if id_.partition("::")[0] in ended}


def read_round(stream: GoStream, finished: CommandResult, canaries: GoCanaries) -> GoRound:
    """Turn the stream of one run into results, without its canaries."""
    early = canaries.early(stream) if finished.ended == "done" else {}
    tests = {
        id_: stream.panic_of(test)
        for id_, test in stream.tests.items()
        if not canaries.is_own(id_) and (test.verdict in _BAD or id_.partition("::")[0] not in early)
    }
    for package in early:
        if package not in stream.panicked and package not in tests:
            why = "the program ended before its tests did"
            tests[package] = TestResult(id=package, verdict="error", kind="exit", message=why)
    bent = [
        f"{why}: the program ended before its tests did, or has its hand in its output"
        for package, why in early.items()
        if package not in stream.panicked
        and (stream.ended.get(package) != "fail" or canaries.is_misreported(stream, package))
    ]
    bent += [f"{id_} is reported to have ended after all tests had" for id_ in canaries.late(stream)]
    started = tuple(id_ for id_ in stream.started if not canaries.is_own(id_))
    return GoRound(stream, finished, early, tests, started, (*bent, *conflicting_verdicts(stream)))


def conflicting_verdicts(stream: GoStream) -> Iterator[str]:
    """Yield tests with contradictory verdicts: the program itself must have printed one of them."""
    for id_, verdicts in stream.verdicts.items():
        if len(set(verdicts)) > 1:
            yield f"{id_} has {len(verdicts)} verdicts: {', '.join(verdicts[:4])}"


def top_level_test(id_: str) -> str:
    """Return the test that a subtest belongs to."""
    package, sign, name = id_.partition("::")
    return f"{package}{sign}{name.partition('/')[0]}"


def function_names(ids: Iterable[str]) -> frozenset[str]:
    """Return the function names of some tests."""
    return frozenset(id_.rpartition("::")[2].partition("/")[0] for id_ in ids)


def unfinished_tests(
    packages: Sequence[GoPackage], rounds: Sequence[GoRound], names: frozenset[str] | None
) -> set[str]:
    """Return the requested tests without a verdict, in packages that ended early in the last round."""
    early = rounds[-1].early
    written = {f"{one.import_path}::{name}" for one in packages for name in one.tests() if one.import_path in early}
    written |= {top_level_test(id_) for one in rounds for id_ in one.started if id_.partition("::")[0] in early}
    known = {top_level_test(id_) for one in rounds for id_ in (*one.tests, *one.stopped)}
    return {id_ for id_ in written - known if names is None or id_.partition("::")[2] in names}


def locate_tests(path: Path, packages: Sequence[GoPackage]) -> dict[str, tuple[str, int]]:
    """Return the file (relative to the checkout) and line of each test."""
    root = path.resolve()
    found: dict[str, tuple[str, int]] = {}
    for one in packages:
        folder = Path(one.dir)
        below = folder.relative_to(root) if folder.is_relative_to(root) else folder
        found |= {f"{one.import_path}::{name}": (str(below / file), line) for name, (file, line) in one.tests().items()}
    return found


def combine_rounds(
    command: tuple[str, ...],
    places: dict[str, tuple[str, int]],
    rounds: Sequence[GoRound],
    sure: GoRound | None,
    missing: Iterable[str],
    ids: tuple[str, ...] | None,
    files: tuple[str, ...] | None,
) -> TestRun:
    """Combine all rounds into one result.

    `sure` is the round without a failing canary; `missing` are the tests that never ran.
    """
    every = [*rounds, *([sure] if sure else [])]
    tests: dict[str, TestResult] = {}
    for one in every:
        for id_, test in one.tests.items():
            if id_ in tests and (test.verdict not in _BAD or tests[id_].verdict in _BAD):
                continue  # the worst verdict of all rounds counts
            file, line = places.get(top_level_test(id_), ("", 0))
            is_same_file = bool(test.file) and Path(file).name == test.file
            line = test.line if is_same_file or not file else line
            tests[id_] = msgspec.structs.replace(test, file=file or test.file, line=line)
    chosen = select_results(tests, ids)
    problems = [text for one in every for text in one.finished.problems]
    problems += [f"{id_} was not run" for id_ in sorted({*missing, *(id_ for id_ in ids or () if id_ not in tests)})]
    problems += ["no tests were found"] if rounds[0].finished.exit is not None and not tests else []
    last = every[-1].finished
    return TestRun(
        command=command,
        exit=last.exit,
        duration=sum(one.finished.duration for one in every),
        ended=next((one.finished.ended for one in every if one.finished.ended != "done"), "done"),
        tests=chosen,
        collected=tuple(dict.fromkeys([*(id_ for one in every for id_ in one.started), *tests])),
        chosen=tuple(chosen),
        output="".join(one.finished.output for one in (every if sure is None else [sure]))[:MAX_OUTPUT],
        problems=tuple(problems[:_SHOWN]),
        bent=tuple(
            dict.fromkeys([*(text for one in every for text in one.bent), *_disagreements_of_rounds(rounds, sure)])
        ),
        limits=(*CANARY_LIMITS, *([NO_FILES] if files is not None else [])),
        isolation=last.isolation,
    )


def select_results(tests: dict[str, TestResult], ids: tuple[str, ...] | None) -> dict[str, TestResult]:
    """Return the results of the chosen tests and their subtests, and all errors."""
    return {
        id_: test
        for id_, test in tests.items()
        if ids is None or test.verdict == "error" or any(f"{id_}/".startswith(f"{one}/") for one in ids)
    }


def _disagreements_of_rounds(rounds: Sequence[GoRound], sure: GoRound | None) -> Iterator[str]:
    first = rounds[0]
    if first.finished.exit == 0 and first.tests:
        yield "go ended with 0, and a canary failed"
    if sure is None or sure.finished.ended != "done":
        return
    bad = [id_ for id_, test in sure.tests.items() if test.verdict in _BAD]
    if sure.finished.exit == 0 and bad:
        yield f"go ended with 0, and {bad[0]} did not pass"
    if sure.finished.exit and not bad:
        yield f"all tests are reported to have passed, and go ended with {sure.finished.exit}"
    if lost := [id_ for id_ in first.tests if "/" not in id_ and id_ not in sure.tests]:
        yield f"{lost[0]} is reported to have passed, and did not run once more"


LIMITS: Final = (
    "a panic ends the tests of its whole package",
    "where a test is written is known only of those that failed",
    f"two witnesses (the stream and the exit code), and {NO_CANARIES}",
)
_MOST_ROUNDS: Final = 40
"""The limit on retries of tests that a panic prevented; each round gives at least one more test its verdict."""


class GoTest(msgspec.Struct, frozen=True, kw_only=True):
    """The test runner for `go test`."""

    command: tuple[str, ...]
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests, or those with some ids."""
        names = None if ids is None else function_names(ids)
        command = with_options(self.command, "-json", "-count=1", *([] if names is None else ["-run", _any_of(names)]))
        packages = await self._packages(path)
        if not packages:
            stream, finished = await self._run(path, command)
            return judge_stream(finished, stream, ids, files)
        rounds = await self._rounds(path, packages, names)
        is_unseen = not self._vet_options() and any(_UNSEEN.search(one.finished.output) for one in rounds)
        if is_unseen and await _lacks_overlay_in_vet(self.command[0], self.sandbox):
            rounds = await self._rounds(path, packages, names)
        first, sure = rounds[0], None
        is_over = len(rounds) == 1 and first.finished.ended == "done" and not (first.early or first.bent)
        if is_over and all(test.verdict not in _BAD for test in first.tests.values()):
            # The failing canary makes every run fail: only the exit code of a run without it means something.
            sure = await self._round(path, packages, names, failing=False)
        missing = unfinished_tests(packages, rounds, names)
        run = combine_rounds(command, locate_tests(path, packages), rounds, sure, missing, ids, files)
        return msgspec.structs.replace(run, limits=(*run.limits, _NO_VET)) if self._vet_options() else run

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        """Return the names of the tests; subtests are known only when they run."""
        command = with_options(self.command, "-json", "-list", ".")
        stream, finished = await self._run(path, command)
        limits = ("subtests are known only when they run", *([NO_FILES] if files is not None else []))
        places = locate_tests(path, await self._packages(path))
        return CollectedTests(
            ids=tuple(stream.listed),
            files={id_: places[id_][0] for id_ in stream.listed if id_ in places},
            errors={id: test for id, test in stream.tests.items() if test.verdict == "error"},
            problems=finished.problems,
            limits=limits,
            output=finished.output,
        )

    def _vet_options(self) -> list[str]:
        """Return the option without which this Go runs no test beside a canary, if a probe has shown that."""
        return ["-vet=off"] if _without_vet.get(_place(self.command[0], self.sandbox)) else []

    async def _packages(self, path: Path) -> list[GoPackage]:
        """Return the packages that can have canaries; none if the command rules them out."""
        if option_against_canaries(self.command):
            return []
        listed = await run_in_checkout(path, listing_command(self.command), timeout=self.timeout, sandbox=self.sandbox)
        return read_packages(listed.output)

    async def _rounds(self, path: Path, packages: list[GoPackage], names: frozenset[str] | None) -> list[GoRound]:
        """Run all requested tests, then rerun the unfinished ones as long as that gives new verdicts."""
        rounds = [await self._round(path, packages, names, failing=True)]
        while rounds[-1].early and rounds[-1].finished.ended == "done" and len(rounds) < _MOST_ROUNDS:
            rest = unfinished_tests(packages, rounds, names)
            if not rest or (len(rounds) > 1 and rest == unfinished_tests(packages, rounds[:-1], names)):
                break
            again = [one for one in packages if any(id_.startswith(f"{one.import_path}::") for id_ in rest)]
            rounds.append(await self._round(path, again, function_names(rest), failing=True))
        return rounds

    async def _round(
        self, path: Path, packages: list[GoPackage], names: frozenset[str] | None, *, failing: bool
    ) -> GoRound:
        with temporary_folder("scratch") as scratch:
            canaries = GoCanaries(packages, scratch, failing=failing)
            options = ["-json", "-count=1", *self._vet_options(), f"-overlay={canaries.overlay}"]
            # The waiting canary takes one of the slots for parallel tests.
            if not any(word.lstrip("-").startswith("parallel") for word in self.command):
                options.append(f"-parallel={(os.cpu_count() or 1) + 1}")
            options += [] if names is None else ["-run", _any_of(names, PATTERN)]
            stream, finished = await self._run(path, with_options(self.command, *options), scratch)
        finished = msgspec.structs.replace(finished, output=canaries.hidden(finished.output))
        return read_round(stream, finished, canaries)

    async def _run(
        self, path: Path, command: tuple[str, ...], scratch: Path | None = None
    ) -> tuple[GoStream, CommandResult]:
        stream, count = GoStream(), COUNT.get()

        def listen(chunk: bytes) -> None:
            stream.hear(chunk)
            count(len(stream.tests), 0)

        finished = await run_in_checkout(
            path, command, scratch=scratch, timeout=self.timeout, sandbox=self.sandbox, listen=listen
        )
        stream.hear(b"\n")
        return stream, finished


def with_options(command: tuple[str, ...], *options: str) -> tuple[str, ...]:
    """Insert options into a `go test` command, before its packages."""
    at = command.index("test") + 1 if "test" in command else len(command)
    wanted = [option for option in options if option not in command]
    return (*command[:at], *wanted, *command[at:])


def _any_of(names: Iterable[str], *patterns: str) -> str:
    return f"^({'|'.join([*map(re.escape, sorted(names)), *patterns])})$"


def judge_stream(
    finished: CommandResult,
    stream: GoStream,
    ids: tuple[str, ...] | None = None,
    files: tuple[str, ...] | None = None,
) -> TestRun:
    """Judge a run by its stream and exit code alone, for commands that rule out canaries."""
    bad = [test.id for test in stream.tests.values() if test.verdict in _BAD]
    problems = list(finished.problems)
    problems += [f"a panic ended the tests of {package}" for package in stream.panicked]
    if finished.exit is not None and not stream.tests:
        problems.append("no tests were found")
    if finished.exit and not bad:
        problems.append(f"go ended with {finished.exit}, and no test says why")
    problems += [f"{id_} did not end" for id_ in stream.started if id_ not in stream.tests][:_SHOWN]
    problems += [f"{id_} was not run" for id_ in ids or () if id_ not in stream.tests]
    tests = select_results(stream.tests, ids)
    return finished.as_test_run(
        tests=tests,
        collected=tuple(dict.fromkeys([*stream.started, *stream.tests])),
        chosen=tuple(tests),
        problems=tuple(problems),
        bent=(
            *([f"go ended with 0, and {bad[0]} did not pass"] if finished.exit == 0 and bad else []),
            *conflicting_verdicts(stream),
        ),
        limits=(*LIMITS, *([NO_FILES] if files is not None else [])),
    )
