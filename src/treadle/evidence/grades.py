"""Runs the tests of criteria with judge and subject apart, and derives their grades.

Theory of operation. A runner that shares its process with the code under test can be deceived by it, so the tests that
stand for criteria run a second time: pytest and the tests in one process (the judge), the code in another one (the
subject), which sees neither the tests nor their folder.

Not every test can: some hand over a frame, a socket or a function by its name. "It passes in one process and fails
apart" is exactly what a cheat looks like, too. So the question is decided **at red**, on the code before the
implementation, and for good: a test is *apart* if it is red there for a right reason, else it is *together*, and the
evidence keeps the reason. At green a test that is apart has to pass apart. Whatever the implementation does then, it
cannot make its tests lose that grade; the way out is another test, and a new red.

Code can also recognise the subject, and be right only there. So a sample of the calls that these tests made is repeated
in plain interpreters (`toolchains/replay.py`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.evidence.baseline import SuiteBaseline, sent_back
from treadle.evidence.findings import CheckOutcome, CheckProblem, CommandRun, join_names, problem
from treadle.evidence.measurements import ActivityMeasurements, untried
from treadle.evidence.subject import Subject
from treadle.evidence.suite import describe_test, tests_by_criterion
from treadle.protocol.items import Json
from treadle.protocol.paths import TestPaths
from treadle.toolchains.results import ApartRun, CallDifference, TestRun

TOGETHER: Final = "judge and subject shared one process: "
"""The beginning of a limit for runs on a machine, or with a toolchain, that cannot keep them apart."""
_OTHERWISE: Final = (
    "a test that ends the same way in one process and apart from the code, on code that does nothing yet"
)
_COMPUTES: Final = (
    "code that does not need to share a process with its tests; if the test asks for something that cannot cross "
    "to another process, it needs another test, and a new red"
)
_EVERYWHERE: Final = "code that answers every caller alike; it must not depend on who runs it, where, when or how"
_WIRE: Final = "code that leaves the line between its process and its tests alone"


class ApartFindings(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a check with judge and subject apart."""

    problems: tuple[CheckProblem, ...] = ()
    facts: dict[str, Json] = {}
    limits: tuple[str, ...] = ()

    def added_to(self, outcome: CheckOutcome) -> CheckOutcome:
        """Return a check's outcome with these findings."""
        ran = outcome.ran
        if self.limits:
            before = ran or CommandRun()
            ran = msgspec.structs.replace(before, limits=(*before.limits, *self.limits))
        problems = tuple(dict.fromkeys([*outcome.problems, *self.problems]))
        return msgspec.structs.replace(outcome, problems=problems, facts={**outcome.facts, **self.facts}, ran=ran)


def _costs(runs: Sequence[ApartRun], ids: Collection[str]) -> dict[str, Json]:
    """Return the costs of the runs, for the record."""
    tried = [one for one in runs if not untried(one)]
    calls, took = sum(one.calls for one in tried), sum(one.duration for one in tried)
    return {"runs": len(tried), "tests": len(ids), "calls": calls, "seconds": round(took, 3)} if tried else {}


# At red: which tests can be judged apart.


async def grade_red(s: Subject, run: TestRun, trees: Mapping[str, Sequence[str]]) -> ApartFindings:
    """Decide for each red test whether it will be judged apart.

    `trees`: the tests by the tree on which they were seen failing; an empty tree if there is none.
    """
    ids = list(dict.fromkeys(id_ for some in trees.values() for id_ in some))
    decided = await _decided_before(s, run, ids)
    apart, together = list(decided), dict[str, str]()
    problems: list[CheckProblem] = []
    runs: list[ApartRun] = []
    tried: list[str] = []
    for tree, some in trees.items():
        left = [id_ for id_ in some if id_ not in decided and id_ not in together]
        if not tree:
            together |= dict.fromkeys(left, "it was never seen failing on code that could be run apart")
            continue
        if not left:
            continue
        runs.append(done := await s.measure.apart(tree, left, s.tests))
        tried += left
        for id_ in left:
            reason = _uncrossable(done, id_)
            if reason:
                together[id_] = reason
            elif id_ in done.run.passed:
                what = "fails in one process with the code, and passes apart from it"
                problems.append(problem(what, test=id_, expected=_OTHERWISE, code="red.apart"))
            else:
                apart.append(id_)
    facts: dict[str, Json] = {
        "apart": list[Json](sorted(apart)),
        "together": dict[str, Json](together),
        "subjects": _costs(runs, tried),
    }
    limits = dict.fromkeys(f"{TOGETHER}{reason}" for one in runs if (reason := untried(one)))
    return ApartFindings(
        problems=tuple(problems), facts={name: fact for name, fact in facts.items() if fact}, limits=tuple(limits)
    )


def _uncrossable(done: ApartRun, id_: str) -> str:
    """Return why a test that is red in one process cannot be judged apart; empty if it can, or if it passes there."""
    if reason := untried(done) or done.uncrossable.get(id_) or done.failed_to_cross.get(id_):
        return reason
    test = done.run.tests.get(id_)
    if test is None or done.run.bent or not (test.is_red or test.verdict == "passed"):
        return f"apart from the code it ends otherwise: {_ending(done, id_)}"
    return ""


def _ending(done: ApartRun, id_: str) -> str:
    """Describe how a test ended apart, or why there is no verdict: its file may not have been imported."""
    run = done.run
    if run.bent:
        return "; ".join(run.bent)
    test = run.tests.get(id_) or run.tests.get(id_.partition("::")[0])
    if test is not None and test.verdict != "passed":
        return f"it {describe_test(test).what}"
    return "; ".join(run.problems) or "it did not run"


async def _decided_before(s: Subject, run: TestRun, ids: Sequence[str]) -> list[str]:
    """Return the tests that an earlier red has found apart, and that are unchanged since.

    A later red may run them on half an implementation, which must not decide their grade again.
    """
    since: dict[str, list[str]] = {}
    for id_ in ids:
        if commit := s.proof.apart.get(id_):
            since.setdefault(commit, []).append(id_)
    start = await s.start()
    baseline = SuiteBaseline(s.git, s.measure, start, start)
    kept = [await baseline.unchanged(commit, s.work.commit, run, some) for commit, some in since.items()]
    return [id_ for id_ in ids if any(id_ in some for some in kept)]


# At green, and wherever accepted work is tested again: these tests pass apart, too.


async def green_apart(s: Subject, run: TestRun, tree: str) -> ApartFindings:
    """Require of the tests that stand for this instance's criteria, and were red apart, that they pass apart."""
    criteria = await tests_by_criterion(s, run)
    return await passing_apart(s, run, tree, {id_ for ids in criteria.values() for id_ in ids})


async def passing_apart(s: Subject, run: TestRun, tree: str, among: Collection[str]) -> ApartFindings:
    """As `green_apart`, of some tests that passed in one process."""
    ids = [id_ for id_ in sorted(s.proof.apart) if id_ in among and id_ in run.passed]
    return await require_apart(s.measure, tree, ids, s.tests, sent_back(s))


async def require_apart(
    measure: ActivityMeasurements, tree: str, ids: Sequence[str], tests: TestPaths, advice: str = ""
) -> ApartFindings:
    """Require that tests which were red apart pass apart; raise a retryable `PortError` if they cannot be run so."""
    if not ids:
        return ApartFindings()
    first = await measure.apart(tree, ids, tests)
    _require_apart(first, ids)
    runs, failing = [first], _failing(first, ids)
    if failing and not first.breaches:
        # A slow machine may have broken off a call. To pass apart once is enough: only right answers do that.
        runs.append(again := await measure.apart(tree, sorted(failing), tests, again=1))
        _require_apart(again, failing)
        failing = _failing(again, failing)
    wrong = [problem(_broke(one), expected=_WIRE, code="green.breach") for one in _breaches(runs)]
    for id_, reason in failing.items():
        at = runs[-1].run.tests.get(id_)
        what = f"passes in one process with the code, and fails apart from it: {reason}"
        file, line = (at.file, at.line) if at else ("", 0)
        wrong.append(problem(what, file, line, id_, _COMPUTES + advice, code="green.apart"))
    passed = [id_ for id_ in ids if id_ not in failing]
    limits: tuple[str, ...] = ()
    costs = _costs(runs, ids)
    if not wrong and any(done.record.calls for done in runs):
        replay = await measure.replay(tree, runs, passed, tests)
        wrong = [_differs(one, advice) for one in replay.differences]
        limits = (f"no call was repeated without the tests: {replay.problem}",) if replay.problem else replay.limits
        costs |= {"recorded": replay.recorded, "replayed": replay.replayed, "incomparable": replay.incomparable}
    facts: dict[str, Json] = {"apart": list[Json](passed), "subjects": costs}
    facts = {name: fact for name, fact in facts.items() if fact}
    return ApartFindings(problems=tuple(wrong), facts=facts, limits=limits)


def _differs(one: CallDifference, advice: str) -> CheckProblem:
    what = f"`{one.call}` {one.in_tests} in the tests, and {one.elsewhere} in a plain interpreter without them"
    return problem(what, test=one.test, expected=_EVERYWHERE + advice, code="green.differs")


def _require_apart(done: ApartRun, ids: Iterable[str]) -> None:
    """Raise an error if the machine cannot keep judge and subject apart any more: no agent is to blame for that."""
    if reason := untried(done):
        named = join_names(list(ids))
        said = f"{named} failed at red with judge and subject apart, and cannot be run apart here now: {reason}"
        raise PortError(f"{said}; repair it on this machine, then answer `retry`", retryable=True, code="env.apart")


def _failing(done: ApartRun, ids: Iterable[str]) -> dict[str, str]:
    """Return the tests that did not pass apart, each with the reason of the subject or of the test."""
    found: dict[str, str] = {}
    for id_ in ids:
        test = done.run.tests.get(id_)
        if test is not None and test.verdict == "passed" and done.run.is_believable and id_ not in done.failed_to_cross:
            continue
        found[id_] = done.failed_to_cross.get(id_) or done.uncrossable.get(id_) or _ending(done, id_)
    return found


def _breaches(runs: Iterable[ApartRun]) -> list[str]:
    return list(dict.fromkeys(one for done in runs for one in done.breaches))


def _broke(breach: str) -> str:
    return f"the code under test broke the rules of the line to its tests: {breach}"
