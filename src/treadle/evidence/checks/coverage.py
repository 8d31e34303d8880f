"""Which criteria have tests: `manifest`, `manifest_complete`, `coverage_complete`."""

from treadle.evidence.criteria import kept_criteria, own_criteria
from treadle.evidence.findings import Found, Problem, found, problem, some
from treadle.evidence.known_names import known_names
from treadle.evidence.manifest import Entry, Manifest, matching, read_manifest
from treadle.evidence.subject import Subject
from treadle.evidence.suite import collected, measured, ran, unbelievable
from treadle.toolchains.results import Collected


async def manifest(s: Subject) -> Found:
    """Every listed test is collected and maps to a known criterion."""
    listed = await read_manifest(s)
    return found([*_missing(listed), *listed.problems, *await _faults(s, listed)])


async def manifest_complete(s: Subject) -> Found:
    """Every criterion has a listed test."""
    listed = await read_manifest(s)
    tests_there = (await collected(s)).ids
    tests = listed.by_criterion(tests_there)
    problems = [_uncovered(one, listed) for one in kept_criteria(s) if not tests.get(one)]
    return found([*_missing(listed), *listed.problems, *await _faults(s, listed), *problems])


async def coverage_complete(s: Subject) -> Found:
    """Every criterion that was not given to a child has a passing test."""
    listed = await read_manifest(s)
    run = await measured(s)
    tests = listed.by_criterion(run.collected)
    problems = [*unbelievable(run), *listed.problems]
    for one in kept_criteria(s):
        mine = tests.get(one, [])
        if not mine:
            problems.append(_uncovered(one, listed))
        elif not any(id_ in run.passed for id_ in mine):
            problems.append(problem(f"criterion {one} has no passing test: {some(mine)}", expected="one that passes"))
    return found(problems, ran=ran(run))


def _missing(listed: Manifest) -> list[Problem]:
    if listed.files:
        return []
    wanted = "test_manifest.json beside the tests, with the criterion of each test"
    return [problem("there is no test_manifest.json", expected=wanted)]


def _uncovered(criterion: str, listed: Manifest) -> Problem:
    place = listed.files[0] if listed.files else ""
    return problem(f"criterion {criterion} has no test", place, expected=f'a test that stands for "{criterion}"')


async def _faults(s: Subject, listed: Manifest) -> list[Problem]:
    """Entries without a test, and new ones without a criterion; what stood there before was for others."""
    there = await collected(s)
    before = {(entry.test, entry.criterion) for entry in (await read_manifest(s, s.work.base)).entries}
    known = await known_names(s)
    problems = [*_collection(there)]
    for entry in listed.entries:
        if not matching(entry.test, there.ids):
            problems.append(_not_collected(entry, there))
        if known and entry.criterion not in known and (entry.test, entry.criterion) not in before:
            wanted = f"one of {some(own_criteria(s), 20)}"
            what = f"'{entry.test}' stands for '{entry.criterion}', which is no criterion"
            problems.append(problem(what, entry.file, entry.line, expected=wanted))
    return problems


def _collection(there: Collected) -> list[Problem]:
    errors = [
        problem(f"cannot be collected: {test.message}", test.file or file, test.line)
        for file, test in there.errors.items()
    ]
    return errors + [problem(f"tests cannot be listed: {one}") for one in (*there.problems, *there.bent) if not errors]


def _not_collected(entry: Entry, there: Collected) -> Problem:
    name = entry.test.rpartition("::")[2]
    near = [id_ for id_ in there.ids if name in id_]
    wanted = f"a test of that name{f', e.g. {near[0]}' if near else ''}"
    return problem(f"there is no test '{entry.test}'", entry.file, entry.line, expected=wanted)
