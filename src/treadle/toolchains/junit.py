"""Any runner that writes JUnit files: test by test, with two witnesses, and as much as the files say."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Enclosure
from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.command import NOT_CHOSEN, listed
from treadle.toolchains.files import read_bytes
from treadle.toolchains.junit_report import JunitCase, read_junit
from treadle.toolchains.node_command import REPORTER, with_files, with_reporter
from treadle.toolchains.node_guard import NodeGuard, Seen, bent, guards, is_seen
from treadle.toolchains.process import Finished, scratch_folder
from treadle.toolchains.results import NO_CANARIES, Collected, Kind, TestResult, TestRun, Verdict

_NAMED: Final = "failure kinds are those that the report names; where it names none they are `unknown`"
LIMITS: Final = (
    _NAMED,
    f"two witnesses (the report and the exit code), and {NO_CANARIES}",
)
GUARDED: Final = "three witnesses (the report, what was seen from inside, and the exit code), and no mirrors"
IN_REACH: Final = (
    "the report lies in the checkout, within reach of the code under test; `{report}` in the command mends it"
)
_MAX_REPORTS: Final = 2_000
_SHOWN: Final = 1_500
_OF_FILES: Final[dict[Verdict, Verdict]] = {"passed": "skipped", "failed": "error"}
"""A file that stands for itself had no tests, or could not be read: it is no test that passed or failed."""
_NAMES: Final = ("classname", "name", "file")
_FILE: Final = re.compile(r"[^\s:]+\.[cm]?[jt]sx?\Z")
_PLACES: Final = ("", "test", "tests")
"""Class names that say nothing about where a test is."""

_KINDS: Final[tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...]] = (
    (
        "assertion",
        re.compile("AssertionError|AssertionFailed|ComparisonFailure"),
        re.compile(r"^\s*cause: AssertionError\b|^Error: expect\(", re.MULTILINE),
    ),
    (
        "not_implemented",
        re.compile("NotImplemented|UnsupportedOperation"),
        re.compile(
            r"^\s*(?:cause: )?\w*Error(?: \[Error\])?: not (?:yet )?implemented\b", re.MULTILINE | re.IGNORECASE
        ),
    ),
    ("timeout", re.compile("Timeout|TimedOut"), re.compile(r"^(?:Error: )?Test timed out in ", re.MULTILINE)),
)


class Junit(msgspec.Struct, frozen=True, kw_only=True):
    """A project whose tests leave JUnit files."""

    command: tuple[str, ...]
    """`{report}` in it stands for the file to write."""
    report: str = ""
    """Else the files, as a pattern below the checkout."""
    listing: tuple[str, ...] = ()
    timeout: float = 600.0
    sandbox: Enclosure | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests; results of tests that were not asked for are left out."""
        with scratch_folder() as scratch:
            target = scratch / "report" / "junit.xml"
            target.parent.mkdir()
            words = with_reporter(with_files(self.command, path))
            command = tuple(word.replace("{report}", str(target)) for word in words)
            # Where the command names the report's place, no other file is believed, whoever has left it.
            pattern = self.report if command == words else ""
            before = _stamps(path, pattern)
            guard = NodeGuard(scratch) if guards(command) else None
            finished = await run_in(
                path,
                command,
                scratch=scratch,
                timeout=self.timeout,
                sandbox=self.sandbox,
                readable=(REPORTER.parent,),
                more=guard.environment if guard else {},
            )
            fresh = [file for file, stamp in _stamps(path, pattern).items() if before.get(file) != stamp]
            cases, problems = _read_all(fresh if pattern else [target] if target.exists() else [])
            seen = guard.lines() if guard else []
        run = _judged(command, finished, [_below(case, path) for case in cases], problems, ids, files)
        run = msgspec.structs.replace(run, limits=(*run.limits, *([IN_REACH] if pattern else [])))
        return _guarded(run, cases, seen)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The tests that the listing command names; without one, those that a run of them shows."""
        if not self.listing:
            return _shown(await self.test(path, files=files))
        found = await listed(self.listing, path, files, timeout=self.timeout, sandbox=self.sandbox)
        return msgspec.structs.replace(found, ids=tuple(map(_as_reported, found.ids)))


def _guarded(run: TestRun, cases: list[JunitCase], seen: list[Seen]) -> TestRun:
    """A run with what was seen of it from inside."""
    passed = [case.name for case in cases if not case.statuses and not _is_whole_file(case)]
    limits = (_NAMED, GUARDED) if is_seen(seen) else LIMITS
    return msgspec.structs.replace(
        run, bent=(*run.bent, *bent(seen, passed)), limits=(*limits, *run.limits[len(LIMITS) :])
    )


def _as_reported(id_: str) -> str:
    """A test as reports call it; `vitest list` has the same sign between a file and its tests as between suites."""
    file, sign, rest = id_.partition(" > ")
    return f"{file}::{rest}" if sign and _FILE.match(file) else id_


def _shown(run: TestRun) -> Collected:
    """The tests that a run has found; how they ended says nothing about that."""
    return Collected(
        ids=run.chosen,
        errors={id: test for id, test in run.tests.items() if test.phase == "collect" and test.verdict == "error"},
        problems=() if run.tests else run.problems,
        bent=run.bent,
        limits=(*run.limits, "the tests were run to list them"),
        output=run.output,
    )


def _stamps(path: Path, pattern: str) -> dict[Path, tuple[int, ...]]:
    """The reports that are there, and what tells whether they are written anew: an old one is no result."""
    found = islice(path.glob(pattern), _MAX_REPORTS) if pattern else ()
    states = {file: file.lstat() for file in sorted(found)}
    return {file: (state.st_ino, state.st_size, state.st_mtime_ns) for file, state in states.items()}


def _read_all(reports: list[Path]) -> tuple[list[JunitCase], list[str]]:
    cases: list[JunitCase] = []
    problems = [] if reports else ["the run left no fresh JUnit file"]
    for report in reports:
        try:
            if (data := read_bytes(report)) is None:
                raise ValueError("it is no plain file, or too large")
            cases += read_junit(data)
        except ValueError as error:
            problems.append(f"{report.name} cannot be read: {error}")
    return cases, problems


def _below(case: JunitCase, path: Path) -> JunitCase:
    """A case whose file is named as it is in every checkout."""
    for root in {str(path), str(path.resolve())}:
        names = {name: value.replace(f"{root}/", "") for name in _NAMES if root in (value := getattr(case, name))}
        case = msgspec.structs.replace(case, **names)
    return case


def _judged(
    command: tuple[str, ...],
    finished: Finished,
    cases: list[JunitCase],
    problems: list[str],
    ids: tuple[str, ...] | None,
    files: tuple[str, ...] | None,
) -> TestRun:
    tests = results_of(cases)
    wanted = {id: test for id, test in tests.items() if (ids is None or id in ids) and _in_files(test, files)}
    problems = [*problems_of(command, finished), *problems, *_about(tests, finished)]
    problems += [f"{id} was not run" for id in ids or () if id not in tests]
    return TestRun(
        command=command,
        exit=finished.exit,
        duration=finished.duration,
        ended=finished.ended,
        tests=wanted,
        collected=tuple(tests),
        chosen=tuple(wanted),
        output=finished.output,
        problems=tuple(problems),
        bent=tuple(_disagreements(tests, finished)),
        limits=(*LIMITS, *([NOT_CHOSEN] if ids is not None or files is not None else [])),
        isolation=finished.isolation,
    )


def _in_files(test: TestResult, files: tuple[str, ...] | None) -> bool:
    return files is None or any(test.file == file or test.id.startswith(f"{file}::") for file in files)


def _about(tests: dict[str, TestResult], finished: Finished) -> Iterator[str]:
    if finished.exit and not tests:
        said = finished.output.strip()[-_SHOWN:]
        words = f"; it printed:\n{said}" if said else ""
        yield f"the command ended with {finished.exit} after {finished.duration:.0f} s and named no test{words}"
    elif finished.exit == 0 and not tests:
        yield "no tests were found"
    elif finished.exit and not any(test.verdict in ("failed", "error") for test in tests.values()):
        yield f"the command ended with {finished.exit}, and no test says why"


def _disagreements(tests: dict[str, TestResult], finished: Finished) -> Iterator[str]:
    bad = [test.id for test in tests.values() if test.verdict in ("failed", "error")]
    if finished.exit == 0 and bad:
        yield f"the command ended with 0, and {bad[0]} did not pass"


def results_of(cases: list[JunitCase]) -> dict[str, TestResult]:
    """Results by id; several with one name are numbered, so that none of them can hide or vanish."""
    tests: dict[str, TestResult] = {}
    times: dict[str, int] = {}
    for case in cases:
        test = _result(case)
        times[test.id] = times.get(test.id, 0) + 1
        id_ = test.id if times[test.id] == 1 else f"{test.id} ({times[test.id]})"
        while id_ in tests:
            id_ += "'"
        tests[id_] = msgspec.structs.replace(test, id=id_)
    return tests


def _result(case: JunitCase) -> TestResult:
    verdict, is_file = _verdict(case.statuses), _is_whole_file(case)
    kind: Kind = kind_of(case) if verdict in ("failed", "error") else ""
    return TestResult(
        id=id_of(case),
        verdict=_OF_FILES.get(verdict, verdict) if is_file else verdict,
        phase="collect" if is_file else "call",
        kind="import" if is_file and kind in ("unknown", "assertion") else kind,
        message=case.message,
        file=case.file or (case.classname if _FILE.match(case.classname) else ""),
        line=case.line,
        duration=case.seconds,
    )


def _is_whole_file(case: JunitCase) -> bool:
    """Whether it stands for a file whose tests could not be found: node and vitest name it as the file."""
    return _FILE.match(case.name) is not None and case.name in (case.classname, case.file, *_alone(case))


def _alone(case: JunitCase) -> tuple[str, ...]:
    return (case.name,) if not case.suites and case.classname in _PLACES else ()


def _verdict(statuses: tuple[str, ...]) -> Verdict:
    if "skipped" in statuses:  # node tells so about tests that are marked as still to be done
        return "xfailed" if len(set(statuses)) > 1 else "skipped"
    if "failure" in statuses:
        return "failed"
    return "error" if "error" in statuses else "passed"


def id_of(case: JunitCase) -> str:
    """Where a test is, as well as the report says it, and its name."""
    if case.classname not in _PLACES:
        places = [case.classname] if not case.file or case.file in case.classname else [case.file, case.classname]
    else:
        places = [*([case.file] if case.file else []), *case.suites]
    return "::".join([*places, case.name])


def kind_of(case: JunitCase) -> Kind:
    """Why a test failed, if its report names a type that says so, or has it in the form of node or jest."""
    for kind, types, texts in _KINDS:
        if types.search(case.type) or texts.search(case.message):
            return kind
    return "unknown"
