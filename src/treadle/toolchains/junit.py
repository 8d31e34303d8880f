"""Run any test command that writes JUnit files: results test by test, with the report and the exit code as
witnesses.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import msgspec

from treadle.git.files import temporary_folder
from treadle.toolchains.command import NOT_CHOSEN, PlainCommand
from treadle.toolchains.node import (
    REPORTER,
    NodeGuard,
    can_guard,
    guard_disagreements,
    saw_tests,
    with_files,
    with_reporter,
)
from treadle.toolchains.process import read_bytes, run_in_checkout
from treadle.toolchains.results import (
    MAX_MESSAGE,
    NO_CANARIES,
    CollectedTests,
    CommandResult,
    FailureKind,
    TestResult,
    TestRun,
    Verdict,
)

# Parsing JUnit files, which every tool writes in its own way.

_BAD: Final = ("failure", "error")
MOST: Final = 1_000_000
"""The limit on elements of a report, far above any real test suite."""


class JunitCase(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a report."""

    suites: tuple[str, ...]
    classname: str
    name: str
    file: str = ""
    line: int = 0
    seconds: float = 0.0
    statuses: tuple[str, ...] = ()
    """`failure`, `error`, `skipped`; none: it passed."""
    type: str = ""
    message: str = ""


class _Refused(ValueError):
    """A report that the parser refuses before its end."""


class _Tree(ElementTree.TreeBuilder):
    """A tree builder that refuses harmful reports in any encoding: document types (entities) and too many elements."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def doctype(self, *_: str | None) -> None:
        raise _Refused("it declares a document type, which no test report needs")

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._count += 1
        if self._count > MOST:
            raise _Refused(f"it has more than {MOST:,} elements")
        return super().start(tag, attrs)


def read_junit(data: bytes) -> list[JunitCase]:
    """Parse the tests of a report; raise `ValueError` with the reason if it is not one."""
    try:
        root = ElementTree.fromstring(data, ElementTree.XMLParser(target=_Tree()))  # noqa: S314, RUF100 - see there
    except _Refused:
        raise
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"it is not XML: {error}") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"it begins with <{root.tag[:40]}>, and a report begins with <testsuites> or <testsuite>")
    return list(_cases(root))


def _cases(root: ElementTree.Element) -> Iterator[JunitCase]:
    """Yield the cases in order, with a stack instead of recursion: a file may be nested to any depth."""
    stack: list[tuple[ElementTree.Element, tuple[str, ...]]] = [(root, ())]
    while stack:
        element, suites = stack.pop()
        if element.tag == "testcase":
            yield _case(element, suites)
        elif element.tag in ("testsuite", "testsuites"):
            name = element.get("name", "") if element.tag == "testsuite" else ""
            below = (*suites, name) if name else suites
            stack += [(child, below) for child in reversed(element)]


def _case(element: ElementTree.Element, suites: tuple[str, ...]) -> JunitCase:
    results = [child for child in element if child.tag in (*_BAD, "skipped")]
    first = next((child for child in results if child.tag in _BAD), results[0] if results else None)
    text = "" if first is None else "\n".join(filter(None, [first.get("message", ""), (first.text or "").strip()]))
    line = element.get("line", "0")
    return JunitCase(
        suites=suites,
        classname=element.get("classname", ""),
        name=element.get("name", ""),
        file=element.get("file", ""),
        line=int(line) if line.isdecimal() and len(line) < 10 else 0,
        seconds=_seconds(element.get("time", "0")),
        statuses=tuple(child.tag for child in results),
        type=first.get("type", "") if first is not None else "",
        message=text[:MAX_MESSAGE],
    )


def _seconds(text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e9 else 0.0


_NAMED: Final = "failure kinds are those that the report names; where it names none they are `unknown`"
LIMITS: Final = (
    _NAMED,
    f"two witnesses (the report and the exit code), and {NO_CANARIES}",
)
GUARDED: Final = "three witnesses (the report, what was seen from inside, and the exit code), and no mirrors"
IN_REACH: Final = "the report lies in the checkout, within reach of the code under test; use `{report}` in the command"
_MAX_REPORTS: Final = 2_000
_SHOWN: Final = 1_500
_OF_FILES: Final[dict[Verdict, Verdict]] = {"passed": "skipped", "failed": "error"}
"""Verdicts for a whole file: it had no tests, or could not be read; it is no test that passed or failed."""
_NAMES: Final = ("classname", "name", "file")
_FILE: Final = re.compile(r"[^\s:]+\.[cm]?[jt]sx?\Z")
_PLACES: Final = ("", "test", "tests")
"""Class names that do not locate a test."""

_KINDS: Final[tuple[tuple[FailureKind, re.Pattern[str], re.Pattern[str]], ...]] = (
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


class Junit(PlainCommand, frozen=True, kw_only=True):
    """A test runner for commands that write JUnit files; `{report}` in the command stands for the file to write."""

    report: str = ""
    """A glob for the report files in the checkout, if the command has no `{report}`."""

    async def test(
        self, path: Path, ids: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None
    ) -> TestRun:
        """Run all tests and return the results of the requested ones."""
        with temporary_folder("scratch") as scratch:
            target = scratch / "report" / "junit.xml"
            target.parent.mkdir()
            words = with_reporter(with_files(self.command, path))
            command = tuple(word.replace("{report}", str(target)) for word in words)
            # Where the command names the report's place, Treadle believes no other file.
            pattern = self.report if command == words else ""
            before = _stamps(path, pattern)
            guard = NodeGuard(scratch) if can_guard(command) else None
            finished = await run_in_checkout(
                path,
                command,
                scratch=scratch,
                timeout=self.timeout,
                sandbox=self.sandbox,
                readable=(REPORTER.parent,),
                more=guard.environment if guard else {},
            )
            fresh = [file for file, stamp in _stamps(path, pattern).items() if before.get(file) != stamp]
            cases, problems = read_reports(fresh if pattern else [target] if target.exists() else [])
            seen = guard.lines() if guard else []
        run = judge_report(finished, [below_checkout(case, path) for case in cases], problems, ids, files)
        passed = [case.name for case in cases if not case.statuses and not _is_whole_file(case)]
        limits = [_NAMED, GUARDED] if saw_tests(seen) else [*LIMITS]
        limits += [NOT_CHOSEN] if ids is not None or files is not None else []
        limits += [IN_REACH] if pattern else []
        bent = (*run.bent, *guard_disagreements(seen, passed))
        return msgspec.structs.replace(run, bent=bent, limits=tuple(limits))

    async def collect(self, path: Path, files: tuple[str, ...] | None = None) -> CollectedTests:
        """Return the tests that the listing command prints; without one, run the tests to list them."""
        if not self.listing:
            run = await self.test(path, files=files)
            return CollectedTests(
                ids=run.chosen,
                errors={id: one for id, one in run.tests.items() if one.phase == "collect" and one.verdict == "error"},
                problems=() if run.tests else run.problems,
                bent=run.bent,
                limits=(*run.limits, "the tests were run to list them"),
                output=run.output,
            )
        listed = await super().collect(path, files)
        # `vitest list` prints ` > ` both after the file and between suites, and its report `::` after the file.
        parts = {id_: id_.partition(" > ") for id_ in listed.ids}
        ids = (f"{file}::{rest}" if rest and _FILE.match(file) else id_ for id_, (file, _, rest) in parts.items())
        return msgspec.structs.replace(listed, ids=tuple(ids))


def _stamps(path: Path, pattern: str) -> dict[Path, tuple[int, ...]]:
    """Stamp the existing reports to detect which ones the run writes: a stale report is no result."""
    found = islice(path.glob(pattern), _MAX_REPORTS) if pattern else ()
    states = {file: file.lstat() for file in sorted(found)}
    return {file: (state.st_ino, state.st_size, state.st_mtime_ns) for file, state in states.items()}


def read_reports(reports: list[Path]) -> tuple[list[JunitCase], list[str]]:
    """Return the tests of some report files, and the problems with these files."""
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


def below_checkout(case: JunitCase, path: Path) -> JunitCase:
    """Make the paths in a case relative to the checkout."""
    for root in {str(path), str(path.resolve())}:
        names = {name: value.replace(f"{root}/", "") for name in _NAMES if root in (value := getattr(case, name))}
        case = msgspec.structs.replace(case, **names)
    return case


def judge_report(
    finished: CommandResult,
    cases: list[JunitCase],
    problems: list[str],
    ids: tuple[str, ...] | None,
    files: tuple[str, ...] | None,
) -> TestRun:
    """Judge a run by its report and its exit code."""
    tests = results_of(cases)
    bad = [test.id for test in tests.values() if test.verdict in ("failed", "error")]
    problems = [*finished.problems, *problems]
    if finished.exit and not tests:
        printed = finished.output.strip()[-_SHOWN:]
        words = f"; it printed:\n{printed}" if printed else ""
        ending = f"ended with {finished.exit} after {finished.duration:.0f} s"
        problems.append(f"the command {ending} and named no test{words}")
    elif finished.exit == 0 and not tests:
        problems.append("no tests were found")
    elif finished.exit and not bad:
        problems.append(f"the command ended with {finished.exit}, and no test says why")
    problems += [f"{id} was not run" for id in ids or () if id not in tests]

    wanted = {
        id: test
        for id, test in tests.items()
        if (ids is None or id in ids)
        and (files is None or any(test.file == file or id.startswith(f"{file}::") for file in files))
    }
    return finished.as_test_run(
        tests=wanted,
        collected=tuple(tests),
        chosen=tuple(wanted),
        problems=tuple(problems),
        bent=(f"the command ended with 0, and {bad[0]} did not pass",) if finished.exit == 0 and bad else (),
    )


def results_of(cases: list[JunitCase]) -> dict[str, TestResult]:
    """Return results by id; number those with the same name, so that none hides another."""
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
    verdict: Verdict = "passed"
    if "skipped" in case.statuses:  # node reports tests that are still to be done as skipped and failed
        verdict = "xfailed" if len(set(case.statuses)) > 1 else "skipped"
    elif "failure" in case.statuses:
        verdict = "failed"
    elif "error" in case.statuses:
        verdict = "error"
    is_file = _is_whole_file(case)
    kind: FailureKind = kind_of(case) if verdict in ("failed", "error") else ""
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
    """Whether a case stands for a file without readable tests: node and vitest name such a case after the file."""
    is_alone = not case.suites and case.classname in _PLACES
    return _FILE.match(case.name) is not None and (is_alone or case.name in (case.classname, case.file))


def id_of(case: JunitCase) -> str:
    """Build a test's id from its location in the report and its name."""
    if case.classname not in _PLACES:
        places = [case.classname] if not case.file or case.file in case.classname else [case.file, case.classname]
    else:
        places = [*([case.file] if case.file else []), *case.suites]
    return "::".join([*places, case.name])


def kind_of(case: JunitCase) -> FailureKind:
    """Classify a failure by the type in the report, or by the message formats of node and jest."""
    for kind, types, texts in _KINDS:
        if types.search(case.type) or texts.search(case.message):
            return kind
    return "unknown"
