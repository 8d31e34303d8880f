"""A second run in another shape, when something about the first one was odd: one process for each test.

A test that passes in company and not alone is run once more both ways. If either verdict changes, it is flaky; if both
stay, its verdict depends on how it is run, and the run is called bent.
"""

import re
from random import Random
from typing import Final

from treadle.evidence.diffs import added_lines
from treadle.evidence.failed_before import FLAKY, excused
from treadle.evidence.findings import Problem, note, problem
from treadle.evidence.subject import Subject
from treadle.evidence.suite import before, file_of
from treadle.toolchains.results import TestRun

ALONE: Final = "baseline.alone"
_WORDS: Final = {
    FLAKY: "passed and failed by chance before this run, too",
    ALONE: "passed with the others and not alone before this run, too",
}
_MOST: Final = 5
_PLACE: Final = re.compile(r":\d+| \(in [^)]*\)")
_ASKS: Final = re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION")
_HONEST: Final = "a verdict that does not depend on which other tests run in the same process"


async def odd(s: Subject, run: TestRun) -> list[str]:
    """What is strange about a run, and was not about the one before the work."""
    reasons = list(run.bent)
    if run.tampering:
        known = {_PLACE.sub("", one) for one in (await before(s)).tampering}
        reasons += [one for one in run.tampering if _PLACE.sub("", one) not in known]
    diff = await s.git.diff(await s.git.origin(s.case.state, s.job.inst), s.work.commit)
    return reasons + [
        f"{file}:{line} asks which test is running" for file, line, text in added_lines(diff) if _ASKS.search(text)
    ]


async def second_look(s: Subject, tree: str, run: TestRun) -> tuple[list[Problem], list[Problem]]:
    """Tests whose verdict is another one alone, and what was done to find out."""
    reasons = await odd(s, run)
    if not reasons or not run.passed:
        return [], []
    chosen = _chosen(s, tree, run, reasons)
    alone = {id_: await s.measure.suite(tree, ids=[id_]) for id_ in chosen}
    differing = [id_ for id_, one in alone.items() if not _passes(one, id_)]
    told = f"{len(chosen)} tests were run again, each in a process of its own, because {reasons[0]}"
    old = await _old(s, run, differing)
    problems = [await _judged(s, tree, id_, alone[id_]) for id_ in differing if id_ not in old]
    notes = [note(f"{told}; {len(differing)} of them ended otherwise", code="green.run_again")]
    return problems, [*notes, *(note(_WORDS[code], test=id_, code=code) for id_, code in old.items())]


async def _old(s: Subject, run: TestRun, ids: list[str]) -> dict[str, str]:
    """Those of some tests that nobody has changed, and that are flaky or fail alone before the run, too."""
    old = await excused(s, run, ids)
    start = await s.git.start(s.case.state.run)
    touched = {path for change in await s.git.changes(start, s.work.commit) for path in change.touched}
    tree = await s.git.tree(start)
    for id_ in ids:
        if id_ not in old and file_of(id_, run) not in touched:
            alone = await s.measure.suite(tree, ids=[id_], mirrors=False)
            old |= {id_: ALONE} if alone.is_believable and id_ in alone.failed else {}
    return old


def _chosen(s: Subject, tree: str, run: TestRun, reasons: list[str]) -> list[str]:
    """Tests that a reason names, and some of the others."""
    every = sorted(run.passed)
    Random(f"{s.case.state.run}/{s.job.id}/{tree}").shuffle(every)
    text = "\n".join(reasons)
    return sorted(every, key=lambda id_: id_ not in text)[:_MOST]


def _passes(run: TestRun, id_: str) -> bool:
    return run.is_believable and id_ in run.passed


async def _judged(s: Subject, tree: str, id_: str, alone: TestRun) -> Problem:
    again = await s.measure.suite(tree, ids=[id_], again=1)
    company = await s.measure.suite(tree, again=1)
    if _passes(again, id_) or not _passes(company, id_):
        what = "is flaky: its verdict changes from run to run with nothing changed"
        return problem(what, test=id_, expected="the same verdict every time", code="green.flaky")
    test = alone.tests.get(id_)
    said = "; ".join(alone.bent) or (test.message.strip().partition("\n")[0][:300] if test else alone.ended)
    what = f"was bent: it passes together with the others and not alone, twice each (alone: {said})"
    return problem(what, test=id_, expected=_HONEST, code="green.bent")
