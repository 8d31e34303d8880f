"""Which criteria have tests: `manifest`, `manifest_complete`, `coverage_complete`."""

from treadle.evidence.criteria import kept_criteria, own_criteria, spec_of
from treadle.evidence.findings import Found, Problem, found, note, problem, some
from treadle.evidence.known_names import known_names
from treadle.evidence.manifest import Entry, Manifest, read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import collected, measured, ran, unbelievable
from treadle.toolchains.results import Collected
from treadle.toolchains.test_names import names_of


async def manifest(s: Subject) -> Found:
    """Every listed test is collected and maps to a known criterion."""
    listed = await read_manifest(s)
    return found([*_missing(listed), *listed.problems, *await _faults(s, listed)], _set_aside(listed))


async def manifest_complete(s: Subject) -> Found:
    """Every criterion has a listed test."""
    listed = await read_manifest(s)
    tests = listed.by_criterion(await collected(s))
    problems = [_uncovered(one, listed) for one in kept_criteria(s) if not tests.get(one)]
    faults = [*_missing(listed), *listed.problems, *await _faults(s, listed)]
    return found([*faults, *problems], _set_aside(listed))


async def coverage_complete(s: Subject) -> Found:
    """Every criterion that was not given to a child has a passing test."""
    listed = await read_manifest(s)
    run = await measured(s)
    tests = listed.by_criterion(run)
    problems = [*unbelievable(run), *listed.problems]
    for one in kept_criteria(s):
        mine = tests.get(one, [])
        if not mine:
            problems.append(_uncovered(one, listed))
        elif not any(id_ in run.passed for id_ in mine):
            what = f"criterion {one} has no passing test: {some(mine)}"
            problems.append(problem(what, expected="one that passes", code="manifest.unproved"))
    return found(problems, ran=ran(run))


def _missing(listed: Manifest) -> list[Problem]:
    if listed.files:
        return []
    wanted = "test_manifest.json beside the tests, with the criterion of each test"
    return [problem("there is no test_manifest.json", expected=wanted, code="manifest.missing")]


def _set_aside(listed: Manifest) -> list[Problem]:
    """A word about entries that stand for nothing here, so that nobody wonders why they do not count."""
    if not listed.set_aside:
        return []
    specs = sorted({entry.spec for entry in listed.set_aside if entry.spec})
    of = f" of {some(specs)}" if specs else ""
    count = len(listed.set_aside)
    entries = "1 entry" if count == 1 else f"{count} entries"
    what = f"{entries} of earlier work{of} set aside: {'it stands' if count == 1 else 'they stand'} for nothing here"
    return [note(what, listed.files[0], code="manifest.set_aside")]


def _uncovered(criterion: str, listed: Manifest) -> Problem:
    place = listed.files[0] if listed.files else ""
    wanted = f'a test that stands for "{criterion}"'
    return problem(f"criterion {criterion} has no test", place, expected=wanted, code="manifest.uncovered")


async def _faults(s: Subject, listed: Manifest) -> list[Problem]:
    """Entries of this work whose test or criterion does not exist, or that stand under another spec's name."""
    there = await collected(s)
    known = await known_names(s)
    problems = [*_collection(there), *(_foreign(entry, spec_of(s)) for entry in listed.foreign)]
    names = names_of(there)
    for entry in listed.entries:
        if several := names.candidates(entry.test):
            what = f"'{entry.test}' fits several tests: {some(several, 10)}"
            wanted = f"the full id of one, e.g. {several[0]}"
            problems.append(problem(what, entry.file, entry.line, expected=wanted, code="manifest.ambiguous"))
        elif not names.resolve(entry.test):
            problems.append(_not_collected(entry, there))
        if known and entry.criterion not in known:
            wanted = f"one of {some(own_criteria(s), 20)}"
            what = f"'{entry.test}' stands for '{entry.criterion}', which is no criterion"
            problems.append(problem(what, entry.file, entry.line, expected=wanted, code="manifest.unknown_criterion"))
    return problems


def _foreign(entry: Entry, spec: str) -> Problem:
    what = f"'{entry.test}' stands for a criterion of '{entry.spec}', and this spec is '{spec}'"
    wanted = f'"spec_id": "{spec}", or "{spec}/{entry.criterion}" as the criterion'
    return problem(what, entry.file, entry.line, expected=wanted, code="manifest.foreign")


def _collection(there: Collected) -> list[Problem]:
    errors = [
        problem(f"cannot be collected: {test.message}", test.file or file, test.line, code="tests.uncollectable")
        for file, test in there.errors.items()
    ]
    if errors:
        return errors
    return [
        problem(f"tests cannot be listed: {one}", code="tests.uncollectable") for one in (*there.problems, *there.bent)
    ]


def _not_collected(entry: Entry, there: Collected) -> Problem:
    name = entry.test.rpartition("::")[2]
    near = [id_ for id_ in there.ids if name in id_]
    wanted = f"a test of that name{f', e.g. {near[0]}' if near else ''}"
    what = f"there is no test '{entry.test}'"
    return problem(what, entry.file, entry.line, expected=wanted, code="manifest.unknown_test")
