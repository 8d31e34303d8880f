"""Whether tests fail, and for the right reason.

`red`, `red_one`, `added`, `seen_red`, `still_red_on_skeleton`; `sharp` asks whether they notice wrong code.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from treadle.evidence.baseline import (
    EXCUSED,
    adopted_tests,
    describe_adopted,
    describe_flaky,
    describe_rewritten,
    excuse_notes,
    excused_tests,
    flaky_among,
    lost_in_step,
    lucky_tests,
    rewritten_tests,
)
from treadle.evidence.checks.coverage import shared_tests, unassigned_criteria
from treadle.evidence.checks.documents import unclear_names
from treadle.evidence.checks.scope import measured_tree
from treadle.evidence.criteria import kept_criteria, never_failed
from treadle.evidence.examples import borrowed_constants
from treadle.evidence.findings import CheckOutcome, CheckProblem, conclude, join_names, note, problem
from treadle.evidence.grades import grade_red
from treadle.evidence.hidden_code import hidden_code
from treadle.evidence.manifest import NAME, read_manifest
from treadle.evidence.sharpness import hollowed_trees, sharpness
from treadle.evidence.subject import Subject, accepted_commits, is_gated_by
from treadle.evidence.suite import (
    bad_tests,
    describe_test,
    file_of,
    ids_in,
    owned_files,
    planned_tests,
    reason_for_doubt,
    run_evidence,
    suite_at_origin,
    suite_before,
    suite_on_work,
)
from treadle.evidence.test_quality import is_readable, smells_in
from treadle.evidence.undefined_names import undefined_names
from treadle.git.trees import TreeEntry
from treadle.protocol.items import Json
from treadle.toolchains.results import TestResult, TestRun
from treadle.toolchains.test_names import function_of

# Explains why a new test is not red, so that its author can act on it.
#
# A test is red if it ran and failed by an assertion (of any kind: `pytest.fail`, a `pytest.raises` that saw nothing,
# a class derived from `AssertionError`) or because something is not implemented, however deep below the test it was
# raised. A test is also red if its setup failed because the code under test, and no file of the tests, is not
# implemented. Any other failure may be a mistake in the test, which cannot be ruled out before the implementation is
# there.

RIGHT: Final = "it fails by an assertion, or because code is not implemented"
_BY_KIND: Final = {
    "import": "import only names that exist. If the skeleton lacks a name, the scaffold step has to add it; without a "
    "skeleton, catch the ImportError and define a function of that name that calls `pytest.fail(…)`",
    "fixture": "a fixture may fail only because the code under test is not implemented, not by code of the tests",
    "timeout": "the test has to end; it waits for something, or loops for ever",
    "exit": "the test must not end the test run; to test an exit, use `with pytest.raises(SystemExit)`",
    "hook": "the test itself has to fail; no hook may change its report",
}
_UNKNOWN: Final = (
    "call the code as the interface declares it; only the scaffold step can add a name or parameter to the skeleton"
)
_STUB: Final = (
    "where the tests call code that does not exist, add a stub in the place of the implementation: the signature, "
    "and a body that only raises NotImplementedError"
)
_BY_ERROR: Final = dict.fromkeys(("AttributeError", "NameError", "TypeError", "UnboundLocalError"), _UNKNOWN)
_TYPE: Final = re.compile(r"(?:E\s+)?(?:[\w.]*\.)?(\w+)(?::|\Z|\s)")


def red_advice(test: TestResult, *, adds_stubs: bool = False) -> str:
    """Return advice for the author of a test that is not red; with `adds_stubs`, the author may add stubs."""
    if test.verdict == "xfailed":
        return "a test that simply fails, without this mark"
    if test.verdict == "skipped":
        return f"no skip: {RIGHT}"
    if adds_stubs and (test.kind == "import" or raised(test.message) in _BY_ERROR):
        return f"{RIGHT}; {_STUB}"
    if test.kind in _BY_KIND:
        return f"{RIGHT}; {_BY_KIND[test.kind]}"
    if test.kind != "error":
        return RIGHT
    name = raised(test.message)
    told = _BY_ERROR.get(name)
    if told is None:
        what = name or "this error"
        told = (
            f"if {what} means that the behaviour is missing, catch it around the call and call `pytest.fail(…)`;"
            f" if {what} is the expected behaviour, use `with pytest.raises(…)`; otherwise repair the test"
        )
    return f"{RIGHT}; {told}"


def raised(message: str) -> str:
    """The name of the exception that a message begins with; empty if it does not."""
    found = _TYPE.match(message.strip())
    return found[1] if found and found[1][:1].isupper() else ""


_DEMANDS_NOTHING: Final = "passes already, so it does not test the missing behaviour"
_PASSES_ON_SKELETON: Final = "passes on the skeleton, where nothing is implemented, so it proves nothing"
_IDLE: Final = "passes already, even with the functions that it calls emptied, so it proves nothing"
_NOTICING: Final = "a test that fails without the behaviour"


async def red(s: Subject) -> CheckOutcome:
    """Require that the new tests are collected, run, and fail for the right reason, and that green tests stay green."""
    return await _red(s, exactly=0)


async def red_one(s: Subject) -> CheckOutcome:
    """As red, with exactly one new test; its parameters may be many."""
    return await _red(s, exactly=1)


async def added(s: Subject) -> CheckOutcome:
    """Check as `red` does, but let a test of existing behaviour pass if it fails without the code that it calls."""
    if not s.changed_tests():
        return await _nothing_added(s)
    return await _red(s, exactly=0, may_pass=True)


_PROSE: Final = ".md"
"""The suffix of documents, which no test tool reads as its settings: a step of design does not pay for a test run."""


async def _nothing_added(s: Subject) -> CheckOutcome:
    """Require of work without new tests that the old ones run: a deleted file or a setting may silence them, too."""
    notes = [note("no test was added", code="red.nothing_new")]
    if all(path.endswith(_PROSE) for path in s.paths()):
        return conclude(notes=notes)
    run = await suite_on_work(s)
    if problems := reason_for_doubt(run):
        return conclude(problems, notes, run_evidence(run))
    broken = await _no_longer_green(s, run, await suite_before(s))
    old = await excused_tests(s, run, [one.test for one in broken if one.test in run.tests])
    said = conclude([one for one in broken if one.test not in old], [*notes, *excuse_notes(old)], run_evidence(run))
    return msgspec.structs.replace(said, facts={EXCUSED: dict[str, Json](old)} if old else {})


async def _red(s: Subject, exactly: int, *, may_pass: bool = False) -> CheckOutcome:
    run = await suite_on_work(s)
    if problems := [*await hidden_code(s), *reason_for_doubt(run), *_wrong_order(run)]:
        return conclude(problems, ran=run_evidence(run))
    if not run.tests:
        return _by_exit_code(run)
    earlier = await suite_before(s)
    fresh = await new_tests(s, run)
    broken = [id_ for id_ in bad_tests(run) if id_ in earlier.passed and id_ not in fresh]
    old = await excused_tests(s, run, [*(id_ for id_ in fresh if id_ in earlier.tests), *broken])
    fresh = [id_ for id_ in fresh if id_ not in old]
    failing = [id_ for id_ in fresh if is_red(run.tests[id_])]
    flaky = await flaky_among(s, await measured_tree(s), run, failing, times=1)
    lucky = await lucky_tests(s, run, [id_ for id_ in failing if id_ not in flaky])
    reds = [id_ for id_ in failing if id_ not in flaky and id_ not in lucky]
    problems = [_not_red(s, run.tests[id_]) for id_ in fresh if id_ not in failing]
    problems += [describe_flaky(run, id_) for id_ in flaky] + [_by_chance(id_) for id_ in lucky]
    problems += [one for one in await _no_longer_green(s, run, earlier) if one.test not in old]
    met_before = {*fresh, *earlier.tests}
    satisfied = [id_ for id_ in _written_now(s, run) if id_ in run.passed and id_ not in met_before]
    hollow = await hollowed_trees(s, run, satisfied) if may_pass else []
    known = {id_: one.tree for one in hollow for id_ in one.noticed}
    known |= dict.fromkeys(_unreadable(run, satisfied), "") if may_pass else {}
    skipped = await _skipped(s, run, earlier)
    unseen = {} if may_pass else await _unseen(s, run, [*satisfied, *(one.test for one in skipped)])
    proved = known or await red_on_skeleton(s, run, [*satisfied, *unseen])
    said, wanted = (_IDLE, _NOTICING) if may_pass else (_DEMANDS_NOTHING, RIGHT)
    problems += [problem(said, test=id_, expected=wanted, code="red.vacuous") for id_ in satisfied if id_ not in proved]
    problems += [_never_failed(run, id_, criterion) for id_, criterion in unseen.items() if id_ not in proved]
    problems += [describe_rewritten(id_) for id_ in await rewritten_tests(s, run, _written_now(s, run))]
    problems += [describe_adopted(id_) for id_ in await adopted_tests(s, run, _written_now(s, run))]
    problems += _count(reds, exactly, bool(proved))
    if not exactly:
        planned = await planned_tests(s, run)
        unassigned = unassigned_criteria(s, run, planned)
        problems += unassigned or shared_tests(planned, run.tests)
    problems += skipped
    shallow, smelt = await _quality(s, run, [*reds, *satisfied])
    sharp = await sharpness(s, run, reds, refuses=not exactly and not problems)
    idle, held = await _held(s, run) if not may_pass else ([], [])
    problems += idle
    notes: list[CheckProblem] = [*smelt, *excuse_notes(old), *sharp.notes, *held]
    blunt = [await sharpness(s, run, one.noticed, refuses=not problems, on=one.tree) for one in hollow]
    notes += [_proof(id_, run, may_pass) for id_ in proved]
    notes += [said for one in blunt for said in one.notes]
    every = [*problems, *shallow, *sharp.problems, *(fault for one in blunt for fault in one.problems)]
    outcome = CheckOutcome(
        problems=tuple(dict.fromkeys(every)),
        notes=tuple(notes),
        ran=run_evidence(run),
        facts={
            "red": list(reds),
            "red_on_skeleton": list(proved),
            **({EXCUSED: dict[str, Json](old)} if old else {}),
            **({"flaky": list(flaky)} if flaky else {}),
            **{name: fact for one in (*blunt, sharp) for name, fact in one.facts.items()},
        },
    )
    return await _graded(s, run, outcome, {**dict.fromkeys(reds, await measured_tree(s)), **proved})


async def _graded(s: Subject, run: TestRun, outcome: CheckOutcome, seen: Mapping[str, str]) -> CheckOutcome:
    """Add to an accepting outcome which tests will be judged apart; `seen`: test → the tree on which it is red."""
    if not outcome.ok or not seen:
        return outcome
    trees: dict[str, list[str]] = {}
    for id_, tree in seen.items():
        trees.setdefault(tree, []).append(id_)
    return (await grade_red(s, run, trees)).added_to(outcome)


def _unreadable(run: TestRun, ids: Sequence[str]) -> list[str]:
    """Return the tests in languages in which code cannot be removed for a trial: they have not been seen failing."""
    return [id_ for id_ in ids if not is_readable(file_of(id_, run))]


def _proof(id_: str, run: TestRun, may_pass: bool) -> CheckProblem:
    """Note the evidence for a new test that passes already."""
    if not may_pass:
        return note("passes already, and fails on the skeleton", test=id_, code="red.proved")
    if is_readable(file_of(id_, run)):
        return note("passes already, and fails when the code that it calls is removed", test=id_, code="red.proved")
    what = "passes already, and was never seen failing: Treadle cannot remove code in this language"
    return note(what, test=id_, code="red.unproved")


async def new_tests(s: Subject, run: TestRun) -> list[str]:
    """Return this work's tests that are not green yet: those listed in the manifest or in a changed test file.

    Without a manifest, earlier tests of the instance count too: they may stay as they are.
    """
    manifest = await read_manifest(s)
    earlier = [] if manifest.files else [path for path in await owned_files(s) if s.tests.is_test(path)]
    wanted = {*manifest.tests(run), *_written_now(s, run), *ids_in(run, earlier)}
    open_ = bad_tests(run) | {id_: test for id_, test in run.tests.items() if test.verdict == "xfailed"}
    return sorted(id_ for id_ in open_ if id_ in wanted)


def is_red(test: TestResult) -> bool:
    """Whether a test fails as it does without an implementation, or for a reason that the toolchain does not report."""
    return test.is_red or (test.verdict == "failed" and test.kind == "unknown")


def _written_now(s: Subject, run: TestRun) -> list[str]:
    return ids_in(run, s.changed_tests())


def _wrong_order(run: TestRun) -> list[CheckProblem]:
    """A run of nothing."""
    if run.tests or run.exit not in (0, 5) or (run.limits and not run.problems):
        return []
    return [
        problem(f"no test was run: {one}", expected="tests that are collected", code="red.not_run")
        for one in run.problems
    ]


def _by_exit_code(run: TestRun) -> CheckOutcome:
    if run.exit == 0:
        return conclude(
            [problem("the test command succeeds", expected="new tests that fail", code="red.none")],
            [note(one, code="suite.limited") for one in run.limits],
            run_evidence(run),
        )
    return conclude(
        notes=[
            note(f"the test command ended with {run.exit}; this toolchain does not report why", code="red.no_reason")
        ],
        ran=run_evidence(run),
    )


def _not_red(s: Subject, test: TestResult) -> CheckProblem:
    said = (
        "is marked as expected to fail" if test.verdict == "xfailed" else f"is not red: it {describe_test(test).what}"
    )
    code = "red.expected_failure" if test.verdict == "xfailed" else "red.wrong_reason"
    return problem(said, test.file, test.line, test.id, red_advice(test, adds_stubs=bool(s.scope.stubs)), code=code)


async def _no_longer_green(s: Subject, run: TestRun, earlier: TestRun) -> list[CheckProblem]:
    """Return a problem for each test that passed before this step and now fails, is skipped, or does not run at all."""
    problems: list[CheckProblem] = []
    written = set(_written_now(s, run))
    wanted = "every test that passed before still runs and passes"
    for id_, how in (await lost_in_step(s, run, earlier)).items():
        problems.append(problem(f"passed before and {how}", test=id_, expected=wanted, code="green.lost"))
    for id_ in sorted(earlier.passed & run.tests.keys()):
        test = run.tests[id_]
        if test.verdict != "passed" and not (id_ in written and is_red(test)):
            what = f"passed before and is {test.verdict} now"
            problems.append(problem(what, test.file, test.line, id_, "it still passes", code="green.broken"))
    return problems


def _count(reds: list[str], exactly: int, has_proved: bool) -> list[CheckProblem]:
    written = list(dict.fromkeys(function_of(id_) for id_ in reds))  # one function is one test with all its parameters
    if exactly and len(written) != exactly:
        named = f": {join_names(written)}" if written else ""
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


async def _skipped(s: Subject, run: TestRun, earlier: TestRun) -> list[CheckProblem]:
    """Refuse new skipped tests of a criterion that no other test runs for; tests of unclear scenarios may wait."""
    unclear = await unclear_names(s)
    listed = (await read_manifest(s)).by_criterion(run)
    of = {name: ids for name, ids in listed.items() if name not in unclear}
    skipped = set(run.with_verdict("skipped"))
    return [
        problem(f"is skipped, and no other test covers {criterion}", test=id_, expected=RIGHT, code="red.skipped")
        for criterion, ids in of.items()
        for id_ in ids
        if skipped.issuperset(ids) and id_ not in earlier.tests
    ]


async def _unseen(s: Subject, run: TestRun, aside: Collection[str]) -> dict[str, str]:
    """Return tests of this instance's criteria that pass or are skipped and never failed: test → criterion.

    The test of an unclear scenario may wait. In a delivered manifest, entries from before the run are the record of
    earlier work.
    """
    listed = await read_manifest(s)
    tests = listed.by_criterion(run)
    owed = [(one, id_) for one in kept_criteria(s) if one not in listed.held_criteria for id_ in tests.get(one, ())]
    quiet = set(run.with_verdict("passed", "skipped")).difference(aside)
    silent = {id_: one for one, id_ in reversed(owed) if id_ in quiet}
    if not silent:
        return {}
    settled = {id_ for name in await unclear_names(s) for id_ in tests.get(name, ()) if id_ not in run.passed}
    declared = s.case.protocol.artifacts.get(NAME.removesuffix(".json"))
    if declared is not None and declared.delivered:
        settled |= (await read_manifest(s, await s.start())).tests(run)
    return {id_: silent[id_] for id_ in sorted(never_failed(silent, s.proof.failed | settled))}


def _never_failed(run: TestRun, id_: str, criterion: str) -> CheckProblem:
    wanted = f"a test that fails because {criterion} is missing"
    if id_ in run.passed:
        how = "passes already"
        wanted += f". If {criterion} only keeps existing behaviour, list the old test as `holds:{criterion}`; a person"
        wanted += " then decides at the merge"
    else:
        how = "is skipped"
        wanted += "; do not list a skipped test in the manifest"
    what = f"stands for {criterion}, {how}, and was never seen failing"
    return problem(what, test=id_, expected=wanted, criterion=criterion, code="red.never_failed")


def _by_chance(id_: str) -> CheckProblem:
    what = "is an old test that does not always fail on the base commit, so its failure proves nothing"
    return problem(what, test=id_, expected="a new test that fails because the behaviour is missing", code="red.chance")


async def _held(s: Subject, run: TestRun) -> tuple[list[CheckProblem], list[CheckProblem]]:
    """Try the tests marked `holds:` without the code that they call.

    Returns problems for tests that notice nothing, and a note for each criterion.
    """
    listed = await read_manifest(s)
    tests = listed.by_criterion(run)
    held = {one: ids for one in sorted(listed.held_criteria) if (ids := [it for it in tests[one] if it in run.passed])}
    old = [id_ for id_ in dict.fromkeys(it for ids in held.values() for it in ids) if is_readable(file_of(id_, run))]
    noticed = {id_ for one in await hollowed_trees(s, run, old) for id_ in one.noticed}
    idle = [problem(_IDLE, test=id_, expected=_NOTICING, code="red.vacuous") for id_ in old if id_ not in noticed]
    what = "has only tests that passed before, as the author of the tests states"
    notes = [
        note(f"criterion {it} {what}: {join_names(ids)}", criterion=it, code="red.old_tests")
        for it, ids in held.items()
    ]
    return idle, notes


def skeletons(s: Subject) -> list[str]:
    """Commits with the code before the implementation, the first one first; a new plan may stand on earlier work."""
    return list(s.proof.skeletons) or [commit for _, commit in accepted_commits(s.case, s.inst)[:1]]


async def red_on_skeleton(s: Subject, run: TestRun, ids: Iterable[str]) -> dict[str, str]:
    """Those of some passing tests that fail where the implementation was still a skeleton, each with that tree."""
    return (await _on_skeletons(s, run, ids))[0]


async def _on_skeletons(s: Subject, now: TestRun, ids: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Return the tests that are red on a skeleton, each with its tree, and those that pass on the first one.

    A test that does not always fail there was not red, nor is an old one that does not always fail on the base commit.
    """
    wanted = list(ids)
    red, passed = dict[str, str](), set(await lucky_tests(s, now, wanted))
    for number, commit in enumerate(skeletons(s) if wanted else ()):
        tree = await tests_on(s, commit)
        run = await s.measure.suite(tree, ids=[id_ for id_ in wanted if id_ not in red])
        if not run.bent:
            failing = {id_ for id_, test in run.tests.items() if is_red(test)} - passed
            flaky = set(await flaky_among(s, tree, run, sorted(failing)))
            red |= dict.fromkeys(failing - flaky, tree)
            passed |= flaky if number else run.passed | flaky
        if red.keys() >= set(wanted):
            break
    return {id_: red[id_] for id_ in wanted if id_ in red}, passed - red.keys()


def red_checkpoint(s: Subject) -> str:
    """The commit that the tests of this instance failed on; empty if there is none."""
    reds = [commit for one, commit in accepted_commits(s.case, s.inst) if is_gated_by(s.graph, one, "red", "red_one")]
    return reds[0] if reds else ""


async def tests_on(s: Subject, base: str) -> str:
    """A commit's code with the tests under examination."""
    now, then = await s.entries(), await s.entries(base)
    files: dict[str, TreeEntry | None] = {path: None for path in then if s.tests.is_test(path)}
    return await s.git.with_files(base, files | {path: one for path, one in now.items() if s.tests.is_test(path)})


async def _quality(s: Subject, run: TestRun, ids: Sequence[str]) -> tuple[list[CheckProblem], list[CheckProblem]]:
    """Return problems and notes for tests that are red and yet show nothing, or may show little."""
    problems: list[CheckProblem] = []
    notes: list[CheckProblem] = []
    files = dict.fromkeys(file_of(id_, run) for id_ in ids)
    for file in files:
        names = {id_.partition("::")[2].partition("[")[0] for id_ in ids if file_of(id_, run) == file}
        for smell in await smells_in(s, file):
            if smell.test in names and smell.is_certain:
                what = f"the test {smell.test} {smell.what}"
                problems.append(
                    problem(what, file, smell.line, expected="an assertion that can fail", code="tests.vacuous")
                )
            elif smell.test in names:
                notes.append(note(f"the test {smell.test} {smell.what}", file, smell.line, code="tests.weak"))
        if is_readable(file):
            notes += await _borrowed(s, file)
            problems += [
                problem(
                    f"uses {name}, which exists nowhere: the line cannot work with any implementation",
                    file,
                    line,
                    expected="names that the tests or the interface define",
                    code="tests.undefined",
                )
                for line, name in await undefined_names(s, file)
            ]
    unread = [file for file in files if not is_readable(file)]
    if unread:
        what = f"the quality of tests in {join_names(unread)} was not checked: not available for this language"
        notes.append(note(what, code="tests.unread"))
    return problems, notes


async def _borrowed(s: Subject, file: str) -> list[CheckProblem]:
    """Expected values that are not the tests' own."""
    return [
        note(
            f"the expected value {one.name} comes from the code under test ({constant.file}:{constant.line}), where"
            " it can change together with the answer: write the value itself into the test",
            file,
            one.line,
            code="tests.borrowed_value",
        )
        for one, constant in await borrowed_constants(s, file)
        if one.is_expected
    ]


async def seen_red(s: Subject) -> CheckOutcome:
    """Require that every test of a criterion passes and was seen failing; a new test must fail on the skeleton.

    For a suite that is concluded after the implementation. A test that cannot even run on the skeleton, because it
    calls code that children have added since, is tried on a tree without that code instead.
    """
    run = await suite_on_work(s)
    if problems := reason_for_doubt(run):
        return conclude(problems, ran=run_evidence(run))
    listed = await read_manifest(s)
    written = [id_ for id_ in _written_now(s, run) if id_ in listed.tests(run) - listed.held_tests(run)]
    failing = [id_ for id_ in listed.tests(run) if id_ in bad_tests(run)]
    wanted = "a suite that passes: hand this test in as a challenge before the suite is concluded, or repair it"
    early = [describe_test(run.tests[id_]) for id_ in sorted(failing)]
    problems = [problem(it.what, it.file, it.line, it.test, wanted, code="red.concluded") for it in early]
    unseen = await _unseen(s, run, ())
    tried = [id_ for id_ in dict.fromkeys([*written, *unseen]) if id_ in run.passed]
    proved, passing = await _on_skeletons(s, run, tried)
    rest = [id_ for id_ in tried if id_ not in proved]
    old = (await suite_at_origin(s)).passed if rest else frozenset[str]()
    stale = {id_: one for id_, one in unseen.items() if id_ not in run.passed or (id_ in rest and id_ in old)}
    problems += [_never_failed(run, id_, one) for id_, one in stale.items()]
    blind = [id_ for id_ in rest if (id_ in passing or id_ in old) and id_ not in stale]
    problems += [problem(_PASSES_ON_SKELETON, test=id_, expected=_NOTICING, code="red.vacuous") for id_ in blind]
    left = [id_ for id_ in rest if id_ not in passing and id_ not in old]
    hollow = {id_: one.tree for one in await hollowed_trees(s, run, left) for id_ in one.noticed}
    unknown = _unreadable(run, left)
    idle = [id_ for id_ in left if id_ not in hollow and id_ not in unknown]
    problems += [problem(_IDLE, test=id_, expected=_NOTICING, code="red.vacuous") for id_ in idle]
    shallow, smelt = await _quality(s, run, written)
    dull, held_notes = await _held(s, run)
    notes = [*smelt, *held_notes, *(_proof(id_, run, may_pass=False) for id_ in proved)]
    notes += [_proof(id_, run, may_pass=True) for id_ in left if id_ not in idle]
    seen = {**proved, **{id_: hollow[id_] for id_ in left if id_ in hollow}}
    outcome = CheckOutcome(
        problems=tuple(dict.fromkeys([*problems, *shallow, *dull])),
        notes=tuple(notes),
        ran=run_evidence(run),
        facts={"red_on_skeleton": list(seen)},
    )
    return await _graded(s, run, outcome, seen)


async def still_red_on_skeleton(s: Subject) -> CheckOutcome:
    """Changed tests fail on the red checkpoint and pass on head."""
    run, base = await suite_on_work(s), red_checkpoint(s)
    changed = _written_now(s, run)
    if not changed:
        return conclude(notes=[note("no test was changed", code="red.nothing_new")], ran=run_evidence(run))
    if not base:
        return conclude([problem("there is no red checkpoint to compare with", code="red.no_checkpoint")])
    head = [describe_test(test) for id_, test in bad_tests(run).items() if id_ in changed]
    tree = await tests_on(s, base)
    then = await s.measure.suite(tree)
    green = (await s.measure.known_suite(await s.git.tree(base))).passed
    # A test may have moved to another file. One of that name in a file that is still there is another test.
    moved = {id_.partition("::")[2] for id_ in green if id_ not in run.collected}
    owed = [id_ for id_ in changed if id_ in run.passed and id_ not in green and id_.partition("::")[2] not in moved]
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
    lucky = await lucky_tests(s, run, [id_ for id_ in owed if id_ not in blind])
    seen = [id_ for id_ in owed if id_ not in blind and id_ not in lucky]
    outcome = CheckOutcome(
        problems=(*reason_for_doubt(run), *head, *problems, *map(_by_chance, lucky)),
        ran=run_evidence(then),
        tree=tree,
        facts={"red_on_skeleton": [*seen]},
    )
    return await _graded(s, run, outcome, dict.fromkeys(seen, tree))


# `sharp`: whether a finished suite can distinguish the implementation from simple wrong ones.


async def sharp(s: Subject) -> CheckOutcome:
    """The tests of each criterion notice simple wrong implementations, put into the skeleton that the work began with.

    For tests that are written one at a time: no single one of them can be asked that.
    """
    run, past = await suite_on_work(s), accepted_commits(s.case, s.inst)
    if problems := reason_for_doubt(run):
        return conclude(problems, ran=run_evidence(run))
    if not past:
        return conclude(
            notes=[note("there is no skeleton to try wrong implementations on", code="tests.no_skeleton")],
            ran=run_evidence(run),
        )
    skeleton = await tests_on(s, past[0][1])
    manifest = await read_manifest(s)
    listed = sorted(manifest.tests(run) - manifest.held_tests(run))  # old tests do not meet the skeleton
    seen = await sharpness(s, run, listed, refuses=True, on=skeleton)
    return CheckOutcome(problems=seen.problems, notes=seen.notes, ran=run_evidence(run), facts=seen.facts)
