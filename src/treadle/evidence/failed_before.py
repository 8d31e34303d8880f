"""Tests that failed, or were unstable, before the run began: the evidence names them, and no agent is charged for them.

A test counts as old if the run found it there and nobody has changed it since. Only the author of a manifest can make
such a test part of the work: by listing it, which the base commit did not.
"""

import ast
from collections.abc import Collection, Iterable
from typing import Final

from treadle.evidence.findings import Problem, note, problem, some
from treadle.evidence.flaky import MOST, may_be_chance
from treadle.evidence.manifest import has_own_manifest, read_manifest
from treadle.evidence.measure import Measure
from treadle.evidence.needs import Git
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad, before, described, file_of, measured
from treadle.toolchains.results import TestRun

FAILING: Final = "baseline.failing"
FLAKY: Final = "baseline.flaky"
EXCUSED: Final = "excused"
"""The name under which a check's evidence has the tests that it did not charge: test → code."""
TOO: Final = "failed before this run, too"
_WORDS: Final = {FAILING: TOO, FLAKY: "passed and failed by chance before this run, too"}
_RERUNS: Final = 12
"""How often a test is run again on the base, unless the project wants more reruns, or none at all.

It ends with the first other verdict. One that fails every second time is charged to an agent once in 4,096 times.
"""


class Baseline:
    """What the tests did before somebody's work: at the run's start, and where the work began."""

    def __init__(self, git: Git, measure: Measure, start: str, origin: str) -> None:
        self._git, self._measure, self._start, self._origin = git, measure, start, origin

    async def excuses(
        self, run: TestRun, ids: Collection[str], head: str, earlier: TestRun, adopted: Collection[str] = ()
    ) -> dict[str, str]:
        """Those of some tests that the work at `head` is not charged for, each with the code that says why.

        `earlier`: the tests where the work began; one that somebody has mended since the start is to pass. `adopted`:
        old tests that the work has made its own.
        """
        found: dict[str, str] = {}
        for base in dict.fromkeys((self._start, self._origin)):
            left = [id_ for id_ in ids if id_ not in found and id_ not in adopted]
            if not left:
                break
            tree = await self._git.tree(base)
            seen = await self._measure.known_suite(tree)
            if not seen.is_believable:
                continue
            old = await self._unchanged(base, head, run, left)
            failing = {id_ for id_ in old & red_at_start(seen, run) if id_ not in earlier.passed}
            if base == self._start:
                found |= dict.fromkeys(failing, FAILING)
            else:  # what failed there, and not at the start, waits for somebody's work
                old, failing = old & seen.passed, set()
            found |= dict.fromkeys(await self._unstable(tree, seen, run, sorted(old), failing), FLAKY)
        return found

    async def _unstable(
        self, tree: str, seen: TestRun, run: TestRun, ids: list[str], failing: Collection[str]
    ) -> set[str]:
        """Tests that pass and fail on the base; of those that fail there anyway, the ones that are known for it."""
        known = await self._measure.unstable(tree, sorted(failing), times=0)
        tried = [id_ for id_ in ids if id_ not in failing and id_ in seen.tests]
        tried = may_be_chance(run, [id_ for id_ in tried if id_ in run.tests])
        times = max(_RERUNS, self._measure.settings.reruns) if self._measure.settings.reruns else 0
        return known | (await self._measure.unstable(tree, tried, times) if len(tried) <= MOST else set())

    async def _unchanged(self, base: str, head: str, run: TestRun, ids: list[str]) -> set[str]:
        """Those of some tests that are written at `head` as they were at `base`."""
        then, now = await self._git.entries(base), await self._git.entries(head)
        changed = [path for path in {*then, *now} if then.get(path) != now.get(path)]
        if not changed:
            return set(ids)
        texts = {commit: await self._git.shows(commit, changed) for commit in (base, head)}
        found: set[str] = set()
        for id_ in ids:
            file = file_of(id_, run)
            if file in changed:
                old, new = (_definition(texts[commit].get(file), id_) for commit in (base, head))
                is_same = bool(old) and old == new
            elif file in now:
                is_same = True
            else:  # the toolchain does not say where it is written
                name = id_.rpartition("::")[2].partition("[")[0].encode()
                is_same = not any(name in (texts[head].get(path) or b"") for path in changed)
            found |= {id_} if is_same else set()
        return found


def red_at_start(start: TestRun, run: TestRun) -> set[str]:
    """The failing tests of a run that failed when the run began, or whose whole file could not be collected then."""
    known = bad(start) if start.is_believable else {}
    return {id_ for id_ in bad(run) if id_ in known or file_of(id_, run) in known}


def _definition(data: bytes | None, id_: str) -> str:
    """A Python test function as it is written, without layout; empty if there is none."""
    try:
        node: ast.AST = ast.parse((data or b"").decode())
    except (SyntaxError, ValueError, RecursionError):
        return ""
    for name in id_.partition("[")[0].split("::")[1:]:
        inside = [one for one in getattr(node, "body", []) if getattr(one, "name", "") == name]
        if not inside:
            return ""
        node = inside[-1]
    return "" if isinstance(node, ast.Module) else ast.dump(node)


async def excused(s: Subject, run: TestRun, ids: Iterable[str]) -> dict[str, str]:
    """Those of some tests that this activity is not charged for: test → code."""
    asked = list(ids)
    if not asked:
        return {}
    start, origin = await s.git.start(s.case.state.run), await s.git.origin(s.case.state, s.job.inst)
    adopted: set[str] = set()
    if has_own_manifest(s.case.protocol):
        adopted = (await read_manifest(s)).tests(run)
    baseline = Baseline(s.git, s.measure, start, origin)
    return await baseline.excuses(run, asked, s.work.commit, await before(s), adopted)


async def failed_before(s: Subject, run: TestRun) -> set[str]:
    """Failing tests that failed when the run began, and have not passed where this work began."""
    if not bad(run):
        return set()
    start = await s.measure.known_suite(await s.git.tree(await s.git.start(s.case.state.run)))
    known = red_at_start(start, run)
    return known - (await before(s)).passed if known else set()


def excuse_notes(found: dict[str, str]) -> list[Problem]:
    """A note for each test that is not charged."""
    return [note(_WORDS[code], test=id_, code=code) for id_, code in sorted(found.items())]


def described_with_past(run: TestRun, id_: str, known: Iterable[str]) -> Problem:
    """A test that did not pass, and whether that is anything new."""
    one = described(run.tests[id_])
    if id_ not in known:
        return one
    said = f"{TOO}, and this work has changed it or lists it in its manifest; {one.what}"
    return problem(said, one.file, one.line, one.test, one.expected, code=one.code)


async def told_before(s: Subject) -> tuple[Problem, ...]:
    """What people should know about tests that were failing or unstable before the run began."""
    run = await measured(s)
    found = await excused(s, run, bad(run)) if run.is_believable else {}
    return tuple(_told(code, ids) for code in _WORDS if (ids := sorted(id_ for id_ in found if found[id_] == code)))


def _told(code: str, ids: list[str]) -> Problem:
    count, refuse = ("1 test", "refuses") if len(ids) == 1 else (f"{len(ids)} tests", "refuse")
    return note(f"{count} {_WORDS[code]}, and {refuse} nothing in it: {some(ids)}", code=code)
