"""Several runs of `go test` with canaries, and what they say together."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.checkout import problems_of
from treadle.toolchains.go_canaries import GoCanaries
from treadle.toolchains.go_packages import GoPackage
from treadle.toolchains.go_stream import GoStream
from treadle.toolchains.process import Finished
from treadle.toolchains.results import MAX_OUTPUT, TestResult, TestRun

LIMITS: Final = ("three witnesses (the stream, canaries and the exit code), and no mirrors",)
NO_FILES: Final = "Go chooses packages and names, not files: the tests of all files ran"
_BAD: Final = ("failed", "error")
_SHOWN: Final = 20


class GoRound(msgspec.Struct, frozen=True):
    """One run of `go test`."""

    stream: GoStream
    finished: Finished
    early: dict[str, str]
    """The packages whose tests did not come to their end, each with what tells so."""
    tests: dict[str, TestResult]
    """What is believed: of packages that ended early, only what failed."""
    started: tuple[str, ...]
    bent: tuple[str, ...]

    @property
    def stopped(self) -> set[str]:
        """The tests at which a package ended by itself: it would do so again."""
        ended = [package for package in self.early if package not in self.stream.panicked]
        unfinished = [id_ for id_ in self.started if id_ not in self.stream.verdicts and id_ not in self.stream.paused]
        return {whole(id_) for id_ in unfinished if id_.partition("::")[0] in ended}


def told(stream: GoStream, finished: Finished, canaries: GoCanaries) -> GoRound:
    """What a run says, without its canaries."""
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
    bent += [f"{id_} is told to have ended after all tests had" for id_ in canaries.late(stream)]
    started = tuple(id_ for id_ in stream.started if not canaries.is_own(id_))
    return GoRound(stream, finished, early, tests, started, (*bent, *twofold(stream)))


def twofold(stream: GoStream) -> Iterator[str]:
    """Tests with more than one verdict, of which the program must have printed one itself."""
    for id_, verdicts in stream.verdicts.items():
        if len(set(verdicts)) > 1:
            yield f"{id_} has {len(verdicts)} verdicts: {', '.join(verdicts[:4])}"


def whole(id_: str) -> str:
    """The test that a subtest belongs to."""
    return id_.partition("/")[0] if "::" not in id_ else f"{id_.partition('::')[0]}::{_name(id_)}"


def _name(id_: str) -> str:
    return id_.partition("::")[2].partition("/")[0]


def names_of(ids: Iterable[str]) -> frozenset[str]:
    """The names of the functions of some tests."""
    return frozenset(id_.rpartition("::")[2].partition("/")[0] for id_ in ids)


def left(packages: Sequence[GoPackage], rounds: Sequence[GoRound], names: frozenset[str] | None) -> set[str]:
    """The tests that are asked for and have no verdict, in packages that ended early in the last round."""
    early = rounds[-1].early
    written = {f"{one.import_path}::{name}" for one in packages for name in one.tests() if one.import_path in early}
    written |= {whole(id_) for one in rounds for id_ in one.started if id_.partition("::")[0] in early}
    known = {whole(id_) for one in rounds for id_ in one.tests} | {id_ for one in rounds for id_ in one.stopped}
    return {id_ for id_ in written - known if names is None or _name(id_) in names}


def is_all_well(rounds: Sequence[GoRound]) -> bool:
    """Whether nothing speaks against a run, so that only its exit code is left to be seen."""
    one = rounds[-1]
    is_over = len(rounds) == 1 and one.finished.ended == "done" and not (one.early or one.bent)
    return is_over and all(test.verdict not in _BAD for test in one.tests.values())


def placed(path: Path, packages: Sequence[GoPackage]) -> dict[str, tuple[str, int]]:
    """Where tests are written: the file, as a path below the checkout, and the line."""
    root = path.resolve()
    found: dict[str, tuple[str, int]] = {}
    for one in packages:
        folder = Path(one.dir)
        below = folder.relative_to(root) if folder.is_relative_to(root) else folder
        found |= {f"{one.import_path}::{name}": (str(below / file), line) for name, (file, line) in one.tests().items()}
    return found


def witnessed(
    command: tuple[str, ...],
    places: dict[str, tuple[str, int]],
    rounds: Sequence[GoRound],
    sure: GoRound | None,
    missing: Iterable[str],
    ids: tuple[str, ...] | None,
    files: tuple[str, ...] | None,
) -> TestRun:
    """What all runs say together; `sure`: the one without a canary that must fail; `missing`: what never ran."""
    every = [*rounds, *([sure] if sure else [])]
    tests = _together(every, places)
    chosen = asked_for(tests, ids)
    problems = [text for one in every for text in problems_of(command, one.finished)]
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
        bent=tuple(dict.fromkeys([*(text for one in every for text in one.bent), *_disagreements(rounds, sure)])),
        limits=(*LIMITS, *([NO_FILES] if files is not None else [])),
        isolation=last.isolation,
    )


def _together(every: Sequence[GoRound], places: dict[str, tuple[str, int]]) -> dict[str, TestResult]:
    """Every test with its worst verdict, and where it is written."""
    tests: dict[str, TestResult] = {}
    for one in every:
        for id_, test in one.tests.items():
            if id_ not in tests or (test.verdict in _BAD and tests[id_].verdict not in _BAD):
                tests[id_] = _in_place(test, places.get(whole(id_), ("", 0)))
    return tests


def _in_place(test: TestResult, place: tuple[str, int]) -> TestResult:
    file, line = place
    same = test.file and Path(file).name == test.file
    return msgspec.structs.replace(test, file=file or test.file, line=test.line if same or not file else line)


def asked_for(tests: dict[str, TestResult], ids: tuple[str, ...] | None) -> dict[str, TestResult]:
    """The results of some tests and their subtests, and whatever could not be run."""
    wanted = set(ids or ())
    return {
        id_: test
        for id_, test in tests.items()
        if ids is None or test.verdict == "error" or any(id_ == one or id_.startswith(f"{one}/") for one in wanted)
    }


def _disagreements(rounds: Sequence[GoRound], sure: GoRound | None) -> Iterator[str]:
    first = rounds[0]
    if first.finished.exit == 0 and first.tests:
        yield "go ended with 0, and a canary failed"
    if sure is None or sure.finished.ended != "done":
        return
    bad = [id_ for id_, test in sure.tests.items() if test.verdict in _BAD]
    if sure.finished.exit == 0 and bad:
        yield f"go ended with 0, and {bad[0]} did not pass"
    if sure.finished.exit and not bad:
        yield f"all tests are told to have passed, and go ended with {sure.finished.exit}"
    if lost := [id_ for id_ in first.tests if "/" not in id_ and id_ not in sure.tests]:
        yield f"{lost[0]} is told to have passed, and did not run once more"
