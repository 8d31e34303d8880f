"""Whether tests fail, and for the right reason: `red`, `red_one`, `added`, `still_red_on_skeleton`.

A *new* test is one that is not green yet: it stands in the manifest, or in a test file that this activity changed.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from treadle.evidence.asserting import asserting_beside
from treadle.evidence.borrowed import borrowed_constants
from treadle.evidence.failed_before import EXCUSED, excuse_notes, excused
from treadle.evidence.findings import Found, Problem, found, note, problem, some
from treadle.evidence.flaky import described_flaky, flaky_among
from treadle.evidence.frozen import measured_tree
from treadle.evidence.hollow import noticing
from treadle.evidence.manifest import read_manifest
from treadle.evidence.past import commits, is_gated_by
from treadle.evidence.red_reasons import RIGHT, advice
from treadle.evidence.scenario_document import unclear_names
from treadle.evidence.sharpness import sharpness
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad, before, described, file_of, ids_in, measured, owned_files, ran, unbelievable
from treadle.evidence.test_quality import is_readable, smells
from treadle.git.trees import Entry
from treadle.protocol.items import Json
from treadle.toolchains.results import TestResult, TestRun
from treadle.toolchains.test_names import function_of

_DEMANDS_NOTHING: Final = "passes already: it demands nothing that is missing"
_IDLE: Final = "passes already, and still does when the functions that it could meet are empty: it shows nothing"
_NOTICING: Final = "a test that fails without the behaviour"


async def red(s: Subject) -> Found:
    """The new tests are collected, run, and fail for the right reason; what was green still is."""
    return await _red(s, exactly=0)


async def red_one(s: Subject) -> Found:
    """As red, with exactly one new test; its parameters may be many."""
    return await _red(s, exactly=1)


async def added(s: Subject) -> Found:
    """As red; but a test of what works already may pass, if it fails once the code that it meets is taken out."""
    if not any(s.tests.is_test(change.path) for change in s.changed_files()):
        return found(notes=[note("no test was added", code="red.nothing_new")])
    return await _red(s, exactly=0, may_pass=True)


async def _red(s: Subject, exactly: int, *, may_pass: bool = False) -> Found:
    run = await measured(s)
    if problems := [*unbelievable(run), *_wrong_order(run)]:
        return found(problems, ran=ran(run))
    if not run.tests:
        return _by_exit_code(run)
    earlier = await before(s)
    fresh = await new_tests(s, run)
    broken = [id_ for id_ in bad(run) if id_ in earlier.passed and id_ not in fresh]
    old = await excused(s, run, [*(id_ for id_ in fresh if id_ in earlier.tests), *broken])
    fresh = [id_ for id_ in fresh if id_ not in old]
    failing = [id_ for id_ in fresh if is_red(run.tests[id_])]
    flaky = await flaky_among(s, await measured_tree(s), run, failing, times=1)
    reds = [id_ for id_ in failing if id_ not in flaky]
    problems = [_not_red(s, run.tests[id_]) for id_ in fresh if id_ not in failing]
    problems += [described_flaky(run, id_) for id_ in flaky]
    problems += [one for one in _no_longer_green(s, run, earlier, fresh) if one.test not in old]
    satisfied = [id_ for id_ in _written_now(s, run) if id_ not in fresh and _is_new_and_passes(id_, run, earlier)]
    hollow = await noticing(s, run, satisfied) if may_pass else []
    known = [id_ for one in hollow for id_ in one.noticed] + (_unreadable(run, satisfied) if may_pass else [])
    proved = known or await red_on_skeleton(s, satisfied)
    said, wanted = (_IDLE, _NOTICING) if may_pass else (_DEMANDS_NOTHING, RIGHT)
    problems += [problem(said, test=id_, expected=wanted, code="red.vacuous") for id_ in satisfied if id_ not in proved]
    problems += _count(reds, exactly, bool(proved))
    problems += await _skipped(s, run, earlier)
    shallow, smelt = await _quality(s, run, [*reds, *satisfied])
    sharp = await sharpness(s, run, reds, refuses=not exactly and not problems)
    notes: list[Problem] = [*smelt, *excuse_notes(old), *sharp.notes, *await _stands_on_old_ones(s, run, earlier)]
    blunt = [await sharpness(s, run, one.noticed, refuses=not problems, on=one.tree) for one in hollow]
    notes += [_proof(id_, run, may_pass) for id_ in proved]
    notes += [said for one in blunt for said in one.notes]
    every = [*problems, *shallow, *sharp.problems, *(fault for one in blunt for fault in one.problems)]
    return Found(
        problems=tuple(dict.fromkeys(every)),
        notes=tuple(notes),
        ran=ran(run),
        facts={
            "red": list(reds),
            "red_on_skeleton": list(proved),
            **({EXCUSED: dict[str, Json](old)} if old else {}),
            **({"flaky": list(flaky)} if flaky else {}),
            **{name: fact for one in (*blunt, sharp) for name, fact in one.facts.items()},
        },
    )


def _unreadable(run: TestRun, ids: Sequence[str]) -> list[str]:
    """Tests in languages in which nothing can be taken out of the code: nobody has seen them fail."""
    return [id_ for id_ in ids if not is_readable(file_of(id_, run))]


def _proof(id_: str, run: TestRun, may_pass: bool) -> Problem:
    """What is known of a new test that passes."""
    if not may_pass:
        return note("passes already, and fails on the skeleton", test=id_, code="red.proved")
    if is_readable(file_of(id_, run)):
        return note("passes already, and fails once the code that it meets is taken out", test=id_, code="red.proved")
    what = "passes already, and nobody has seen it fail: not available for this language"
    return note(what, test=id_, code="red.unproved")


async def new_tests(s: Subject, run: TestRun) -> list[str]:
    """The tests that are not green yet and that are this work's: listed, or in a changed test file.

    Where nothing lists them, those that the instance has written before count too: they may stay as they are.
    """
    manifest = await read_manifest(s)
    earlier = [] if manifest.files else [path for path in await owned_files(s) if s.tests.is_test(path)]
    wanted = {*manifest.tests(run), *_written_now(s, run), *ids_in(run, earlier)}
    open_ = bad(run) | {id_: test for id_, test in run.tests.items() if test.verdict == "xfailed"}
    return sorted(id_ for id_ in open_ if id_ in wanted)


def is_red(test: TestResult) -> bool:
    """Whether a test fails for a reason that a missing implementation has, or that the toolchain cannot tell."""
    return test.is_red or (test.verdict == "failed" and test.kind == "unknown")


def _written_now(s: Subject, run: TestRun) -> list[str]:
    return ids_in(run, [change.path for change in s.changed_files() if s.tests.is_test(change.path)])


def _wrong_order(run: TestRun) -> list[Problem]:
    """A run of nothing."""
    if run.tests or run.exit not in (0, 5) or (run.limits and not run.problems):
        return []
    return [
        problem(f"no test was run: {one}", expected="tests that are collected", code="red.not_run")
        for one in run.problems
    ]


def _by_exit_code(run: TestRun) -> Found:
    if run.exit == 0:
        return found(
            [problem("the test command succeeds", expected="new tests that fail", code="red.none")],
            [note(one, code="suite.limited") for one in run.limits],
            ran(run),
        )
    return found(
        notes=[note(f"the test command ended with {run.exit}; why, this toolchain cannot tell", code="red.no_reason")],
        ran=ran(run),
    )


def _not_red(s: Subject, test: TestResult) -> Problem:
    said = "is marked as expected to fail" if test.verdict == "xfailed" else f"is not red, it {described(test).what}"
    code = "red.expected_failure" if test.verdict == "xfailed" else "red.wrong_reason"
    return problem(said, test.file, test.line, test.id, advice(test, adds_stubs=bool(s.scope.stubs)), code=code)


def _no_longer_green(s: Subject, run: TestRun, earlier: TestRun, fresh: Sequence[str]) -> list[Problem]:
    problems: list[Problem] = []
    written = set(_written_now(s, run))
    for id_ in sorted(earlier.passed):
        test = run.tests.get(id_)
        if test is None:
            gone = problem(
                "was green and is gone", test=id_, expected="every test that was green still is", code="green.lost"
            )
            problems += [gone] if len(run.collected) < len(earlier.collected) + len(fresh) else []
        elif test.verdict != "passed" and not (id_ in written and is_red(test)):
            problems.append(
                problem(
                    f"was green and is {test.verdict} now",
                    test.file,
                    test.line,
                    id_,
                    "it is still green",
                    code="green.broken",
                )
            )
    return problems


def _is_new_and_passes(id_: str, run: TestRun, earlier: TestRun) -> bool:
    return id_ in run.passed and id_ not in earlier.tests


def _count(reds: list[str], exactly: int, has_proved: bool) -> list[Problem]:
    written = list(dict.fromkeys(function_of(id_) for id_ in reds))  # with whatever parameters, it is one test
    if exactly and len(written) != exactly:
        named = f": {some(written)}" if written else ""
        return [
            problem(
                f"{len(written)} new tests fail{named}",
                expected=f"exactly {exactly} new failing test",
                code="red.count",
            )
        ]
    if not reds and not has_proved:
        return [
            problem("no new test fails", expected="a test that fails because the behaviour is missing", code="red.none")
        ]
    return []


async def _skipped(s: Subject, run: TestRun, earlier: TestRun) -> list[Problem]:
    """New tests that are skipped, and for whose criterion no other test is run; what is unclear has to wait."""
    unclear = await unclear_names(s)
    listed = (await read_manifest(s)).by_criterion(run)
    of = {name: ids for name, ids in listed.items() if name not in unclear}
    skipped = set(run.with_verdict("skipped"))
    return [
        problem(f"is skipped, and nothing else shows {criterion}", test=id_, expected=RIGHT, code="red.skipped")
        for criterion, ids in of.items()
        for id_ in ids
        if skipped.issuperset(ids) and id_ not in earlier.tests
    ]


async def _stands_on_old_ones(s: Subject, run: TestRun, earlier: TestRun) -> list[Problem]:
    """Criteria that were given nothing but tests that had passed before: they may hold already, or be forgotten."""
    known = (await read_manifest(s, s.work.base)).by_criterion(run)
    listed = (await read_manifest(s)).by_criterion(run)
    old = {one: ids for one, ids in listed.items() if ids and not known.get(one) and earlier.passed.issuperset(ids)}
    return [
        note(f"criterion {one} stands on nothing but tests that passed before: {some(ids)}", code="red.old_tests")
        for one, ids in old.items()
    ]


async def red_on_skeleton(s: Subject, ids: Iterable[str]) -> list[str]:
    """Those of some passing tests that fail where the implementation was still a skeleton."""
    wanted, past = list(ids), commits(s.case, s.inst)
    if not wanted or not past:
        return []
    run = await s.measure.suite(await tests_on(s, past[0][1]), ids=wanted)
    return [id_ for id_ in wanted if id_ in run.tests and is_red(run.tests[id_])] if not run.bent else []


def red_checkpoint(s: Subject) -> str:
    """The commit that the tests of this instance failed on; empty if there is none."""
    reds = [commit for one, commit in commits(s.case, s.inst) if is_gated_by(s.graph, one, "red", "red_one")]
    return reds[0] if reds else ""


async def tests_on(s: Subject, base: str) -> str:
    """A commit's code with the tests under examination."""
    now, then = await s.entries(), await s.entries(base)
    files: dict[str, Entry | None] = {path: None for path in then if s.tests.is_test(path)}
    return await s.git.with_files(base, files | {path: one for path, one in now.items() if s.tests.is_test(path)})


async def _quality(s: Subject, run: TestRun, ids: Sequence[str]) -> tuple[list[Problem], list[Problem]]:
    """What is wrong with tests though they are red: they show nothing, or may show little."""
    problems: list[Problem] = []
    notes: list[Problem] = []
    files = dict.fromkeys(file_of(id_, run) for id_ in ids)
    for file in files:
        names = {id_.partition("::")[2].partition("[")[0] for id_ in ids if file_of(id_, run) == file}
        read = smells(await s.text(file) or "", await asserting_beside(s, file)) if is_readable(file) else []
        for smell in read:
            if smell.test in names and smell.is_certain:
                what = f"the test {smell.test} {smell.what}"
                problems.append(
                    problem(what, file, smell.line, expected="an assertion that can fail", code="tests.vacuous")
                )
            elif smell.test in names:
                notes.append(note(f"the test {smell.test} {smell.what}", file, smell.line, code="tests.weak"))
        notes += await _borrowed(s, file) if is_readable(file) else []
    unread = [file for file in files if not is_readable(file)]
    if unread:
        what = f"the quality of tests in {some(unread)} was not looked at: not available for this language"
        notes.append(note(what, code="tests.unread"))
    return problems, notes


async def _borrowed(s: Subject, file: str) -> list[Problem]:
    """Expected values that are not the tests' own."""
    return [
        note(
            f"the expected value {one.name} comes from the code under test ({constant.file}:{constant.line}), where"
            " it can be changed together with the answer: write down the value itself",
            file,
            one.line,
            code="tests.borrowed_value",
        )
        for one, constant in await borrowed_constants(s, file)
        if one.is_expected
    ]


async def still_red_on_skeleton(s: Subject) -> Found:
    """Changed tests fail on the red checkpoint and pass on head."""
    run, base = await measured(s), red_checkpoint(s)
    changed = _written_now(s, run)
    if not changed:
        return found(notes=[note("no test was changed", code="red.nothing_new")], ran=ran(run))
    if not base:
        return found([problem("there is no red checkpoint to compare with", code="red.no_checkpoint")])
    head = [described(test) for id_, test in bad(run).items() if id_ in changed]
    tree = await tests_on(s, base)
    then = await s.measure.suite(tree)
    green = {id_.partition("::")[2] for id_ in (await s.measure.known_suite(await s.git.tree(base))).passed}
    owed = [id_ for id_ in changed if id_ in run.passed and id_.partition("::")[2] not in green]
    blind = [id_ for id_ in owed if id_ not in then.tests or not is_red(then.tests[id_])]
    problems = [
        problem(
            "does not fail without the implementation",
            test=id_,
            expected="it fails on the red checkpoint",
            code="red.vacuous",
        )
        for id_ in blind
    ]
    seen = [id_ for id_ in owed if id_ not in blind]
    return Found(
        problems=(*unbelievable(run), *head, *problems), ran=ran(then), tree=tree, facts={"red_on_skeleton": [*seen]}
    )
