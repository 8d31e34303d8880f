"""Whether tests pass: `measure`, `owed`, `green`, `green_own_and_baseline`, `unbroken`, `same_colour`.

A green run must also be an honest one: no part of the test runner exchanged, no installed module hidden, and the
same verdicts in a second run where the first one was odd.
"""

import re
from collections.abc import Iterable
from random import Random
from typing import Final

import msgspec

from treadle.evidence.baseline import (
    EXCUSED,
    FLAKY,
    adopted_tests,
    describe_adopted,
    describe_flaky,
    describe_rewritten,
    describe_with_past,
    excuse_notes,
    excused_tests,
    failing_before,
    flaky_among,
    handed_back,
    lost_in_step,
    may_be_chance,
    rewritten_tests,
    sent_back,
)
from treadle.evidence.checks.red import is_red
from treadle.evidence.checks.scope import may_change, measured_tree
from treadle.evidence.code_shapes import read_pieces
from treadle.evidence.earlier_tests import lost_behaviour
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, note, problem
from treadle.evidence.grades import green_apart
from treadle.evidence.hidden_code import hidden_code
from treadle.evidence.manifest import read_manifest
from treadle.evidence.subject import Subject, added_lines, contract_files
from treadle.evidence.suite import (
    bad_tests,
    describe_test,
    file_of,
    foreign_tests,
    gate_run,
    ids_in,
    is_one_by_one,
    owned_files,
    reason_for_doubt,
    run_evidence,
    suite_at_origin,
    suite_before,
    suite_on_work,
)
from treadle.protocol.items import Json
from treadle.toolchains.results import TestResult, TestRun

# Detects tests or parts of their runner that code has replaced for good while it ran: no honest code does that.

_OFTEN: Final = r"print|open|input|help|exit|quit|breakpoint|compile|exec|eval|copyright|credits|license|__\w+"
"""Builtins that honest programs exchange too: for other outputs, other file systems, other ways to import."""
_CERTAIN: Final = re.compile(
    r"((_pytest|pytest|pluggy|unittest|re|operator|math|ast)\.\S+"
    rf"|builtins\.(?!(?:{_OFTEN}) )\w+) is no longer what it was"
    r"|.+ is no longer what the tests were collected with|.+ runs without the assertion in line \d+ of its file"
    rf"|(?!builtins\.(?:{_OFTEN}) )\S+ was exchanged"
    r"|.+ takes a wrong value for the right one: .+"
    r"|.+ was exchanged after it was collected|a tracer of .+ was at work while tests ran"
)
_ASKED: Final = "a test that reaches an assertion; loop only over non-empty data that is stored with the tests"
_UNASKED: Final = re.compile(r".+ passed without reaching any of its assertions \(lines [\d, ]+\)")
_WHERE: Final = re.compile(r" \(in .*\)$")


def is_certain(finding: str) -> bool:
    """Whether something that was seen during a run can only have been done to change its verdicts."""
    return _CERTAIN.fullmatch(_without_place(finding)) is not None or _is_unasked(finding)


def _is_unasked(finding: str) -> bool:
    """Whether a finding reports a test that passed without reaching an assertion, and so asks nothing of the code."""
    return _UNASKED.fullmatch(finding) is not None


def _without_place(finding: str) -> str:
    """Return a finding without the test in which it was seen."""
    return _WHERE.sub("", finding)


async def exchanged_parts(s: Subject, run: TestRun) -> list[CheckProblem]:
    """Return the parts of the test run that project code replaced, and that were intact in the run before this work."""
    certain = [one for one in run.tampering if is_certain(one)]
    known = {_without_place(one) for one in (await suite_before(s)).tampering} if certain else set()
    return [_told(one) for one in certain if _without_place(one) not in known]


def _told(finding: str) -> CheckProblem:
    if _is_unasked(finding):
        test, _, what = finding.partition(" passed without ")
        return problem(
            f"passed without {what}, so it tests nothing", test=test, expected=_ASKED, code="tests.unreached"
        )
    return problem(
        f"the test run was manipulated: {finding}",
        expected="code that leaves its tests and their runner alone",
        code="green.bent",
    )


# Detects new modules that hide installed ones: an import of the library then loads the new file instead.
#
# A project's own package may well be installed and hidden by its source, but it was there before the work began.

_PACKAGE: Final = "/__init__.py"
_EXPECTED: Final = "another name, or the installed module itself"


async def hiding_modules(s: Subject, run: TestRun) -> list[CheckProblem]:
    """The modules that this work has added and that hide installed ones; of the tests, only those of this step."""
    if not run.hiding:
        return []
    known = {*await s.entries(await s.start())}
    given = {*await s.entries(s.work.base)}
    return [
        problem(
            f"hides the installed module {name}: tests and code import this file instead",
            file.removesuffix(_PACKAGE),
            expected=_EXPECTED,
            code="code.hides_module",
        )
        for file, name in run.hiding.items()
        if file not in known and not (s.tests.is_test(file) and file in given)
    ]


# A second run in another shape, one process for each test, when something about the first run was odd.
#
# A test that passes in company and not alone is run once more both ways. If either verdict changes, it is flaky; if
# both stay, its verdict depends on how it is run, and the run is called bent.

ALONE: Final = "baseline.alone"
_WORDS: Final = {
    FLAKY: "passed and failed by chance before this run, too",
    ALONE: "passed with other tests but failed alone before this run, too",
}
_MOST: Final = 5
_LINE_OR_WHERE: Final = re.compile(r":\d+| \(in [^)]*\)")
_ASKS: Final = re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION")
_HONEST: Final = "a verdict that does not depend on which other tests run in the same process"


async def oddities(s: Subject, run: TestRun) -> list[str]:
    """Return the reasons to distrust a run that did not apply to the run before the work."""
    reasons = list(run.bent)
    if run.tampering:
        known = {_LINE_OR_WHERE.sub("", one) for one in (await suite_before(s)).tampering}
        reasons += [one for one in run.tampering if _LINE_OR_WHERE.sub("", one) not in known]
    diff = await s.git.diff(await s.origin(), s.work.commit)
    return reasons + [
        f"{file}:{line} asks which test is running" for file, line, text in added_lines(diff) if _ASKS.search(text)
    ]


async def second_look(s: Subject, tree: str, run: TestRun) -> tuple[list[CheckProblem], list[CheckProblem]]:
    """Rerun some tests alone if the run was odd; return a problem for each changed verdict, and notes on the reruns."""
    reasons = await oddities(s, run)
    if not reasons or not run.passed:
        return [], []
    # Tests that a reason names come first, then some of the others; the choice stays the same for this activity.
    every, text = sorted(run.passed), "\n".join(reasons)
    Random(f"{s.case.state.run}/{s.job.id}/{tree}").shuffle(every)
    chosen = sorted(every, key=lambda id_: id_ not in text)[:_MOST]
    alone = {id_: await s.measure.suite(tree, ids=[id_]) for id_ in chosen}
    differing = [id_ for id_, one in alone.items() if not _passes(one, id_)]
    told = f"{len(chosen)} tests were run again, each in a process of its own, because {reasons[0]}"
    old = await _old(s, run, differing)
    problems = [await _judged(s, tree, id_, alone[id_]) for id_ in differing if id_ not in old]
    notes = [note(f"{told}; {len(differing)} of them had another verdict", code="green.run_again")]
    return problems, [*notes, *(note(_WORDS[code], test=id_, code=code) for id_, code in old.items())]


async def _old(s: Subject, run: TestRun, ids: list[str]) -> dict[str, str]:
    """Return the unchanged tests that were flaky, or failed alone, before the run too: test → code."""
    old = await excused_tests(s, run, ids)
    start = await s.start()
    touched = await s.touched_since(start)
    tree = await s.git.tree(start)
    for id_ in ids:
        if id_ not in old and file_of(id_, run) not in touched:
            alone = await s.measure.suite(tree, ids=[id_], mirrors=False)
            old |= {id_: ALONE} if alone.is_believable and id_ in alone.failed else {}
    return old


def _passes(run: TestRun, id_: str) -> bool:
    return run.is_believable and id_ in run.passed


async def _judged(s: Subject, tree: str, id_: str, alone: TestRun) -> CheckProblem:
    again = await s.measure.suite(tree, ids=[id_], again=1)
    company = await s.measure.suite(tree, again=1)
    if _passes(again, id_) or not _passes(company, id_):
        what = "is flaky: its verdict changes from run to run on the same code"
        return problem(what, test=id_, expected="the same verdict every time", code="green.flaky")
    test = alone.tests.get(id_)
    said = "; ".join(alone.bent) or (test.message.strip().partition("\n")[0][:300] if test else alone.ended)
    what = f"passes with the other tests but not alone, twice each (alone: {said})"
    return problem(what, test=id_, expected=_HONEST, code="green.bent")


_KEPT: Final = "it still passes: keep the code that it needs, or put new code elsewhere"


async def measure(s: Subject) -> CheckOutcome:
    """Run the tests and record passes and failures; refuse only if the test tool is missing."""
    run = await suite_on_work(s)
    if run.ended == "missing":
        return conclude(reason_for_doubt(run), ran=run_evidence(run))
    counted = note(f"{len(run.passed)} passed, {len(run.failed)} failed", code="suite.measured")
    return conclude(notes=[*reason_for_doubt(run), counted], ran=run_evidence(run))


async def owed(s: Subject) -> CheckOutcome:
    """A test of this work fails: there is something to make pass."""
    run, listed = await suite_on_work(s), await read_manifest(s)
    own = listed.tests(run)
    failing = [id_ for id_ in bad_tests(run) if id_ in own]
    if problems := reason_for_doubt(run):
        return conclude(problems, ran=run_evidence(run))
    if failing:
        return conclude(
            notes=[note(f"these tests fail and have to pass: {join_names(failing)}", code="owed.failing")],
            ran=run_evidence(run),
        )
    place = listed.files[0] if listed.files else ""
    what = f"none of its {len(own)} tests fails" if own else "lists no existing test"
    wanted = "a test that fails, because the behaviour is missing"
    return conclude([problem(what, place, expected=wanted, code="owed.none")], ran=run_evidence(run))


async def green(s: Subject) -> CheckOutcome:
    """Require that the whole suite passes, with no test newly skipped, expected to fail, or deleted.

    An unchanged test that was failing or unstable before the run began refuses nothing.
    """
    run = await suite_on_work(s)
    failing = bad_tests(run)
    pending = await _of_others(s, run, failing) if failing and s.inst.parent else set()
    pending |= await _of_the_end(s, run, failing) if failing and is_one_by_one(s) else set()
    old = await excused_tests(s, run, [id_ for id_ in failing if id_ not in pending])
    mine = [id_ for id_ in failing if id_ not in pending and id_ not in old]
    waits = "fails, and waits for work that belongs to another step or instance"
    notes = [note(waits, test=id_, code="green.waiting") for id_ in sorted(pending)]
    return await _whole(s, run, mine, notes, old)


async def green_own_and_baseline(s: Subject) -> CheckOutcome:
    """This cycle's tests and everything green before it pass."""
    run = await suite_on_work(s)
    failing = bad_tests(run)
    owned = await owned_files(s) if failing else set()
    baseline = (await suite_at_origin(s)).passed if failing else frozenset()
    old = await excused_tests(s, run, failing)
    mine = [id_ for id_ in failing if id_ not in old and (file_of(id_, run) in owned or id_ in baseline)]
    others = [id_ for id_ in failing if id_ not in mine and id_ not in old]
    notes = [note("fails, and belongs to another cycle", test=id_, code="green.waiting") for id_ in others]
    return await _whole(s, run, mine, notes, old)


async def unbroken(s: Subject) -> CheckOutcome:
    """Every test that passed where the activity began still passes and is still collected.

    A test that the activity itself rewrote, where it may write tests, may also fail for the reason that a missing
    implementation has. A test that was failing or unstable before the run began refuses nothing.
    """
    run, earlier = await gate_run(s), await suite_before(s)
    if problems := [*await hidden_code(s), *reason_for_doubt(run)]:
        return conclude(problems, ran=run_evidence(run))
    mine = [one.path for one in s.changed_files() if may_change(s, one.path)]
    if not earlier.tests and not run.tests:
        return _by_exit_code(run, earlier, writes_tests=any(map(s.tests.is_test, mine)))
    written, now = set(ids_in(run, mine)), run.tests
    stopped = [id_ for id_ in sorted(earlier.passed & now.keys()) if now[id_].verdict != "passed"]
    changed = [id_ for id_ in stopped if not (id_ in written and is_red(now[id_]))]
    old = await excused_tests(s, run, changed)
    problems = [_broken(now[id_]) for id_ in changed if id_ not in old]

    # A file that cannot be collected any more is named once, instead of each test that was in it.
    uncollected = [id_ for id_, test in bad_tests(run).items() if test.phase == "collect" and id_ not in earlier.tests]
    problems += [_broken(now[id_]) for id_ in uncollected if ids_in(earlier, [file_of(id_, run)])]
    unread = {file_of(id_, run) for id_ in uncollected}

    problems += [
        problem(f"passed before this step, and {how}", test=id_, expected=_KEPT, code="unbroken.lost")
        for id_, how in (await lost_in_step(s, run, earlier)).items()
        if file_of(id_, earlier) not in unread
    ]
    problems += await _rewritten(s, run)
    problems += await lost_behaviour(s, s.work.base) if s.has_lane and not problems else []
    problems += [describe_adopted(id_) for id_ in await adopted_tests(s, run, sorted(written))]
    said = conclude(problems, excuse_notes(old), run_evidence(run))
    return msgspec.structs.replace(said, facts={EXCUSED: dict[str, Json](old)} if old else {})


async def _rewritten(s: Subject, run: TestRun) -> list[CheckProblem]:
    """Return a problem for each old test that this step has rewritten and that still passes, as at `red`."""
    mine = [path for path in s.changed_tests() if may_change(s, path)] if s.has_lane else []
    return [describe_rewritten(id_) for id_ in await rewritten_tests(s, run, ids_in(run, mine), of_step=True)]


def _by_exit_code(run: TestRun, earlier: TestRun, *, writes_tests: bool) -> CheckOutcome:
    """Judge by the exit code alone, for a toolchain that reports no tests.

    A step that adds tests, which may be red, gets only a note.
    """
    if earlier.exit != 0 or run.exit == 0:
        return conclude(ran=run_evidence(run))
    what = f"the test command succeeded before this step, and ends with {run.exit} now"
    if writes_tests:
        return conclude(
            notes=[note(f"{what}; this toolchain does not report which tests fail", code="unbroken.unknown")],
            ran=run_evidence(run),
        )
    return conclude([problem(what, expected=_KEPT, code="unbroken.failing")], ran=run_evidence(run))


def _broken(test: TestResult) -> CheckProblem:
    one = describe_test(test)
    how = one.what if test.verdict in ("failed", "error", "xpassed") else f"is {test.verdict} now"
    what = f"passed before this step, and {how}" if test.phase != "collect" else how
    return problem(what, one.file, one.line, one.test, _KEPT, code="unbroken.failing")


async def _whole(
    s: Subject, run: TestRun, failing: list[str], notes: Iterable[CheckProblem], old: dict[str, str]
) -> CheckOutcome:
    tree = await measured_tree(s)
    tried = may_be_chance(run, failing) if run.is_believable else []
    flaky = await flaky_among(s, tree, run, tried)
    named = [describe_flaky(run, id_, sent_back(s)) for id_ in flaky]
    known = await failing_before(s, run) if failing else set()
    is_strict = s.measure.settings.flaky != "accept"
    problems = [*await hidden_code(s), *await hiding_modules(s, run), *reason_for_doubt(run)]
    problems += (describe_with_past(run, id_, known, handed_back(s)) for id_ in failing if id_ not in flaky)
    problems += [*(named if is_strict else []), *await exchanged_parts(s, run)]
    notes = [*excuse_notes(old), *notes, *([] if is_strict else named)]
    if not problems or run.bent:
        differing, looked = await second_look(s, tree, run)
        problems, notes = [*problems, *differing], [*notes, *looked]
    if not problems and not run.passed and (run.tests or run.exit != 0):
        why = "; ".join(run.problems) or (f"the test command ended with {run.exit}" if run.exit else "all are skipped")
        problems.append(problem(f"no test passed: {why}", expected="tests that run and pass", code="green.none"))
    # A file that ends the test run at its import is reported already, and the other tests are unknown.
    ended_at_import = any(test.phase == "collect" and test.kind == "exit" for test in run.tests.values())
    if not reason_for_doubt(run) and not ended_at_import:
        problems += [*await _lost_at_green(s, run), *await _rewritten(s, run)]
        problems += [] if problems else await lost_behaviour(s, await s.origin())
    hints = [note(f"{one} (seen during the run)", code="green.tampering") for one in run.tampering]
    said = conclude(problems, [*notes, *hints], run_evidence(run))
    facts: dict[str, Json] = {"flaky": list(flaky), "mirrored": list(run.mirrored), EXCUSED: dict[str, Json](old)}
    said = msgspec.structs.replace(said, facts={name: value for name, value in facts.items() if value})
    return (await green_apart(s, run, tree)).added_to(said) if said.ok else said


async def _of_the_end(s: Subject, run: TestRun, failing: Iterable[str]) -> set[str]:
    """Contract tests that were red before: they speak about the finished work."""
    files = await contract_files(s)
    listed = (await read_manifest(s)).by_criterion(run, contract=True)
    contract = {id_ for ids in listed.values() for id_ in ids}
    earlier = bad_tests(await suite_before(s))
    return {id_ for id_ in failing if id_ in earlier and (id_ in contract or file_of(id_, run) in files)}


async def _of_others(s: Subject, run: TestRun, failing: Iterable[str]) -> set[str]:
    """Return the failing tests that wait for other instances.

    They were red when this instance began, are not its own, and did not fail before the run.
    """
    foreign = await foreign_tests(s, run, failing)
    if not foreign:
        return set()
    origin = await suite_at_origin(s)
    start = await s.measure.known_suite(await s.git.tree(await s.start()))
    known = set(bad_tests(start))
    return {id_ for id_ in foreign & set(bad_tests(origin)) if id_ not in known and file_of(id_, run) not in known}


async def _lost_at_green(s: Subject, run: TestRun) -> list[CheckProblem]:
    """Return problems for tests that no longer count: skipped, expected to fail, deselected, or gone.

    A step that may write tests may replace the instance's own ones, as long as there are no fewer. A test from before
    the instance stays, or gets another name only.
    """
    earlier = await suite_before(s)
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
    collected = set(run.collected)
    silent = [id_ for id_ in earlier.tests if id_ in collected and id_ not in run.tests]
    what = "no longer runs, though it is still collected"
    problems += [problem(what, test=id_, expected="every earlier test runs", code="green.lost") for id_ in silent]
    gone = [id_ for id_ in earlier.collected if id_ not in collected]
    if not s.is_frozen and s.has_lane:
        if gone and len(run.collected) < len(earlier.collected):
            less = f"there were {len(earlier.collected)} tests, now there are {len(run.collected)}"
            said = f"{less}; gone: {', '.join(gone[:5])}"
            problems.append(problem(said, expected="no fewer tests than before", code="green.lost"))
        old = (await suite_at_origin(s)).passed if gone else frozenset[str]()
        gone = [id_ for id_ in await lost_in_step(s, run, earlier) if id_ in old and id_ not in collected]
    wanted = "every earlier test"
    return problems + [problem("is gone", test=id_, expected=wanted, code="green.lost") for id_ in gone]


async def same_colour(s: Subject) -> CheckOutcome:
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
        id_: (colour,) if colour != "skipped" else (colour, "green")
        for id_, colour in mine.items()
        if file_of(id_, earlier) in owned
    }
    added = [id_ for id_ in others if id_ not in mine and file_of(id_, theirs) in owned]
    if added:  # in a file that both sides changed; a test that this work has removed there was collected at the origin
        added = [id_ for id_ in added if id_ not in (await suite_at_origin(s)).collected]
    for id_, colour in others.items():
        if file_of(id_, theirs) not in owned or id_ in added:
            is_green = "green" in (colour, mine.get(id_)) and colour != "skipped"
            expected[id_] = ("green",) if is_green else (colour, "red", "green")
    changed = [id_ for id_, wanted in expected.items() if now.get(id_) not in wanted]
    old = await excused_tests(s, run, [id_ for id_ in changed if id_ in now])
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
    problems += await _replaced_tests(s, own, parent, owned)
    said = conclude([*reason_for_doubt(run), *problems], excuse_notes(old), run_evidence(run))
    return msgspec.structs.replace(said, facts={EXCUSED: dict[str, Json](old)} if old else {})


async def _replaced_tests(s: Subject, own: str, parent: str, owned: Iterable[str]) -> list[CheckProblem]:
    """Return a problem for each piece of this work's tests that the rebase dropped or exchanged.

    Another test of the same name may have come from the other side. Under that name it would stand for a criterion that
    it does not test, and its colour is right.
    """
    origin = await s.origin()
    problems: list[CheckProblem] = []
    for path in sorted(path for path in owned if s.tests.is_test(path)):
        texts = [await s.text(path, commit) or "" for commit in (own, s.work.commit, origin, parent)]
        try:
            mine, now, before, theirs = [read_pieces(path, text) for text in texts]
        except (SyntaxError, ValueError, RecursionError):
            continue  # other checks refuse code that cannot be read
        kept, old = {piece.key for piece in now}, {piece.key for piece in before}
        whole = {piece.name: piece.whole for piece in now}
        foreign = {piece.name: piece.whole for piece in theirs}
        for piece in mine:
            # Statements of a module share one name: only a test can be exchanged for another one of its name.
            is_named = bool(piece.key[0]) and piece.name in foreign
            is_theirs = is_named and whole.get(piece.name) == foreign[piece.name] != piece.whole
            if piece.key not in old and (piece.key not in kept or is_theirs):
                what = f"{piece.name} no longer tests what it tested before the rebase"
                wanted = "this work's own test under its own name; another test of that name gets another name"
                problems.append(problem(what, path, piece.line, expected=wanted, code="canon.replaced"))
        # And the other side's test of the same name is still called, under another name.
        named = {piece.name: piece.whole for piece in mine if piece.key[0]}
        called = {piece.logic for piece in now if piece.name not in named}
        for piece in theirs:
            is_new = piece.key not in old and named.get(piece.name, piece.whole) != piece.whole
            if is_new and piece.logic not in called:
                what = f"{piece.name} of the other side is gone, which has the name of a test of this work"
                wanted = "both tests; the other side's gets another name"
                problems.append(problem(what, path, expected=wanted, code="canon.replaced"))
    return problems


_COLOURS: Final = {"passed": "green", "skipped": "skipped", "xfailed": "skipped"}


def _colours(run: TestRun) -> dict[str, str]:
    return {id_: _COLOURS.get(test.verdict, "red") for id_, test in run.tests.items()}
