"""Coverage of criteria and of lines.

`manifest`, `manifest_complete`, `coverage_complete` and `traceable` check which criteria have tests. `coverage_kept`
checks that a refactoring keeps the lines that the tests execute.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Final

import msgspec

from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.checks.sign_off import unknown_criteria
from treadle.evidence.criteria import kept_criteria, own_criteria, served_criteria, spec_of, without_own_test
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, note, problem, refuse
from treadle.evidence.manifest import Manifest, ManifestEntry, known_names, read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import (
    COVERS,
    claimed_tests,
    collect_tests,
    reason_for_doubt,
    run_evidence,
    suite_on_work,
)
from treadle.protocol.items import Json
from treadle.protocol.model import tag_of
from treadle.toolchains.line_coverage import LIMITS, LineCoverage
from treadle.toolchains.results import CollectedTests, TestRun
from treadle.toolchains.test_names import function_of, names_of, tests_inside


async def manifest(s: Subject) -> CheckOutcome:
    """Every listed test is collected and maps to a known criterion."""
    listed = await read_manifest(s)
    return conclude([*_missing(listed), *listed.problems, *await _faults(s, listed)], _set_aside(listed))


async def manifest_complete(s: Subject) -> CheckOutcome:
    """Every criterion has a listed test."""
    listed = await read_manifest(s)
    there = await collect_tests(s)
    tests = listed.by_criterion(there)
    problems = [_uncovered(one, listed) for one in kept_criteria(s) if not tests.get(one)]
    problems += shared_tests({one: tests.get(one, []) for one in kept_criteria(s)}, there.ids, _place(listed))
    faults = [*_missing(listed), *listed.problems, *await _faults(s, listed)]
    return conclude([*faults, *problems], _set_aside(listed))


async def coverage_complete(s: Subject) -> CheckOutcome:
    """Check that every criterion not passed on to a child has a passing test."""
    listed = await read_manifest(s)
    run = await suite_on_work(s)
    tests = listed.by_criterion(run)
    problems = [*reason_for_doubt(run), *listed.problems]
    if all(ref.name != "readonly" for ref in s.job.checks):  # `readonly` says it of a step that only reads
        problems += await unknown_criteria(s)
    for one in kept_criteria(s):
        mine = tests.get(one, [])
        if not mine:
            problems.append(_uncovered(one, listed))
        elif not any(id_ in run.passed for id_ in mine):
            what = f"criterion {one} has no passing test: {join_names(mine)}"
            problems.append(problem(what, expected="a passing test", criterion=one, code="manifest.unproved"))
    problems += shared_tests({one: tests.get(one, []) for one in kept_criteria(s)}, run.tests, _place(listed))
    return conclude(problems, ran=run_evidence(run))


def shared_tests(tests: Mapping[str, Collection[str]], every: Iterable[str], file: str = "") -> list[CheckProblem]:
    """Return a problem for each criterion that shares all of its tests with other criteria; `every`: all tests."""
    problems: list[CheckProblem] = []
    inside = tests_inside(every)
    singles = {one: {single for id_ in ids for single in inside.get(id_, (id_,))} for one, ids in tests.items()}
    for one, test in without_own_test(tests, inside).items():
        sharing = [other for other, ids in singles.items() if other != one and ids & {*inside.get(test, (test,))}]
        held = ", which only repeats the verdicts of the tests inside it," if test in inside else ""
        what = f"criterion {one} has no test of its own: {test}{held} stands for {join_names(sharing)}, too"
        wanted = f"a test for {one} alone, which fails where only {one} is missing"
        problems.append(problem(what, file, test=test, expected=wanted, criterion=one, code="manifest.shared"))
    return problems


def unassigned_criteria(s: Subject, run: TestRun, tests: Mapping[str, Collection[str]]) -> list[CheckProblem]:
    """Return the problems of the author's assignment of tests to several criteria.

    It applies only if the claimed exit has a field for the assignment. Without it, two tests of one criterion would
    stand for two criteria, one of them without a test.
    """
    declared, served = s.case.protocol.exits.get(tag_of(s.job.exit)), served_criteria(s)
    if declared is None or COVERS not in declared.fields or len(served) < 2:
        return []
    names, claimed = names_of(run), claimed_tests(s)
    problems: list[CheckProblem] = []
    for criterion, listed in claimed.items():
        if criterion not in served:
            what = f"'{COVERS}' names '{criterion}', which this cycle does not cover"
            wanted = f"one of {join_names(served, 20)}"
            problems.append(problem(what, expected=wanted, criterion=criterion, code="manifest.unknown_criterion"))
        for test in listed:
            if several := names.candidates(test):
                what, wanted = (
                    f"'{test}' matches several tests: {join_names(several, 10)}",
                    f"the full id, e.g. {several[0]}",
                )
                problems.append(problem(what, expected=wanted, criterion=criterion, code="manifest.ambiguous"))
            elif not names.resolve(test):
                what, wanted = f"there is no test '{test}'", f"a test of {criterion} that this cycle has added"
                problems.append(problem(what, expected=wanted, criterion=criterion, code="manifest.unknown_test"))
    for one in served:
        if not tests.get(one) or one not in claimed:
            wanted = (
                f'in `{COVERS}` of the answer, {{"criterion": "{one}", "tests": [a new test that fails without {one}]}}'
            )
            what = f"the answer names no new test for criterion {one}"
            problems.append(problem(what, expected=wanted, criterion=one, code="manifest.uncovered"))
    return problems


def _place(listed: Manifest) -> str:
    return listed.files[0] if listed.files else ""


def _missing(listed: Manifest) -> list[CheckProblem]:
    if listed.files:
        return []
    wanted = "test_manifest.json beside the tests, with the criterion of each test"
    return [problem("there is no test_manifest.json", expected=wanted, code="manifest.missing")]


def _set_aside(listed: Manifest) -> list[CheckProblem]:
    """Note the manifest entries that stand for nothing here, and thus do not count."""
    if not listed.set_aside:
        return []
    specs = sorted({entry.spec for entry in listed.set_aside if entry.spec})
    of = f" of {join_names(specs)}" if specs else ""
    count = len(listed.set_aside)
    entries = "1 entry" if count == 1 else f"{count} entries"
    what = (
        f"{entries} of earlier work{of} set aside: {'it stands' if count == 1 else 'they stand'} for no criterion here"
    )
    return [note(what, listed.files[0], code="manifest.set_aside")]


def _uncovered(criterion: str, listed: Manifest) -> CheckProblem:
    wanted = f'a test that stands for "{criterion}"'
    what = f"criterion {criterion} has no test"
    old = next((it for it in listed.set_aside if it.criterion == criterion and not it.is_contract), None)
    if old is None or old in listed.foreign:
        return problem(what, _place(listed), expected=wanted, criterion=criterion, code="manifest.uncovered")
    what += f": the entry of '{old.test}' is left from earlier work, and its test is as it was before this run"
    wanted = f"a test that fails because {criterion} is missing. If {criterion} only keeps existing behaviour, enter"
    wanted += f" '{old.test}' as `holds:SPEC/{criterion}`, with the id of this spec; a person then decides at the merge"
    return problem(what, old.file, old.line, old.test, wanted, criterion=criterion, code="manifest.uncovered")


async def _faults(s: Subject, listed: Manifest) -> list[CheckProblem]:
    """Return problems for entries of this work with an unknown test or criterion, or with another spec's name."""
    there = await collect_tests(s)
    known = await known_names(s)
    problems = [*await _collection(s, there), *(_foreign(entry, spec_of(s)) for entry in listed.foreign)]
    names = names_of(there)
    for entry in listed.entries:
        if several := names.candidates(entry.test):
            several = await _own_first(s, several, there)
            what = f"'{entry.test}' matches several tests: {join_names(several, 10)}"
            wanted = f"the full id of one, e.g. {several[0]}"
            problems.append(problem(what, entry.file, entry.line, expected=wanted, code="manifest.ambiguous"))
        elif not names.resolve(entry.test):
            problems.append(_not_collected(entry, there))
        if known and entry.criterion not in known:
            wanted = f"one of {join_names(own_criteria(s), 20)}"
            what = f"'{entry.test}' stands for '{entry.criterion}', which is not a criterion"
            problems.append(problem(what, entry.file, entry.line, expected=wanted, code="manifest.unknown_criterion"))
    return problems


async def _own_first(s: Subject, tests: list[str], there: CollectedTests) -> list[str]:
    """Tests with those first that lie in files that the run has added or changed: most likely one of them is meant."""
    touched = await s.touched_since(await s.start())
    files = {function_of(id_): there.files.get(id_) or id_.partition("::")[0] for id_ in there.ids}
    return sorted(tests, key=lambda test: files.get(test, "") not in touched)


def _foreign(entry: ManifestEntry, spec: str) -> CheckProblem:
    what = f"'{entry.test}' stands for a criterion of '{entry.spec}', and this spec is '{spec}'"
    wanted = f'"spec_id": "{spec}", or "{spec}/{entry.criterion}" as the criterion'
    return problem(what, entry.file, entry.line, expected=wanted, code="manifest.foreign")


async def _collection(s: Subject, there: CollectedTests) -> list[CheckProblem]:
    """Return why tests cannot be listed; a file that could not be collected before the run is no fault of this work."""
    if there.errors:
        start = await s.start()
        before = (await s.measure.collected(await s.git.tree(start))).errors
        touched = await s.touched_since(start)
        return [
            problem(f"cannot be collected: {test.message}", test.file or file, test.line, code="tests.uncollectable")
            for file, test in there.errors.items()
            if file not in before or {file, test.file} & set(touched)
        ]
    return [
        problem(f"tests cannot be listed: {one}", code="tests.uncollectable") for one in (*there.problems, *there.bent)
    ]


def _not_collected(entry: ManifestEntry, there: CollectedTests) -> CheckProblem:
    name = entry.test.rpartition("::")[2]
    file = entry.test.partition("::")[0].removeprefix("./")
    near = [id_ for id_ in there.ids if name in id_]
    near.sort(key=lambda id_: (there.files.get(id_) or id_.partition("::")[0]) != file)  # most likely it is meant
    wanted = f"a test of that name{f', e.g. {near[0]}' if near else ''}"
    what = f"there is no test '{entry.test}'"
    return problem(what, entry.file, entry.line, expected=wanted, code="manifest.unknown_test")


# `traceable`: every new test has a purpose in the manifest.


async def traceable(s: Subject) -> CheckOutcome:
    """Every test that this work adds is listed in the manifest."""
    listed = await read_manifest(s)
    there = await collect_tests(s)
    ids, names = there.ids, names_of(there)
    known = {id_ for entry in listed.entries for id_ in names.resolve(entry.test)}
    files = s.changed_tests()
    open_ = [id_ for id_ in ids if id_ not in known and id_.partition("::")[0] in files]
    if not open_:
        return conclude()
    before = set((await s.measure.collected(await s.git.tree(s.work.base))).ids)
    place = listed.files[0] if listed.files else ""
    wanted = 'an entry "<test>": "<criterion id>: …"'
    return conclude(
        problem("stands for no criterion", place, test=id_, expected=wanted, code="manifest.untraceable")
        for id_ in open_
        if id_ not in before
    )


# Maps the lines of a file to the same lines in its earlier version.

_MOST: Final = 4_000_000
"""Pairs of lines that are compared; of larger changes all lines count as changed."""


def kept_lines(before: str, after: str) -> dict[int, int]:
    """Numbers of the lines that did not change, each with its number before."""
    old, new = before.split("\n"), after.split("\n")
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    kept = {number: number for number in range(1, head + 1)}
    kept |= {len(new) - at: len(old) - at for at in range(tail)}
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(middle_old) * len(middle_new) <= _MOST:
        blocks = SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_matching_blocks()
        kept |= {head + b + at + 1: head + a + at + 1 for a, b, size in blocks for at in range(size)}
    return kept


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def ranges(lines: set[int], among: set[int]) -> list[tuple[int, int]]:
    """Join line numbers to ranges; lines in between that are not in `among` do not split a range."""
    found: list[tuple[int, int]] = []
    is_open = False
    for line in sorted(among | lines):
        if line in lines:
            found[-1:] = [(found[-1][0], line)] if is_open else [*found[-1:], (line, line)]
        is_open = line in lines
    return found


# The executable lines of a Python program; marks such as `pragma: no cover` exclude nothing.


class StatementLines(msgspec.Struct, frozen=True):
    """Statements by the number of their first line, and those of them that were executed."""

    statements: frozenset[int]
    executed: frozenset[int]


def statement_lines(source: str, executed: tuple[int, ...]) -> StatementLines | None:
    """Return a program's statements and the executed ones; None if it cannot be parsed."""
    from coverage.exceptions import CoverageException  # noqa: PLC0415 - takes its time to load, and is seldom needed
    from coverage.parser import PythonParser  # noqa: PLC0415

    parser = PythonParser(text=source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parser.parse_source()
    except (CoverageException, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    seen = parser.translate_lines(executed)
    return StatementLines(frozenset(parser.statements), frozenset(seen & parser.statements))


# `coverage_kept`: a refactoring keeps the lines that the tests execute.
#
# It compares the lines of code that the instance has written since it started, before the step and after it.

NOT_AVAILABLE: Final = "coverage is not available"
_CODE: Final = frozenset(
    ".py .js .mjs .cjs .jsx .ts .mts .cts .tsx .go .rs .java .kt .scala .rb .php .cs .c .cc .cpp .swift".split()
)
_NO_LINES: Final = StatementLines(frozenset(), frozenset())


class FileLines(msgspec.Struct, frozen=True):
    """The coverage of one file before and after a step, counting only the instance's own lines."""

    path: str
    before: StatementLines
    """Only the lines that the instance has written."""
    after: StatementLines
    lost: frozenset[int] = frozenset()
    """Executed before, and not now."""
    fresh: frozenset[int] = frozenset()
    """Written in this step, and executed by no test."""


async def coverage_kept(s: Subject) -> CheckOutcome:
    """Lines of this work that the tests ran before the step are run by them after it, and new ones are run."""
    origin = await s.origin()
    code = [path for path in await s.written_since(origin) if s.tests.is_code(path)]
    changed = sorted(path for path in code if PurePosixPath(path).suffix in _CODE)
    python = [path for path in changed if path.endswith(".py")]
    if not changed:
        return conclude(notes=[note("no code was written", code="lines.none")])
    if not python:
        return refuse(f"{NOT_AVAILABLE} for {join_names(changed)}: only Python is measured", code="lines.unmeasured")
    tree = await measured_tree(s)
    after = await s.measure.coverage(tree)
    before = await s.measure.coverage(await s.git.tree(s.work.base)) if after.is_known else after
    for measured in (before, after):
        if not measured.is_known:
            reasons = tuple(problem(f"{NOT_AVAILABLE}: {one}", code="lines.unmeasured") for one in measured.problems)
            return CheckOutcome(problems=reasons, ran=run_evidence(measured.run) if measured.run else None)
    files = {path: await _file(s, path, origin, before, after) for path in python}
    known = [one for one in files.values() if one is not None]
    unread = [path for path in changed if files.get(path) is None]
    problems = [one for file in known for one in _problems(file)]
    problems += [problem(f"{NOT_AVAILABLE} for this file", path, code="lines.unmeasured") for path in unread]
    return CheckOutcome(
        problems=tuple(problems),
        notes=(note(describe_coverage(known), code="lines.share"),),
        ran=run_evidence(after.run) if after.run else None,
        facts={"coverage": coverage_facts(known), "not_measured": list(LIMITS)},
    )


async def _file(s: Subject, path: str, start: str, before: LineCoverage, after: LineCoverage) -> FileLines | None:
    """Compare the lines of a file that the tests ran before and after; None if it cannot be parsed."""
    origin = await s.text(path, start) or ""
    old, new = await s.text(path, s.work.base), await s.text(path) or ""
    then = _NO_LINES if old is None else statement_lines(old, before.lines.get(path, ()))
    now = statement_lines(new, after.lines.get(path, ()))
    if then is None or now is None:
        return None
    return compare_coverage(path, (origin, old or "", new), then, now)


def compare_coverage(path: str, texts: tuple[str, str, str], then: StatementLines, now: StatementLines) -> FileLines:
    """A file as it was when the instance started, before the step, and after it."""
    origin, old, new = texts
    moved = kept_lines(old, new)
    then, now = _own(origin, old, then), _own(origin, new, now)
    idle = now.statements - now.executed
    lost = frozenset(line for line in idle if moved.get(line) in then.executed)
    return FileLines(path, then, now, lost, frozenset(line for line in idle if line not in moved))


def _own(origin: str, text: str, lines: StatementLines) -> StatementLines:
    """The lines that were not there when the instance started."""
    foreign = kept_lines(origin, text).keys()
    return StatementLines(lines.statements - foreign, lines.executed - foreign)


def _problems(file: FileLines) -> list[CheckProblem]:
    told = (
        (
            file.lost,
            "the tests ran this before the step and do not run it now",
            "tests that run it still",
            "lines.lost",
        ),
        (
            file.fresh,
            "this was written in this step and no test runs it",
            "only what the tests ask for",
            "lines.untested",
        ),
    )
    return [
        problem(
            f"{f'line {first}' if first == last else f'lines {first} to {last}'}: {what}",
            file.path,
            first,
            expected=wanted,
            code=code,
        )
        for lines, what, wanted, code in told
        for first, last in ranges(set(lines), set(file.after.statements))
    ]


def describe_coverage(files: list[FileLines]) -> str:
    """Before and after in one sentence."""
    before, after = _share(files, "before"), _share(files, "after")
    return f"of the changed lines the tests run {before} before the step and {after} after it"


def _share(files: list[FileLines], when: str) -> str:
    lines: list[StatementLines] = [getattr(one, when) for one in files]
    return f"{sum(len(one.executed) for one in lines)} of {sum(len(one.statements) for one in lines)}"


def coverage_facts(files: list[FileLines]) -> dict[str, Json]:
    """Per file, for the evidence."""
    return {
        one.path: {
            "before": {"lines": len(one.before.statements), "run": len(one.before.executed)},
            "after": {"lines": len(one.after.statements), "run": len(one.after.executed)},
            "lost": [list(pair) for pair in ranges(set(one.lost), set(one.after.statements))],
            "fresh": [list(pair) for pair in ranges(set(one.fresh), set(one.after.statements))],
        }
        for one in files
    }
