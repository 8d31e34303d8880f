"""Flaky tests: those whose verdict changes though nothing else does. They are named, and prove nothing.

A test that fails is run again, and once more; one that then passes is flaky. A new test that fails once and passes once
is not red.
"""

from collections.abc import Iterable
from typing import Final

from treadle.evidence.findings import Problem, problem
from treadle.evidence.subject import Subject
from treadle.evidence.ways_back import ways_back
from treadle.toolchains.results import TestRun

MOST: Final = 25
"""Tests that are run again; where more fail, chance is not the reason."""
_SAME: Final = "the same verdict every time: nothing left to chance, to the clock, to order or to other tests"
_CERTAIN: Final = ("import", "not_implemented")


async def flaky_among(s: Subject, tree: str, run: TestRun, ids: Iterable[str], times: int | None = None) -> list[str]:
    """Those of some tests that failed in a run and pass in another one."""
    left = [id_ for id_ in ids if id_ in run.collected][:MOST]
    found: list[str] = []
    for again in range(1, 1 + min(s.measure.settings.reruns, times or s.measure.settings.reruns)):
        if not left:
            break
        other = await s.measure.suite(tree, ids=left, again=again, mirrors=False)
        if not other.is_believable:
            break
        found += [id_ for id_ in left if id_ in other.passed]
        left = [id_ for id_ in left if id_ not in other.passed]
    return sorted(found)


def may_be_chance(run: TestRun, ids: Iterable[str]) -> list[str]:
    """Those of some failing tests whose reason could be another one the next time."""
    return [id_ for id_ in ids if run.tests[id_].kind not in _CERTAIN]


def described_flaky(run: TestRun, id_: str, advice: str = "") -> Problem:
    """A flaky test, with what it said when it failed."""
    test = run.tests[id_]
    message = test.message.strip().partition("\n")[0][:300]
    said = f" ({message})" if message else ""
    what = f"is flaky: it failed{said}, and passed when it was run again with nothing changed"
    return problem(what, test.file, test.line, id_, _SAME + advice, code="green.flaky")


def sent_back(s: Subject) -> str:
    """How a flaky test goes back to its author; empty for those who may change it themselves."""
    if not s.is_frozen:
        return ""
    exits = ways_back(s)
    how = f"leave by {' or '.join(exits)} and name it" if exits else "say so in the answer"
    return f". If the code leaves nothing to chance, the fault is the test's, which is frozen at this step: {how}"
