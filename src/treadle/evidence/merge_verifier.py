"""What a merge or a rebase has to pass before anybody sees it: `git.verifier.Verifier` over the project's tools."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from treadle.evidence.cache import Cache
from treadle.evidence.failed_before import Baseline, excuse_notes, red_at_start
from treadle.evidence.findings import Problem, Ran, note, problem, some
from treadle.evidence.left_red import left_red
from treadle.evidence.manifest import has_own_manifest, manifest_place, parse
from treadle.evidence.measure import Measure
from treadle.evidence.needs import Git, Tools
from treadle.evidence.past import accepted, payload
from treadle.evidence.suite import bad, described, file_of, ran, unbelievable
from treadle.git.commit_message import papers_of
from treadle.git.verifier import Tried
from treadle.kernel.commands import RunEffect
from treadle.ports import Case
from treadle.protocol.items import Json
from treadle.toolchains.command import NOT_CHOSEN
from treadle.toolchains.results import Built, TestRun

_LEFT_RED: Final = "is to fail until somebody implements what it is about"
_FAILS_THERE: Final = "fails on the branch without the result, too"
_UNSTABLE: Final = "failed once and passed once with nothing changed"


class MergeVerifier:
    """Looks at clean checkouts of one instance's merge or rebase."""

    def __init__(self, git: Git, tools: Tools, cache: Cache, job: RunEffect, case: Case) -> None:
        self._git, self._tools, self._case = git, tools, case
        self._inst = case.state.insts[job.inst]
        self._measure = Measure(git, tools, cache, case.state.run, job.id, papers_of(case))

    async def build(self, path: Path) -> Tried:
        """Whether it builds; a project without a build command does."""
        return _tried(await self._command("build", path))

    async def contract(self, path: Path) -> Tried:
        """Whether the instance's contract suite passes, by the project's command or as tests; without one, it does.

        Where a run of all tests, which the merge needs anyway, includes the contract suite, that run decides.
        """
        built = await self._command("contract", path)
        place = self._contract_place()
        if built is not None or not place or not (path / place).exists():
            return _tried(built)
        if self._tools.settings.test and (tree := self._git.tree_at(path)):
            whole = await self._measure.suite(tree)
            inside = [id_ for id_ in whole.tests if _is_below(file_of(id_, whole), place)]
            if inside and whole.is_believable:
                return _of_run(whole, dict.fromkeys(bad(whole).keys() - set(inside)))
        return _of_run(await self._tools.test(path, files=(place,)))

    async def suite(self, path: Path) -> Tried:
        """Whether all tests pass, except those of others that wait for their work, or failed before the run.

        A green run on an equal tree is not repeated.
        """
        if not self._tools.settings.test:
            return _tried(None)  # where any check of the run needs tests, the run has not begun without a command
        tree = self._git.tree_at(path)
        run = await (self._measure.suite(tree) if tree else self._tools.test(path))
        failing = bad(run)
        excused = await self._excused(run) if failing else {}
        return _of_run(run, excused)

    async def _command(self, name: str, path: Path) -> Built | None:
        tree = self._git.tree_at(path)
        return await (self._measure.command(name, tree) if tree else self._tools.command(name, path))

    async def same_colour(self, before: str, after: str) -> Tried:
        """Whether every test has the verdict it had before; what others made pass is no change of ours."""
        if not self._tools.settings.test:
            return _tried(None)
        earlier = await self._measure.known_suite(await self._git.tree(before))
        # Without mirrors: what is rebased is measured with them before it is accepted, and again when it is merged.
        run = await self._measure.suite(await self._git.tree(after), mirrors=False)
        if faults := [*unbelievable(earlier), *unbelievable(run)]:
            return Tried(False, "\n".join(map(str, faults)), ran=ran(run).evidence)
        own, red, was_red = await self._own_files(), bad(run), bad(earlier)
        changed = [id_ for id_ in run.tests if id_ in red and id_ in earlier.tests and id_ not in was_red]
        changed += [id_ for id_ in was_red if id_ in run.tests and id_ not in red and file_of(id_, earlier) in own]
        changed += [id_ for id_ in earlier.collected if id_ not in run.collected and file_of(id_, earlier) in own]
        old = await self._old(run, [id_ for id_ in changed if id_ in run.tests], earlier)
        charged = [id_ for id_ in changed if id_ not in old]
        said = f"other verdicts than before: {some(charged)}" if charged else ""
        notes = _data(excuse_notes(old))
        coded = [problem("has another verdict than before", test=id_, code="colour.changed").data for id_ in charged]
        return Tried(not charged, said, tuple(charged), ran(run).evidence, (*coded, *notes))

    async def _excused(self, run: TestRun) -> dict[str, Problem]:
        """Tests of others that were failing or unstable before the run, or fail at the parent's head already."""
        own = await self._own_files()
        parent = await self._git.parent_head(self._case.state, self._inst.id)
        there = await self._measure.known_suite(await self._git.tree(parent))
        waiting = {id_ for id_ in bad(run) if id_ in bad(there)} if self._inst.parent else set()
        listed = await self._listed(run)
        others = {id_ for id_ in waiting if file_of(id_, run) not in own and id_ not in listed}
        excused = {id_: note("waits for work of others", test=id_, code="green.waiting") for id_ in others}
        left = {id_ for id_ in left_red(self._case) if id_ in bad(run)}
        excused |= {id_: note(_LEFT_RED, test=id_, code="green.left_red") for id_ in left}
        old = await self._old(run, [id_ for id_ in bad(run) if id_ not in left], there)
        return excused | {one.test: one for one in excuse_notes(old)}

    async def _old(self, run: TestRun, ids: list[str], earlier: TestRun) -> dict[str, str]:
        """Those of some tests that nobody has changed, and that were failing or unstable before the run."""
        start = await self._git.start(self._case.state.run)
        origin = await self._git.origin(self._case.state, self._inst.id)
        head = await self._git.head(self._case.state, self._inst.id)
        adopted = await self._listed(run) - await self._listed(run, start)
        return await Baseline(self._git, self._measure, start, origin).excuses(run, ids, head, earlier, adopted)

    async def _listed(self, run: TestRun, commit: str = "") -> set[str]:
        """The tests that a manifest of the instance's own lists, at its head or at another commit."""
        if not has_own_manifest(self._case.protocol):
            return set()
        place = manifest_place(self._case.protocol, payload(self._case, self._inst.input.ref))
        head = commit or await self._git.head(self._case.state, self._inst.id)
        data = await self._git.show(head, place) if place else None
        return parse(place, data.decode(errors="replace")).tests(run) if data else set()

    async def _own_files(self) -> set[str]:
        origin = await self._git.origin(self._case.state, self._inst.id)
        head = await self._git.head(self._case.state, self._inst.id)
        return {path for change in await self._git.changes(origin, head) for path in change.touched}

    def _contract_place(self) -> str:
        said = [one.payload.get("contractSuite") for one in reversed(accepted(self._case, self._inst))]
        return next((place for place in said if isinstance(place, str) and place), "")


def _tried(built: Built | None) -> Tried:
    if built is None:
        return Tried(ok=True, details="the project has no command for it")
    kept = Ran(
        command=built.command, exit=built.exit, duration=built.duration, output=built.output, isolation=built.isolation
    ).evidence
    if built.is_well:
        return Tried(ok=True, ran=kept)
    said = f"`{' '.join(built.command)}` ended with {built.exit}:\n{built.output.strip()[-4000:]}"
    return Tried(False, said, ran=kept)


def _is_below(file: str, place: str) -> bool:
    return file == place or file.startswith(f"{place.rstrip('/')}/")


def _data(notes: Iterable[Problem]) -> list[dict[str, Json]]:
    return [{**one.data, "note": True} for one in notes]


def _of_run(run: TestRun, excused: Mapping[str, Problem | None] = MappingProxyType({})) -> Tried:
    """What a run of tests says of a merge; tests that are excused without a note are not what was asked."""
    failing = {id_: test for id_, test in bad(run).items() if id_ not in excused}
    faults = [*unbelievable(run), *(described(test) for test in failing.values())]
    kept = ran(run).evidence
    if not faults and not excused and run.exit not in (0, 5) and not _is_of_others(run):
        said = f"the test command ended with {run.exit}:\n{run.output.strip()[-4000:]}"
        return Tried(False, said, ran=kept)
    notes = [one for _, one in sorted(excused.items()) if one is not None]
    said = "\n".join(map(str, faults)) or "\n".join(map(str, notes))
    return Tried(not faults, said, tuple(failing), kept, (*(one.data for one in faults), *_data(notes)))


def _is_of_others(run: TestRun) -> bool:
    """Whether a bad exit code says nothing about the tests that were asked for: the whole suite ran with them."""
    return NOT_CHOSEN in run.limits and bool(run.chosen) and not run.problems


class Failure(msgspec.Struct, frozen=True):
    """Why a result does not hold on the user's branch."""

    what: str
    """`build`, `contract`, `suite` or `criteria`."""
    details: str
    tests: tuple[str, ...] = ()


class DeliveryVerifier:
    """Looks at a finished result on top of a commit that the run has not seen.

    What fails on that commit already is not charged to the result. A test that stands for a criterion has no excuse.
    """

    def __init__(self, git: Git, tools: Tools, cache: Cache, case: Case, asker: str) -> None:
        self._git, self._tools, self._case = git, tools, case
        self._measure = Measure(git, tools, cache, case.state.run, asker, papers_of(case))

    async def verify(self, commit: str, onto: str, own: Collection[str], proofs: Collection[str]) -> Failure | None:
        """Why a commit must not be delivered on top of `onto`; None if it may.

        `own` are the files that the result changes, `proofs` the tests that stand for its criteria.
        """
        tree = await self._git.tree(commit)
        built = _tried(await self._measure.command("build", tree))
        if not built.ok:
            return Failure("build", built.details)
        contract = await self._contract(commit, tree)
        if not contract.ok:
            return Failure("contract", contract.details, contract.failing)
        if not self._tools.settings.test:
            return Failure("criteria", "the project has no test command any more", tuple(proofs)) if proofs else None
        run = await self._measure.suite(tree)
        if lost := sorted(id_ for id_ in proofs if id_ not in run.passed):
            details = [str(described(run.tests[id_])) if id_ in run.tests else f"{id_} is not run" for id_ in lost]
            return Failure("criteria", "\n".join(details), tuple(lost))
        tried = _of_run(run, await self._excused(run, tree, onto, own))
        if not tried.ok:
            return Failure("suite", tried.details, tried.failing)
        if gone := await self._gone(run, onto, own):
            return Failure("suite", f"tests of the branch are not found any more: {some(gone)}", tuple(gone))
        return None

    async def _contract(self, commit: str, tree: str) -> Tried:
        """The contract suites of the run: by the project's command, or as the tests that its planners named."""
        built = await self._measure.command("contract", tree)
        if built is not None or not self._tools.settings.test:
            return _tried(built)
        said = [
            one.payload.get("contractSuite")
            for it in self._case.state.insts.values()
            for one in accepted(self._case, it)
        ]
        entries = await self._git.entries(commit)
        places = {place for place in said if isinstance(place, str) and place in entries}
        return _of_run(await self._measure.suite(tree, files=sorted(places))) if places else _tried(None)

    async def _excused(self, run: TestRun, tree: str, onto: str, own: Collection[str]) -> dict[str, Problem | None]:
        """Tests of others that fail on the branch already, or do not always fail; each with a note that says why."""
        if not run.is_believable:
            return {}
        others = [id_ for id_ in bad(run) if file_of(id_, run) not in own]
        known: dict[str, Problem | None] = {}
        if others:
            before = await self._measure.known_suite(await self._git.tree(onto))
            failing = [id_ for id_ in red_at_start(before, run) if id_ in others]
            known = {id_: note(_FAILS_THERE, test=id_, code="baseline.failing") for id_ in failing}
        if left := [id_ for id_ in others if id_ not in known and id_ in run.collected]:
            again = await self._measure.suite(tree, ids=left, again=1, mirrors=False)
            flaky = [id_ for id_ in left if again.is_believable and id_ in again.passed]
            known |= {id_: note(_UNSTABLE, test=id_, code="baseline.flaky") for id_ in flaky}
        waiting = [id_ for id_ in left_red(self._case) if id_ in bad(run)]
        return known | {id_: note(_LEFT_RED, test=id_, code="green.left_red") for id_ in waiting}

    async def _gone(self, run: TestRun, onto: str, own: Collection[str]) -> list[str]:
        """Tests of the branch that passed there and are not found any more, in files that the result leaves alone."""
        tree = await self._git.tree(onto)
        gone = [id_ for id_ in (await self._measure.collected(tree)).ids if id_ not in run.collected]
        if not gone:
            return []
        before = await self._measure.known_suite(tree)
        return [id_ for id_ in gone if id_ in before.passed and file_of(id_, before) not in own]
