"""Any runner that writes JUnit files: test by test, with two witnesses, and as much as the files say."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from treadle.toolchains.checkout import problems_of, run_in
from treadle.toolchains.command import NOT_CHOSEN, listed
from treadle.toolchains.files import read_bytes
from treadle.toolchains.junit_report import JunitCase, read_junit
from treadle.toolchains.process import Finished, scratch_folder
from treadle.toolchains.results import Collected, Kind, TestResult, TestRun, Verdict
from treadle.toolchains.sandbox import Sandbox

LIMITS: Final = (
    "failure kinds are those that the report names; where it names none they are `unknown`",
    "two witnesses (the report and the exit code), and no canaries",
)
_MAX_REPORTS: Final = 2_000
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
    ("timeout", re.compile("Timeout|TimedOut"), re.compile(r"^Error: Test timed out in ")),
)


class Junit(msgspec.Struct, frozen=True, kw_only=True):
    """A project whose tests leave JUnit files."""

    command: tuple[str, ...]
    """`{report}` in it stands for the file to write."""
    report: str = ""
    """Else the files, as a pattern below the checkout."""
    listing: tuple[str, ...] = ()
    timeout: float = 600.0
    sandbox: Sandbox | None = None

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests; results of tests that were not asked for are left out."""
        with scratch_folder() as scratch:
            target = scratch / "report" / "junit.xml"
            target.parent.mkdir()
            command = tuple(word.replace("{report}", str(target)) for word in self.command)
            before = _stamps(path, self.report)
            finished = await run_in(path, command, scratch=scratch, timeout=self.timeout, sandbox=self.sandbox)
            fresh = [file for file, stamp in _stamps(path, self.report).items() if before.get(file) != stamp]
            cases, problems = _read_all([target] if target.exists() else fresh)
        return _judged(command, finished, cases, problems, ids, files)

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> Collected:
        """The tests that the listing command names."""
        return await listed(self.listing, path, files, timeout=self.timeout, sandbox=self.sandbox)


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
    if finished.exit is not None and not tests:
        yield "no tests were found"
    if finished.exit and not any(test.verdict in ("failed", "error") for test in tests.values()):
        yield f"the command ended with {finished.exit}, and no test says why"


def _disagreements(tests: dict[str, TestResult], finished: Finished) -> Iterator[str]:
    bad = [test.id for test in tests.values() if test.verdict in ("failed", "error")]
    if finished.exit == 0 and bad:
        yield f"the command ended with 0, and {bad[0]} did not pass"


def results_of(cases: list[JunitCase]) -> dict[str, TestResult]:
    """Results by id; of several with one id the worst counts."""
    order: tuple[Verdict, ...] = ("passed", "skipped", "xfailed", "error", "failed")
    tests: dict[str, TestResult] = {}
    for case in cases:
        test = _result(case)
        known = tests.get(test.id)
        if known is None or order.index(known.verdict) < order.index(test.verdict):
            tests[test.id] = test
    return tests


def _result(case: JunitCase) -> TestResult:
    verdict = _verdict(case.statuses)
    return TestResult(
        id=id_of(case),
        verdict=verdict,
        kind=kind_of(case) if verdict in ("failed", "error") else "",
        message=case.message,
        file=case.file,
        line=case.line,
        duration=case.seconds,
    )


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
