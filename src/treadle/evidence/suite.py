"""Runs of the test suite, as the checks read them.

Which runs there are (on the work, before it, where the instance started), which tests count for an instance, which
failed, how they ended for each criterion, and how to describe that.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.criteria import identities, served_criteria, spec_of
from treadle.evidence.findings import MOST, CheckOutcome, CheckProblem, CommandRun, problem
from treadle.evidence.hanging import hanging_tests
from treadle.evidence.manifest import has_own_manifest, read_manifest
from treadle.evidence.subject import Subject, accepted_exits
from treadle.protocol.items import Json
from treadle.toolchains.results import CollectedTests, TestResult, TestRun
from treadle.toolchains.test_names import names_of, tests_inside

RUN_THE_SUITE = frozenset(
    {"measure", "red", "red_one", "added", "owed", "green", "green_own_and_baseline", "coverage_complete"}
)
_RUN_TOO = RUN_THE_SUITE | {"unbroken"}
_GOOD = frozenset({"passed", "skipped", "xfailed"})
_SHOWN: Final = 1_500
COVERS: Final = "covers"
"""The field of an exit in which the author of tests says which of them stand for which criterion."""
_WHY = {
    "import": "could not be imported",
    "fixture": "failed in a fixture",
    "timeout": "ran out of time",
    "exit": "tried to end the test run",
    "hook": "raised nothing, but a pytest hook reported a failure",
    "error": "ended with an error, not by a failed assertion",
    "not_implemented": "calls code that is not implemented",
    "assertion": "fails",
}


async def suite_on_work(s: Subject) -> TestRun:
    """The whole suite on the work under examination."""
    return await without_old_toothless(s, await s.measure.suite(await measured_tree(s)))


async def without_old_toothless(s: Subject, run: TestRun) -> TestRun:
    """Return a run without the findings about tests that passed with any expected value at the start, too."""
    if not run.toothless:
        return run
    before = await s.measure.suite(await s.git.tree(await s.start()), ids=sorted(run.toothless))
    old = {text for id_, text in run.toothless.items() if id_ in before.toothless}
    return msgspec.structs.replace(run, bent=tuple(text for text in run.bent if text not in old))


async def gate_run(s: Subject) -> TestRun:
    """A run of all tests on the work, without mirrors where no check of the gate accepts the work by its tests."""
    accepts = any(ref.name in RUN_THE_SUITE for ref in s.job.checks)
    return await without_old_toothless(s, await s.measure.suite(await measured_tree(s), mirrors=accepts))


async def suite_before(s: Subject) -> TestRun:
    """Return a run of the whole suite on the activity's base."""
    return await s.measure.known_suite(await s.git.tree(s.work.base))


async def suite_at_origin(s: Subject) -> TestRun:
    """Return a run of the whole suite on the commit that the instance started from."""
    return await s.measure.known_suite(await s.git.tree(await s.origin()))


async def collect_tests(s: Subject) -> CollectedTests:
    """The tests of the work under examination; where they are run anyway, that run has found them."""
    tree = await measured_tree(s)
    if tree != s.work.tree or not any(ref.name in _RUN_TOO for ref in s.job.checks):
        return await s.measure.collected(s.work.tree)
    run = await gate_run(s)
    if not (run.collected or run.problems or run.bent):  # it names no tests; the listing names them
        return await s.measure.collected(s.work.tree)
    return CollectedTests(
        ids=run.collected,
        files={id_: test.file for id_, test in run.tests.items() if test.file},
        # A file without tests that ends well, such as a helper that `node --test` runs, too, is no error.
        errors={id_: test for id_, test in bad_tests(run).items() if test.phase == "collect"},
        problems=run.problems if not run.collected else (),
        bent=run.bent,
        limits=run.limits,
        output=run.output,
    )


def run_evidence(run: TestRun) -> CommandRun:
    """A test run as evidence."""
    return CommandRun(
        command=run.command,
        exit=run.exit,
        duration=run.duration,
        output=run.output,
        isolation=run.isolation,
        limits=run.limits,
    )


def reason_for_doubt(run: TestRun) -> list[CheckProblem]:
    """Why nothing can be concluded from a run."""
    if run.bent:
        return [
            problem(
                f"the test run was manipulated: {one}", expected="code that leaves its tests alone", code="green.bent"
            )
            for one in run.bent
        ]
    if run.foreign:
        what = f"the tests imported your own checkout instead of the work: {', '.join(run.foreign[:5])}"
        return [problem(what, expected="an environment without a link to your checkout", code="env.editable")]
    if run.ended == "timeout" and (late := list(hanging_tests(run))):
        return [describe_test(one) for one in late]
    if not run.is_believable:
        reasons = list(run.problems or (f"the test command ended with '{run.ended}'",))
        said = run.output.strip()[-_SHOWN:]
        if said and (run.never_began or not run.tests):
            reasons.append(f"it printed:\n{said}")
        return [problem(f"the tests could not be run: {one}", code="suite.unrunnable") for one in reasons]
    return []


def bad_tests(run: TestRun) -> dict[str, TestResult]:
    """The tests that did not end well."""
    return {id_: test for id_, test in run.tests.items() if test.verdict not in _GOOD}


def describe_test(test: TestResult) -> CheckProblem:
    """A test that did not pass, with where and why."""
    what = (
        "passes although it is marked as expected to fail"
        if test.verdict == "xpassed"
        else _WHY.get(test.kind, "fails")
    )
    message = test.message.strip()
    said = f"{what}{f': {message}' if message else ''}"
    code = "green.hangs" if test.kind == "timeout" else "green.failing"
    return problem(said, test.file, test.line, test=test.id, code=code)


def file_of(id_: str, run: TestRun) -> str:
    """The file of a test."""
    known = run.tests.get(id_)
    return known.file if known and known.file else id_.partition("::")[0]


def ids_in(run: TestRun, files: Iterable[str]) -> list[str]:
    """Return the tests in some files, including those that could not be collected."""
    wanted = set(files)
    every = dict.fromkeys([*run.collected, *run.tests])
    return [id_ for id_ in every if file_of(id_, run) in wanted]


def is_one_by_one(s: Subject) -> bool:
    """Whether tests are written and satisfied one at a time; work is then accepted before all of it is done."""
    gates = [ref for step in s.graph.steps.values() for refs in step.gates.values() for ref in refs]
    return s.has_lane and any(ref.name == "red_one" for ref in gates)


async def owned_files(s: Subject) -> set[str]:
    """Return the files that the instance has changed since it started, or that the run has changed in its test folders.

    Unchanged files in those folders from before the run belong to no instance.
    """
    origin, start = await s.origin(), await s.start()
    changed = await s.touched_since(origin)
    of_run = changed if origin == start else await s.touched_since(start)
    return changed | {path for path in of_run if any(path.startswith(f"{one}/") for one in s.tests.folders)}


async def foreign_tests(s: Subject, run: TestRun, ids: Iterable[str]) -> set[str]:
    """Those of some tests that are others': neither in a file of this instance, nor listed in its own manifest."""
    owned = await owned_files(s)
    listed = (await read_manifest(s)).tests(run) if has_own_manifest(s.case.protocol) else set()
    return {id_ for id_ in ids if file_of(id_, run) not in owned and id_ not in listed}


# The test results of each criterion, for the record: its tests, and their verdicts.


async def results_by_criterion(s: Subject) -> dict[str, Json]:
    """Return the test verdicts of each criterion, with the criterion's spec; empty if they are not known.

    `{"criteria": {criterion: {test: verdict}}, "of": {criterion: {"spec": id, "text": hash}}}`, and `inside`: the
    innermost tests in each of them that only holds other tests.
    """
    try:
        run = await suite_on_work(s)
        tests = await tests_by_criterion(s, run)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    found: dict[str, Json] = {
        criterion: {id_: run.tests[id_].verdict if id_ in run.tests else "not run" for id_ in ids}
        for criterion, ids in tests.items()
        if ids
    }
    if not found:
        return {}
    known = identities(s)
    own: dict[str, Json] = {one: known.get(one) or {"spec": spec_of(s), "text": ""} for one in found}
    named = {id_ for ids in tests.values() for id_ in ids}
    inside: dict[str, Json] = {id_: list[Json](held) for id_, held in tests_inside(run.tests).items() if id_ in named}
    return {"criteria": found, "of": own, **({"inside": inside} if inside else {})}


async def tests_by_criterion(s: Subject, run: TestRun) -> dict[str, list[str]]:
    """Map each criterion of the instance to the tests that stand for it: by its manifest, else by its plan."""
    return (await read_manifest(s)).by_criterion(run) or await planned_tests(s, run)


async def planned_tests(s: Subject, run: TestRun) -> dict[str, list[str]]:
    """Map each criterion that a part of a plan serves to all tests that the part has added."""
    wanted = served_criteria(s)
    if not wanted:
        return {}
    written = ids_in(run, [path for path in await owned_files(s) if s.tests.is_test(path)])
    known = set((await suite_at_origin(s)).collected)
    added = [id_ for id_ in written if id_ not in known]
    claimed = claimed_tests(s)
    if len(wanted) < 2 or not claimed:
        return dict.fromkeys(wanted, added) if added else {}
    names, own = names_of(run), set(added)
    tests = {one: [id_ for test in claimed.get(one, ()) for id_ in names.resolve(test)] for one in wanted}
    return {one: [id_ for id_ in dict.fromkeys(ids) if id_ in own] for one, ids in tests.items()}


def claimed_tests(s: Subject) -> dict[str, list[str]]:
    """Criterion → names of its tests, as the authors of the instance's tests have claimed, the last word of each."""
    claims = [*(one.payload for one in accepted_exits(s.case, s.inst)), s.case.claim]
    found: dict[str, list[str]] = {}
    for claim in claims:
        covers = claim.get(COVERS)
        for one in covers if isinstance(covers, list) else ():
            if isinstance(one, dict) and isinstance(tests := one.get("tests"), list):
                found[str(one.get("criterion"))] = [str(test) for test in tests]
    return found


# Measured numbers for the record, independent of any claim: test counts, and the files that a session has changed.

_NAMED = 10 * MOST


async def count_tests(s: Subject) -> dict[str, Json]:
    """`{"tests": {pass, fail, skip}, "failing_tests": [...]}`; nothing where the suite cannot be believed."""
    try:
        run = await suite_on_work(s)
    except PortError as error:
        if error.retryable:
            raise
        return {}
    if not run.is_believable:
        return {}
    failing = sorted(bad_tests(run))
    skipped = len(run.with_verdict("skipped", "xfailed"))
    numbers: dict[str, Json] = {"pass": len(run.passed), "fail": len(failing), "skip": skipped}
    return {"tests": numbers, "failing_tests": list[Json](failing[:_NAMED])}


def add_changed_files(s: Subject, outcomes: dict[str, CheckOutcome]) -> dict[str, CheckOutcome]:
    """Add the changed files of a session to the facts of its first check."""
    first = next(iter(outcomes), "")
    if not first or not s.has_lane:
        return outcomes
    one = outcomes[first]
    paths: list[Json] = list(s.paths()[:_NAMED])
    return {**outcomes, first: msgspec.structs.replace(one, facts={**one.facts, "files_changed": paths})}
