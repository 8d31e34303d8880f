"""Completes the findings of a refusal: the reason why tests are lost, and the way to send tests back."""

from collections.abc import Collection
from typing import Final

import msgspec

from treadle.evidence.baseline import sent_back
from treadle.evidence.findings import CheckOutcome, CheckProblem, problem
from treadle.evidence.subject import Subject
from treadle.evidence.suite import bad_tests, file_of, gate_run, suite_before
from treadle.toolchains.results import TestResult, TestRun

_LOST: Final = frozenset({"green.lost", "unbroken.lost"})
_NONE: Final = "red.none"
_OWN_WORD: Final = frozenset({"green.skipped", "green.expected_failure"})
"""Verdicts that a test gives itself: an implementation cannot prevent them."""
_SHOWN: Final = 3
"""Lines of a compiler, or of an import that fails."""


async def explained(s: Subject, outcome: CheckOutcome) -> CheckOutcome:
    """Return the outcome of a check with the reasons and the ways out that its problems have in common."""
    problems = outcome.problems
    if any(one.code in _LOST or one.code == _NONE for one in problems):
        old = bad_tests(await suite_before(s)).keys()
        problems = tuple(with_reason(problems, await gate_run(s), old))
    if any(one.code in _OWN_WORD for one in problems) and (way := sent_back(s, "If the test decides that itself")):
        problems = tuple(
            msgspec.structs.replace(one, expected=f"{one.expected}{way}") if one.code in _OWN_WORD else one
            for one in problems
        )
    return msgspec.structs.replace(outcome, problems=problems)


def with_reason(problems: tuple[CheckProblem, ...], run: TestRun, old: Collection[str]) -> list[CheckProblem]:
    """Replace the problems of lost tests by one problem for each unreadable file or package.

    If no new test fails, an unreadable file is the reason, too, unless it is among `old`, the earlier failures.
    """
    reasons: list[CheckProblem] = []
    is_none = any(one.code == _NONE for one in problems)
    rest = list(problems)
    for id_, test in bad_tests(run).items():
        inside = [one for one in rest if one.code in _LOST and _is_in(one.test, id_, run)] if _is_unread(test) else []
        if inside or (is_none and _is_unread(test) and id_ not in old):
            said = [one for one in rest if one.test == id_] or [_describe(test, len(inside))]
            rest = [one for one in rest if one not in (*inside, *said)]
            reasons += said
    return [*reasons, *rest]


def _is_unread(test: TestResult) -> bool:
    return test.phase == "collect" and test.verdict == "error"


def _is_in(lost: str, unread: str, run: TestRun) -> bool:
    """Whether a lost test was in a file or package that cannot be read now."""
    return lost.startswith(f"{unread}::") or lost.partition("::")[0] == file_of(unread, run)


def _describe(test: TestResult, count: int) -> CheckProblem:
    lines = [line.strip() for line in test.message.splitlines() if line.strip() and not line.startswith("#")]
    said = "\n".join(lines[:_SHOWN])
    tests = f" ({count} ran before)" if count else ""
    what = f"cannot be compiled or imported, so none of its tests runs{tests}: {said}"
    return problem(what, test.file, test.line, test.id, "code and tests that compile", code="tests.uncollectable")
