"""Reads a test run: which tests count for an instance, which failed, and how to say it."""

from collections.abc import Iterable
from typing import Final

from treadle.evidence.findings import Problem, Ran, problem
from treadle.evidence.frozen import measured_tree
from treadle.evidence.manifest import has_own_manifest, read_manifest
from treadle.evidence.subject import Subject
from treadle.toolchains.results import Collected, TestResult, TestRun

RUN_THE_SUITE = frozenset(
    {"measure", "red", "red_one", "added", "owed", "green", "green_own_and_baseline", "coverage_complete"}
)
_RUN_TOO = RUN_THE_SUITE | {"unbroken"}
_GOOD = frozenset({"passed", "skipped", "xfailed"})
_SHOWN: Final = 1_500
_WHY = {
    "import": "could not be imported",
    "fixture": "failed in a fixture",
    "timeout": "ran out of time",
    "exit": "tried to end the test run",
    "hook": "raised nothing and was made to fail by a hook of pytest",
    "error": "ended with an error that is no assertion",
    "not_implemented": "meets code that is not implemented",
    "assertion": "fails",
}


async def measured(s: Subject) -> TestRun:
    """The whole suite on the work under examination."""
    return await s.measure.suite(await measured_tree(s))


async def gate_run(s: Subject) -> TestRun:
    """A run of all tests on the work, without mirrors where no check of the gate accepts the work by its tests."""
    accepts = any(ref.name in RUN_THE_SUITE for ref in s.job.checks)
    return await s.measure.suite(await measured_tree(s), mirrors=accepts)


async def before(s: Subject) -> TestRun:
    """The whole suite on what the activity started from."""
    return await s.measure.known_suite(await s.git.tree(s.work.base))


async def at_origin(s: Subject) -> TestRun:
    """The whole suite on what the instance started from."""
    return await s.measure.known_suite(await s.git.tree(await s.git.origin(s.case.state, s.job.inst)))


async def collected(s: Subject) -> Collected:
    """The tests of the work under examination; where they are run anyway, that run has found them."""
    tree = await measured_tree(s)
    if tree != s.work.tree or not any(ref.name in _RUN_TOO for ref in s.job.checks):
        return await s.measure.collected(s.work.tree)
    run = await gate_run(s)
    if not (run.collected or run.problems or run.bent):  # it names no tests; whoever lists them does
        return await s.measure.collected(s.work.tree)
    return Collected(
        ids=run.collected,
        files={id_: test.file for id_, test in run.tests.items() if test.file},
        # A file without tests that ends well, such as a helper that `node --test` runs, too, is no error.
        errors={id_: test for id_, test in bad(run).items() if test.phase == "collect"},
        problems=run.problems if not run.collected else (),
        bent=run.bent,
        limits=run.limits,
        output=run.output,
    )


def ran(run: TestRun) -> Ran:
    """A test run as evidence."""
    return Ran(
        command=run.command,
        exit=run.exit,
        duration=run.duration,
        output=run.output,
        isolation=run.isolation,
        limits=run.limits,
    )


def unbelievable(run: TestRun) -> list[Problem]:
    """Why nothing can be concluded from a run."""
    if run.bent:
        return [
            problem(f"the test run was bent: {one}", expected="code that leaves its tests alone", code="green.bent")
            for one in run.bent
        ]
    if run.foreign:
        what = f"the tests imported your own checkout instead of the work: {', '.join(run.foreign[:5])}"
        return [problem(what, expected="an environment that has no link to it", code="env.editable")]
    if not run.is_believable:
        reasons = [*(run.problems or (f"it ended by '{run.ended}'",)), *_last_words(run)]
        return [problem(f"the tests could not be run: {one}", code="suite.unrunnable") for one in reasons]
    return []


def _last_words(run: TestRun) -> list[str]:
    """What a test tool printed that did not even begin, or was ended before it had named a test."""
    said = run.output.strip()[-_SHOWN:]
    return [f"it printed:\n{said}"] if said and (run.never_began or not run.tests) else []


def bad(run: TestRun) -> dict[str, TestResult]:
    """The tests that did not end well."""
    return {id_: test for id_, test in run.tests.items() if test.verdict not in _GOOD}


def described(test: TestResult) -> Problem:
    """A test that did not pass, with where and why."""
    what = "passes though it is marked as one that fails" if test.verdict == "xpassed" else _WHY.get(test.kind, "fails")
    message = test.message.strip()
    said = f"{what}{f': {message}' if message else ''}"
    return problem(said, test.file, test.line, test=test.id, code="green.failing")


def file_of(id_: str, run: TestRun) -> str:
    """The file of a test."""
    known = run.tests.get(id_)
    return known.file if known and known.file else id_.partition("::")[0]


def ids_in(run: TestRun, files: Iterable[str]) -> list[str]:
    """The tests that are written in some files, those that could not be collected included."""
    wanted = set(files)
    every = dict.fromkeys([*run.collected, *run.tests])
    return [id_ for id_ in every if file_of(id_, run) in wanted]


def is_one_by_one(s: Subject) -> bool:
    """Whether tests are written and satisfied one at a time, so that work is accepted before all of it is done."""
    gates = [ref for step in s.graph.steps.values() for refs in step.gates.values() for ref in refs]
    return s.has_lane and any(ref.name == "red_one" for ref in gates)


async def owned_files(s: Subject) -> set[str]:
    """Files that the instance itself has changed since it started, or earlier in this run in its folders of tests.

    What lay in those folders before the run, and is as it was, belongs to nobody who works in it.
    """
    origin, start = await s.git.origin(s.case.state, s.job.inst), await s.git.start(s.case.state.run)
    changed = await _touched(s, origin)
    of_run = changed if origin == start else await _touched(s, start)
    return changed | {path for path in of_run if any(path.startswith(f"{one}/") for one in s.tests.folders)}


async def _touched(s: Subject, base: str) -> set[str]:
    return {path for change in await s.git.changes(base, s.work.commit) for path in change.touched}


async def foreign_tests(s: Subject, run: TestRun, ids: Iterable[str]) -> set[str]:
    """Those of some tests that are others': neither in a file of this instance, nor listed in its own manifest."""
    owned = await owned_files(s)
    listed = (await read_manifest(s)).tests(run) if has_own_manifest(s.case.protocol) else set()
    return {id_ for id_ in ids if file_of(id_, run) not in owned and id_ not in listed}
