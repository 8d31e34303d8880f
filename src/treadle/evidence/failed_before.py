"""Tests that failed before the run began: they are told, and refuse nobody whose tests they are not."""

from collections.abc import Iterable

from treadle.evidence.findings import Problem, problem, some
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad, before, described, file_of, foreign_tests, measured
from treadle.toolchains.results import TestRun

TOO = "failed before this run, too"


def red_at_start(start: TestRun, run: TestRun) -> set[str]:
    """The failing tests of a run that failed when the run began, or whose whole file could not be collected then."""
    known = bad(start) if start.is_believable else {}
    return {id_ for id_ in bad(run) if id_ in known or file_of(id_, run) in known}


async def failed_before(s: Subject, run: TestRun) -> set[str]:
    """Failing tests that failed when the run began, and have not passed where this work began."""
    if not bad(run):
        return set()
    start = await s.measure.known_suite(await s.git.tree(await s.git.start(s.case.state.run)))
    known = red_at_start(start, run)
    return known - (await before(s)).passed if known else set()


async def not_ours(s: Subject, run: TestRun, failing: Iterable[str]) -> set[str]:
    """Those of some failing tests that failed before the run, and that the instance has neither written nor is to."""
    foreign = await foreign_tests(s, run, failing) if failing else set()
    return foreign & await failed_before(s, run) if foreign else set()


def described_with_past(run: TestRun, id_: str, known: Iterable[str]) -> Problem:
    """A test that did not pass, and whether that is anything new."""
    one = described(run.tests[id_])
    if id_ not in known:
        return one
    said = f"{TOO}, and is one of the tests of this work; {one.what}"
    return problem(said, one.file, one.line, one.test, one.expected)


async def told_before(s: Subject) -> tuple[str, ...]:
    """What people should know about the tests of others that failed before the run began."""
    run = await measured(s)
    old = sorted(await not_ours(s, run, bad(run))) if run.is_believable else []
    if not old:
        return ()
    count = "1 test" if len(old) == 1 else f"{len(old)} tests"
    return (f"{count} {TOO}, and {'refuses' if len(old) == 1 else 'refuse'} nothing in it: {some(old)}",)
