"""Whether tests pass: `measure`, `owed`, `green`, `green_own_and_baseline`, `unbroken`, `same_colour`."""

from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.evidence.checks.red import is_red
from treadle.evidence.contract_suite import contract_files
from treadle.evidence.exchanged import exchanged
from treadle.evidence.failed_before import EXCUSED, described_with_past, excuse_notes, excused, failed_before
from treadle.evidence.findings import Found, Problem, found, note, problem, some
from treadle.evidence.flaky import described_flaky, flaky_among, may_be_chance, sent_back
from treadle.evidence.frozen import may_change, measured_tree
from treadle.evidence.hiding import hiding
from treadle.evidence.manifest import read_manifest
from treadle.evidence.second_look import second_look
from treadle.evidence.subject import Subject
from treadle.evidence.suite import (
    at_origin,
    bad,
    before,
    described,
    file_of,
    foreign_tests,
    gate_run,
    ids_in,
    is_one_by_one,
    measured,
    owned_files,
    ran,
    unbelievable,
)
from treadle.protocol.items import Json
from treadle.toolchains.results import TestResult, TestRun
from treadle.toolchains.test_names import function_of

_KEPT: Final = "it passes as before: keep what it needs, or put the new part elsewhere"


async def measure(s: Subject) -> Found:
    """Runs the tests and records what passed and failed; refuses nothing that could be measured."""
    run = await measured(s)
    if run.ended == "missing":
        return found(unbelievable(run), ran=ran(run))
    counted = note(f"{len(run.passed)} passed, {len(run.failed)} failed", code="suite.measured")
    return found(notes=[*unbelievable(run), counted], ran=ran(run))


async def owed(s: Subject) -> Found:
    """A test of this work fails: there is something to make pass."""
    run, listed = await measured(s), await read_manifest(s)
    own = listed.tests(run)
    failing = [id_ for id_ in bad(run) if id_ in own]
    if problems := unbelievable(run):
        return found(problems, ran=ran(run))
    if failing:
        return found(notes=[note(f"to be made to pass: {some(failing)}", code="owed.failing")], ran=ran(run))
    place = listed.files[0] if listed.files else ""
    what = f"none of its {len(own)} tests fails" if own else "lists no test that there is"
    wanted = "a test that fails, because the behaviour is missing"
    return found([problem(what, place, expected=wanted, code="owed.none")], ran=ran(run))


async def green(s: Subject) -> Found:
    """The whole suite passes; nothing newly skipped, expected to fail, or deleted.

    A test that was failing or unstable before the run began, and that nobody has changed since, refuses nothing.
    """
    run = await measured(s)
    failing = bad(run)
    pending = await _of_others(s, run, failing) if failing and s.inst.parent else set()
    pending |= await _of_the_end(s, run, failing) if failing and is_one_by_one(s) else set()
    old = await excused(s, run, [id_ for id_ in failing if id_ not in pending])
    mine = [id_ for id_ in failing if id_ not in pending and id_ not in old]
    waits = "waits for work that is not part of this"
    notes = [note(waits, test=id_, code="green.waiting") for id_ in sorted(pending)]
    return await _whole(s, run, mine, notes, old)


async def green_own_and_baseline(s: Subject) -> Found:
    """This cycle's tests and everything green before it pass."""
    run = await measured(s)
    failing = bad(run)
    owned = await owned_files(s) if failing else set()
    baseline = (await at_origin(s)).passed if failing else frozenset()
    old = await excused(s, run, failing)
    mine = [id_ for id_ in failing if id_ not in old and (file_of(id_, run) in owned or id_ in baseline)]
    others = [id_ for id_ in failing if id_ not in mine and id_ not in old]
    notes = [note("fails, and is another cycle's", test=id_, code="green.waiting") for id_ in others]
    return await _whole(s, run, mine, notes, old)


async def unbroken(s: Subject) -> Found:
    """Every test that passed where the activity began still passes and is still collected.

    A test that the activity itself rewrote, where it may write tests, may also fail for the reason that a missing
    implementation has. A test that was failing or unstable before the run began refuses nothing.
    """
    run, earlier = await gate_run(s), await before(s)
    if problems := unbelievable(run):
        return found(problems, ran=ran(run))
    mine = [one.path for one in s.changed_files() if may_change(s, one.path)]
    if not earlier.tests and not run.tests:
        return _by_exit_code(run, earlier, writes_tests=any(map(s.tests.is_test, mine)))
    written, now = set(ids_in(run, mine)), run.tests
    stopped = [id_ for id_ in sorted(earlier.passed & now.keys()) if now[id_].verdict != "passed"]
    changed = [id_ for id_ in stopped if not (id_ in written and is_red(now[id_]))]
    old = await excused(s, run, changed)
    problems = [_broken(now[id_]) for id_ in changed if id_ not in old]

    # A file that cannot be collected any more is named once, instead of each test that was in it.
    uncollected = [id_ for id_, test in bad(run).items() if test.phase == "collect" and id_ not in earlier.tests]
    problems += [_broken(now[id_]) for id_ in uncollected if ids_in(earlier, [file_of(id_, run)])]
    unread = {file_of(id_, run) for id_ in uncollected}

    # A test may get another name in a file that the step rewrote. Of one with parameters, the function has to be there:
    # some projects have ids that are other ones in every run.
    functions = {function_of(id_) for id_ in run.collected}
    gone = sorted(id_ for id_ in earlier.passed if function_of(id_) not in functions)
    rewritten = {path for path in s.paths() if may_change(s, path)}
    is_kept = len(run.collected) >= len(earlier.collected)
    problems += [
        problem("passed before this step, and is gone", test=id_, expected=_KEPT, code="unbroken.lost")
        for id_ in gone
        if file_of(id_, earlier) not in unread and not (is_kept and file_of(id_, earlier) in rewritten)
    ]
    said = found(problems, excuse_notes(old), ran(run))
    return msgspec.structs.replace(said, facts={EXCUSED: dict[str, Json](old)} if old else {})


def _by_exit_code(run: TestRun, earlier: TestRun, *, writes_tests: bool) -> Found:
    """What a toolchain says that tells the exit code alone; of a step that adds tests, which may be red, nothing."""
    if earlier.exit != 0 or run.exit == 0:
        return found(ran=ran(run))
    what = f"the test command succeeded before this step, and ends with {run.exit} now"
    if writes_tests:
        return found(notes=[note(f"{what}; which tests fail, nobody can tell", code="unbroken.unknown")], ran=ran(run))
    return found([problem(what, expected=_KEPT, code="unbroken.failing")], ran=ran(run))


def _broken(test: TestResult) -> Problem:
    one = described(test)
    how = one.what if test.verdict in ("failed", "error", "xpassed") else f"is {test.verdict} now"
    what = f"passed before this step, and {how}" if test.phase != "collect" else how
    return problem(what, one.file, one.line, one.test, _KEPT, code="unbroken.failing")


async def _whole(s: Subject, run: TestRun, failing: list[str], notes: Iterable[Problem], old: dict[str, str]) -> Found:
    tree = await measured_tree(s)
    tried = may_be_chance(run, failing) if run.is_believable else []
    flaky = await flaky_among(s, tree, run, tried)
    named = [described_flaky(run, id_, sent_back(s)) for id_ in flaky]
    known = await failed_before(s, run) if failing else set()
    is_strict = s.measure.settings.flaky != "accept"
    problems = [*await hiding(s, run), *unbelievable(run)]
    problems += (described_with_past(run, id_, known) for id_ in failing if id_ not in flaky)
    problems += [*(named if is_strict else []), *await exchanged(s, run)]
    notes = [*excuse_notes(old), *notes, *([] if is_strict else named)]
    if not problems or run.bent:
        differing, looked = await second_look(s, tree, run)
        problems, notes = [*problems, *differing], [*notes, *looked]
    if not problems and not run.passed and (run.tests or run.exit != 0):
        problems.append(problem(_nothing(run), expected="tests that run and pass", code="green.none"))
    if not unbelievable(run) and not _ended_at_import(run):
        problems += lost(run, await before(s), keeps_ids=s.is_frozen or not s.has_lane)
    hints = [note(f"{one} (seen during the run)", code="green.tampering") for one in run.tampering]
    said = found(problems, [*notes, *hints], ran(run))
    facts: dict[str, Json] = {"flaky": list(flaky), "mirrored": list(run.mirrored), EXCUSED: dict[str, Json](old)}
    return msgspec.structs.replace(said, facts={name: value for name, value in facts.items() if value})


def _ended_at_import(run: TestRun) -> bool:
    """Whether nobody knows what else there is: the file that ended it all is named already."""
    return any(test.phase == "collect" and test.kind == "exit" for test in run.tests.values())


def _nothing(run: TestRun) -> str:
    said = "; ".join(run.problems) or (f"the test command ended with {run.exit}" if run.exit else "all are skipped")
    return f"no test passed: {said}"


async def _of_the_end(s: Subject, run: TestRun, failing: Iterable[str]) -> set[str]:
    """Contract tests that were red before: they speak about the finished work."""
    files = await contract_files(s)
    listed = (await read_manifest(s)).by_criterion(run, contract=True)
    contract = {id_ for ids in listed.values() for id_ in ids}
    earlier = bad(await before(s))
    return {id_ for id_ in failing if id_ in earlier and (id_ in contract or file_of(id_, run) in files)}


async def _of_others(s: Subject, run: TestRun, failing: Iterable[str]) -> set[str]:
    """Tests that wait for somebody else: red when this instance began, not its own, and none from before the run."""
    foreign = await foreign_tests(s, run, failing)
    if not foreign:
        return set()
    origin = await at_origin(s)
    start = await s.measure.known_suite(await s.git.tree(await s.git.start(s.case.state.run)))
    known = set(bad(start))
    return {id_ for id_ in foreign & set(bad(origin)) if id_ not in known and file_of(id_, run) not in known}


def lost(run: TestRun, earlier: TestRun, *, keeps_ids: bool) -> list[Problem]:
    """Tests that no longer say anything: skipped, expected to fail, or gone."""
    problems = [
        problem("ran before and is skipped now", test=id_, expected="it runs", code="green.skipped")
        for id_ in run.with_verdict("skipped")
        if id_ in earlier.tests and earlier.tests[id_].verdict != "skipped"
    ]
    problems += [
        problem("is marked as expected to fail now", test=id_, expected="no such mark", code="green.expected_failure")
        for id_ in run.with_verdict("xfailed")
        if id_ in earlier.tests and earlier.tests[id_].verdict != "xfailed"
    ]
    gone = [id_ for id_ in earlier.collected if id_ not in run.collected]
    if keeps_ids:
        wanted = "every test that there was"
        return problems + [problem("is gone", test=id_, expected=wanted, code="green.lost") for id_ in gone]
    if len(run.collected) < len(earlier.collected):
        less = f"there were {len(earlier.collected)} tests, now there are {len(run.collected)}"
        what = f"{less}; gone: {', '.join(gone[:5])}"
        problems.append(problem(what, expected="no fewer tests than before", code="green.lost"))
    return problems


async def same_colour(s: Subject) -> Found:
    """Every test has the verdict it had before: red ones are red, green ones green.

    A test of others may turn green, for it may have waited for both this work and theirs.
    """
    own = await s.git.head(s.case.state, s.job.inst, s.job.id)
    parent = await s.git.parent_head(s.case.state, s.job.inst)
    earlier = await s.measure.known_suite(await s.git.tree(own))
    theirs = await s.measure.known_suite(await s.git.tree(parent))
    run = await s.measure.suite(s.work.tree)
    owned = await owned_files(s)
    mine, others, now = _colours(earlier), _colours(theirs), _colours(run)
    expected: dict[str, tuple[str, ...]] = {
        id_: (colour,) for id_, colour in mine.items() if file_of(id_, earlier) in owned
    }
    for id_, colour in others.items():
        if file_of(id_, theirs) not in owned:
            expected[id_] = ("green",) if "green" in (colour, mine.get(id_)) else ("red", "green")
    changed = [id_ for id_, wanted in expected.items() if now.get(id_) not in wanted]
    old = await excused(s, run, [id_ for id_ in changed if id_ in now])
    problems = [
        problem(
            f"was {expected[id_][0]} and is {now.get(id_, 'gone')}",
            test=id_,
            expected=expected[id_][0],
            code="colour.changed",
        )
        for id_ in changed
        if id_ not in old
    ]
    said = found([*unbelievable(run), *problems], excuse_notes(old), ran(run))
    return msgspec.structs.replace(said, facts={EXCUSED: dict[str, Json](old)} if old else {})


def _colours(run: TestRun) -> dict[str, str]:
    return {
        id_: "red" if id_ in run.failed or test.verdict == "xpassed" else "green" for id_, test in run.tests.items()
    }
