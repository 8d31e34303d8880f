"""Verifies a merge or a rebase before it becomes visible: `git.merge.CommitVerifier` over the project's tools."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from treadle.evidence.baseline import (
    MOST,
    SuiteBaseline,
    excuse_notes,
    lost_tests,
    may_be_chance,
    red_at_start,
    reruns_of,
)
from treadle.evidence.checks.contract import ran_of
from treadle.evidence.code_shapes import read_pieces
from treadle.evidence.findings import CheckProblem, join_names, note, problem
from treadle.evidence.grades import require_apart
from treadle.evidence.manifest import has_own_manifest, manifest_place, parse_manifest
from treadle.evidence.measurements import ActivityMeasurements, Cache
from treadle.evidence.project_facts import ProjectTools, RepositoryFacts
from treadle.evidence.source_text import decode_source
from treadle.evidence.subject import accepted_exits, paths_of_tests, payload
from treadle.evidence.suite import bad_tests, describe_test, file_of, reason_for_doubt, run_evidence
from treadle.git.commit_message import papers_of
from treadle.git.merge import CommitVerifier, TrialResult
from treadle.kernel.commands import RunEffect
from treadle.kernel.instances import ROOT
from treadle.ports import Case
from treadle.protocol.items import Json
from treadle.protocol.paths import TestPaths, is_test
from treadle.toolchains.chosen_files import is_in_files
from treadle.toolchains.command import RAN_MORE
from treadle.toolchains.results import CommandResult, TestRun

# Tests that are merged though they fail: a run that only writes tests leaves the implementation to others.

_NEW: Final = "new_tests"
"""The field of an exit that names the tests that fail, as they were measured."""


def left_red(case: Case) -> set[str]:
    """Return the failing tests to merge: `new_tests` of the exits that the merge steps need."""
    found: set[str] = set()
    for inst in case.state.insts.values():
        steps = case.protocol.graphs[inst.graph].steps.values()
        needs = [need for step in steps if step.effect == "merge" for need in step.needs if need.step and not need.up]
        listed = [payload(case, slot.ref).get(_NEW) for need in needs if (slot := inst.slots.get(need.slot))]
        found |= {id_ for ids in listed if isinstance(ids, list) for id_ in ids if isinstance(id_, str)}
    return found


ProvedOf = Callable[[str], Collection[str]]
"""The tests that prove criteria of an instance, and of those below it, with judge and subject apart."""


def no_proved_tests(_inst: str) -> Collection[str]:
    """Return no tests, for callers without a log."""
    return ()


_SILENT: Final = "passes without this work, and does not run with it"
_RUNS: Final = "every test that passed before runs: no hook, option or mark leaves it out"
_LEFT_RED: Final = "may fail until its behaviour is implemented"
_FAILS_THERE: Final = "fails on the branch without the result, too"
_UNSTABLE: Final = "failed once and passed once with nothing changed"
_UNSTABLE_THERE: Final = "passes and fails by chance on the branch without the result, too"


class MergeVerifier(CommitVerifier):
    """Verifies the commits of one instance's merge or rebase."""

    def __init__(
        self,
        git: RepositoryFacts,
        tools: ProjectTools,
        cache: Cache,
        job: RunEffect,
        case: Case,
        proved_of: ProvedOf = no_proved_tests,
    ) -> None:
        super().__init__()
        self._git, self._tools, self._case, self._proved_of = git, tools, case, proved_of
        self._inst = case.state.insts[job.inst]
        self._measure = ActivityMeasurements(git, tools, cache, case.state.run, job.id, papers_of(case))

    async def build(self, commit: str) -> TrialResult:
        """Build the commit; without a build command, it passes."""
        return _judge_command(await self._measure.command("build", await self._git.tree(commit)))

    async def contract(self, commit: str) -> TrialResult:
        """Run the instance's contract suite, by the project's command or as tests; without a suite, the commit passes.

        If the run of all tests, which the merge needs anyway, includes the contract suite, that run decides.
        """
        tree = await self._git.tree(commit)
        built = await self._measure.command("contract", tree)
        said = [one.payload.get("contractSuite") for one in reversed(accepted_exits(self._case, self._inst))]
        place = next((one for one in said if isinstance(one, str) and one), "")
        below = f"{place.rstrip('/')}/"
        has_suite = place and any(path == place or path.startswith(below) for path in await self._git.entries(commit))
        if built is not None or not has_suite:
            return _judge_command(built)
        if self._tools.settings.test:
            whole = await self._measure.suite(tree)
            inside = [id_ for id_, test in whole.tests.items() if is_in_files(id_, test.file, (place,))]
            if inside and whole.is_believable:
                others = dict.fromkeys(bad_tests(whole).keys() - set(inside))
                return _judge_run(whole, {**await self._old(whole, tree, inside), **others})
        run = await self._measure.suite(tree, files=(place,))
        return _judge_run(run, await self._old(run, tree, list(run.tests)))

    async def _old(self, run: TestRun, tree: str, ids: list[str]) -> dict[str, CheckProblem | None]:
        """Return a note for each of some failing tests that was so before the run."""
        bad = [id_ for id_ in ids if id_ in bad_tests(run)]
        if not bad or not run.is_believable:
            return {}
        parent = await self._git.parent_head(self._case.state, self._inst.id)
        at_parent = await self._measure.known_suite(await self._git.tree(parent))
        return {one.test: one for one in excuse_notes(await self._bad_before(run, tree, bad, at_parent))}

    async def suite(self, commit: str) -> TrialResult:
        """Run all tests, and excuse those that wait for the work of others or failed before the run.

        A green run on an equal tree is not repeated.
        """
        if not self._tools.settings.test:
            return _judge_command(None)  # a run with a check that needs tests does not start without a test command
        tree = await self._git.tree(commit)
        run = await self._measure.suite(tree)
        if lost := await self._lost(run, commit):
            return _judge_run(run, await self._excused(run, tree), lost)
        excused = await self._excused(run, tree) if bad_tests(run) else {}
        tests = paths_of_tests(self._case, self._inst, self._measure.settings.test_paths)
        proved = [id_ for id_ in self._proved_of(self._inst.id) if id_ in run.passed]
        return await _judge_apart(_judge_run(run, excused), self._measure, tree, proved, tests)

    async def same_colour(self, before: str, after: str) -> TrialResult:
        """Require that every test keeps its verdict; a test of others that now passes is no change."""
        if not self._tools.settings.test:
            return _judge_command(None)
        earlier = await self._measure.known_suite(await self._git.tree(before))
        # Without mirrors: they run before the rebased work is accepted, and again before it is merged.
        tree = await self._git.tree(after)
        run = await self._measure.suite(tree, mirrors=False)
        if faults := [*reason_for_doubt(earlier), *reason_for_doubt(run)]:
            return TrialResult(False, "\n".join(map(str, faults)), ran=run_evidence(run).evidence)
        own, red, was_red = await self._own_files(), bad_tests(run), bad_tests(earlier)
        changed = [id_ for id_ in run.tests if id_ in red and id_ in earlier.tests and id_ not in was_red]
        changed += [id_ for id_ in was_red if id_ in run.tests and id_ not in red and file_of(id_, earlier) in own]
        kept = run.tests.keys() - set(run.with_verdict("skipped", "xfailed"))
        known = earlier.tests.keys() - set(earlier.with_verdict("skipped", "xfailed"))
        changed += sorted(id_ for id_ in known if id_ not in kept and file_of(id_, earlier) in own)
        old = await self._bad_before(run, tree, [id_ for id_ in changed if id_ in run.tests], earlier)
        charged = [id_ for id_ in changed if id_ not in old]
        said = f"other verdicts than before: {join_names(charged)}" if charged else ""
        notes = _data(excuse_notes(old))
        coded = [problem("has another verdict than before", test=id_, code="colour.changed").data for id_ in charged]
        return TrialResult(not charged, said, tuple(charged), run_evidence(run).evidence, (*coded, *notes))

    async def _lost(self, run: TestRun, commit: str) -> list[str]:
        """Return the tests that pass on the commit to merge into, and that the result lacks or skips.

        For a root this is the commit that it started from. The user's branch may have moved on since: what it has
        dropped is no loss of this work.
        """
        if not run.is_believable:
            return []
        parent = await self._git.parent_head(self._case.state, self._inst.id) if self._inst.parent else ""
        base = parent or await self._git.origin(self._case.state, self._inst.id)
        earlier = await self._measure.known_suite(await self._git.tree(base))
        lost = await lost_tests(self._git, run, earlier, base, commit, await self._own_files())
        lost += [id_ for id_ in run.with_verdict("skipped", "xfailed") if id_ in earlier.passed]
        target = await self._git.parent_head(self._case.state, self._inst.id)
        if lost and target != base and await self._git.contains(commit, target):
            there = await self._measure.known_suite(await self._git.tree(target))
            lost = [id_ for id_ in lost if not there.is_believable or id_ in there.passed]
        return lost

    async def _excused(self, run: TestRun, tree: str) -> dict[str, CheckProblem]:
        """Return a note for each excused test: it waits for others, was left red, or was bad before the run."""
        own = await self._own_files()
        parent = await self._git.parent_head(self._case.state, self._inst.id)
        at_parent = await self._measure.known_suite(await self._git.tree(parent))
        waiting = {id_ for id_ in bad_tests(run) if id_ in bad_tests(at_parent)} if self._inst.parent else set()
        listed = await self._tests_in_manifest(run)
        others = {id_ for id_ in waiting if file_of(id_, run) not in own and id_ not in listed}
        excused = {id_: note("waits for work of others", test=id_, code="green.waiting") for id_ in others}
        left = {id_ for id_ in left_red(self._case) if id_ in bad_tests(run)}
        excused |= {id_: note(_LEFT_RED, test=id_, code="green.left_red") for id_ in left}
        old = await self._bad_before(run, tree, [id_ for id_ in bad_tests(run) if id_ not in left], at_parent)
        return excused | {one.test: one for one in excuse_notes(old)}

    async def _bad_before(self, run: TestRun, tree: str, ids: list[str], earlier: TestRun) -> dict[str, str]:
        """Return the unchanged tests that were failing or unstable before the run: test → code."""
        start = await self._git.start(self._case.state.run)
        origin = await self._git.origin(self._case.state, self._inst.id)
        head = await self._git.head(self._case.state, self._inst.id)
        adopted = await self._tests_in_manifest(run) - await self._tests_in_manifest(run, start)
        baseline = SuiteBaseline(self._git, self._measure, start, origin)
        return await baseline.excuses(run, tree, ids, head, earlier, adopted)

    async def _tests_in_manifest(self, run: TestRun, commit: str = "") -> set[str]:
        """Return the tests in the instance's own manifest, at its head or at another commit."""
        if not has_own_manifest(self._case.protocol):
            return set()
        place = manifest_place(self._case.protocol, payload(self._case, self._inst.input.ref))
        head = commit or await self._git.head(self._case.state, self._inst.id)
        data = await self._git.show(head, place) if place else None
        return parse_manifest(place, data.decode(errors="replace")).tests(run) if data else set()

    async def _own_files(self) -> set[str]:
        origin = await self._git.origin(self._case.state, self._inst.id)
        head = await self._git.head(self._case.state, self._inst.id)
        return {path for change in await self._git.changes(origin, head) for path in change.touched}


def _judge_command(built: CommandResult | None) -> TrialResult:
    if built is None:
        return TrialResult(ok=True, details="the project has no command for it")
    kept = ran_of(built).evidence
    if built.is_well:
        return TrialResult(ok=True, ran=kept)
    said = f"`{' '.join(built.command)}` ended with {built.exit}:\n{built.output.strip()[-4000:]}"
    return TrialResult(False, said, ran=kept)


def _data(notes: Iterable[CheckProblem]) -> list[dict[str, Json]]:
    return [{**one.data, "note": True} for one in notes]


def _judge_run(
    run: TestRun, excused: Mapping[str, CheckProblem | None] = MappingProxyType({}), lost: Iterable[str] = ()
) -> TrialResult:
    """Judge a merge by a test run, without the excused tests. A test excused with None gets no note: it is outside the
    question, such as a test outside the contract suite. `lost`: tests that passed before and do not run any more.
    """
    failing = {id_: test for id_, test in bad_tests(run).items() if id_ not in excused}
    silent = [problem(_SILENT, test=id_, expected=_RUNS, code="green.lost") for id_ in lost]
    faults = [*reason_for_doubt(run), *(describe_test(test) for test in failing.values()), *silent]
    kept = run_evidence(run).evidence
    # A bad exit code proves nothing about chosen tests if the whole suite ran with them.
    is_of_others = not RAN_MORE.isdisjoint(run.limits) and bool(run.chosen) and not run.problems
    if not faults and not excused and run.exit not in (0, 5) and not is_of_others:
        said = f"the test command ended with {run.exit}:\n{run.output.strip()[-4000:]}"
        return TrialResult(False, said, ran=kept)
    notes = [one for _, one in sorted(excused.items()) if one is not None]
    said = "\n".join(map(str, faults)) or "\n".join(map(str, notes))
    charged = (*failing, *(one.test for one in silent))
    return TrialResult(not faults, said, charged, kept, (*(one.data for one in faults), *_data(notes)))


async def _judge_apart(
    tried: TrialResult, measure: ActivityMeasurements, tree: str, proved: Iterable[str], tests: TestPaths
) -> TrialResult:
    """Return an accepting result after the tests that proved criteria apart have passed apart here, too."""
    if not tried.ok:
        return tried
    found = await require_apart(measure, tree, sorted(proved), tests)
    ran = {**tried.ran, **found.facts}
    if not found.problems:
        return msgspec.structs.replace(tried, ran=ran)
    failing = tuple(one.test for one in found.problems if one.test)
    findings = (*(one.data for one in found.problems), *tried.findings)
    return TrialResult(False, "\n".join(map(str, found.problems)), failing, ran, findings)


class DeliveryFailure(msgspec.Struct, frozen=True):
    """The reason why a result fails on the user's branch."""

    what: str
    """`build`, `contract`, `suite` or `criteria`."""
    details: str
    tests: tuple[str, ...] = ()


_OTHER: Final = "is no longer as the run verified it; put that version back, or merge the result by hand"


class DeliveryVerifier:
    """Verifies a finished result on top of a commit that the run has not seen.

    Failures that this commit already has are not charged to the result. A test that stands for a criterion is
    never excused.
    """

    def __init__(
        self,
        git: RepositoryFacts,
        tools: ProjectTools,
        cache: Cache,
        case: Case,
        asker: str,
        proved: Collection[str] = (),
    ) -> None:
        """`proved`: the tests that were seen with judge and subject apart in the run."""
        self._git, self._tools, self._case, self._proved = git, tools, case, proved
        self._measure = ActivityMeasurements(git, tools, cache, case.state.run, asker, papers_of(case))
        self.excused: dict[str, str] = {}
        """The failing tests that the last verification did not charge to the result: test → code of the reason."""

    async def verify(
        self, commit: str, onto: str, own: Collection[str], proofs: Collection[str], verified: str
    ) -> DeliveryFailure | None:
        """Return why a commit must not be delivered on top of `onto`; None if it may.

        `own` are the files that the result changes, `proofs` the tests that stand for its criteria, and `verified` is
        the commit with which they passed in the run.
        """
        tree = await self._git.tree(commit)
        built = _judge_command(await self._measure.command("build", tree))
        if not built.ok:
            return DeliveryFailure("build", built.details)
        contract = await self._contract(commit, tree, onto, own)
        if not contract.ok:
            return DeliveryFailure("contract", contract.details, contract.failing)
        if changed := await self._changed(verified, commit, await self._contract_places(verified)):
            return DeliveryFailure("contract", "\n".join(f"{path} {_OTHER}" for path in sorted(changed)))
        if not self._tools.settings.test:
            return (
                DeliveryFailure("criteria", "the project has no test command any more", tuple(proofs))
                if proofs
                else None
            )
        run = await self._measure.suite(tree)
        if lost := sorted(id_ for id_ in proofs if id_ not in run.passed):
            details = [str(describe_test(run.tests[id_])) if id_ in run.tests else f"{id_} is not run" for id_ in lost]
            return DeliveryFailure("criteria", "\n".join(details), tuple(lost))
        changed = await self._changed(verified, commit, {file_of(id_, run) for id_ in proofs})
        if others := sorted(id_ for id_ in proofs if file_of(id_, run) in changed):
            return DeliveryFailure("criteria", "\n".join(f"{id_} {_OTHER}" for id_ in others), tuple(others))
        tried = _judge_run(run, await self._excused(run, tree, onto, own))
        if not tried.ok:
            return DeliveryFailure("suite", tried.details, tried.failing)
        tests = paths_of_tests(self._case, self._case.state.insts[ROOT], self._measure.settings.test_paths)
        apart = await _judge_apart(tried, self._measure, tree, [id_ for id_ in self._proved if id_ in proofs], tests)
        if not apart.ok:
            return DeliveryFailure("criteria", apart.details, apart.failing)
        if gone := await self._gone(run, commit, onto, own):
            return DeliveryFailure("suite", f"tests of the branch do not run any more: {join_names(gone)}", tuple(gone))
        return None

    async def tests_changed_by_hand(self, verified: str, tip: str) -> list[str]:
        """Return the files of tests that a person has changed on the result branch, or added to it.

        Helpers, data, `conftest.py` and names that hide others can change the result of a test, so none may differ.
        """
        touched = {path for change in await self._git.changes(verified, tip) for path in change.touched}
        return sorted(path for path in touched if is_test(path))

    async def _changed(self, verified: str, commit: str, files: Iterable[str]) -> set[str]:
        """Return the test files that lack some of the code that they had in the verified commit.

        The branch may have added tests to such a file. But a person may have changed the result, and a test of the
        branch may have the name of one of the run's: then another test passes under the name that the evidence shows.
        """
        broken: set[str] = set()
        for path in files:
            before, now = [await self._git.show(each, path) for each in (verified, commit)]
            if before is None or before == now:
                continue
            try:
                old, new = [read_pieces(path, decode_source(path, data or b"")) for data in (before, now)]
            except (SyntaxError, ValueError, RecursionError):
                broken.add(path)
                continue
            if Counter((it.name, it.whole) for it in old) - Counter((it.name, it.whole) for it in new):
                broken.add(path)
        return broken

    async def _contract(self, commit: str, tree: str, onto: str, own: Collection[str]) -> TrialResult:
        """The contract suites of the run: by the project's command, or as the tests that its planners named."""
        built = await self._measure.command("contract", tree)
        if built is not None or not self._tools.settings.test:
            return _judge_command(built)
        places = await self._contract_places(commit)
        if not places:
            return _judge_command(None)
        run = await self._measure.suite(tree, files=places)
        return _judge_run(run, await self._excused(run, tree, onto, own))

    async def _contract_places(self, commit: str) -> list[str]:
        """Return the files of contract suites that planners named and a commit has."""
        said = [
            one.payload.get("contractSuite")
            for it in self._case.state.insts.values()
            for one in accepted_exits(self._case, it)
        ]
        entries = await self._git.entries(commit)
        return sorted({place for place in said if isinstance(place, str) and place in entries})

    async def _excused(
        self, run: TestRun, tree: str, onto: str, own: Collection[str]
    ) -> dict[str, CheckProblem | None]:
        """Return the failing tests that are not charged to the result, each with a note.

        They are tests of others that already fail on the branch or do not always fail, and tests that the run left red.
        """
        if not run.is_believable:
            return {}
        others = [id_ for id_ in bad_tests(run) if file_of(id_, run) not in own]
        known: dict[str, CheckProblem | None] = {}
        if others:
            there = await self._measure.known_suite(await self._git.tree(onto))
            failing = [id_ for id_ in red_at_start(there, run) if id_ in others]
            known = {id_: note(_FAILS_THERE, test=id_, code="baseline.failing") for id_ in failing}
        if left := [id_ for id_ in others if id_ not in known and id_ in run.collected]:
            again = await self._measure.suite(tree, ids=left, again=1, mirrors=False)
            flaky = [id_ for id_ in left if again.is_believable and id_ in again.passed]
            known |= {id_: note(_UNSTABLE, test=id_, code="baseline.flaky") for id_ in flaky}
            # A test that fails every second time may fail twice here, so ask the branch without the result, too.
            steady = may_be_chance(run, [id_ for id_ in left if id_ not in flaky])
            before = await self._git.tree(onto)
            times = reruns_of(self._measure.settings) if len(steady) <= MOST else 0
            unstable = await self._measure.unstable(before, steady, times) if steady else set()
            known |= {id_: note(_UNSTABLE_THERE, test=id_, code="baseline.flaky") for id_ in unstable}
        waiting = [id_ for id_ in left_red(self._case) if id_ in bad_tests(run)]
        found = known | {id_: note(_LEFT_RED, test=id_, code="green.left_red") for id_ in waiting}
        self.excused = {id_: one.code for id_, one in sorted(found.items()) if one is not None}
        return found

    async def _gone(self, run: TestRun, commit: str, onto: str, own: Collection[str]) -> list[str]:
        """Return the tests that pass on the branch and do not run with the result: gone, deselected or skipped.

        A file that the result changes may give a test another name.
        """
        before = await self._measure.known_suite(await self._git.tree(onto))
        lost = await lost_tests(self._git, run, before, onto, commit, own)
        return sorted({*lost, *(before.passed & set(run.with_verdict("skipped", "xfailed")))})
