"""Tests or parts of their runner that code has exchanged while it ran, for good: no honest code does."""

import re
from typing import Final

from treadle.evidence.findings import Problem, problem
from treadle.evidence.subject import Subject
from treadle.evidence.suite import before
from treadle.toolchains.results import TestRun

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
_ASKED: Final = "that its assertions are come by: what a test goes through lies with the tests, and is not empty"
_UNASKED: Final = re.compile(r".+ passed without reaching any of its assertions \(lines [\d, ]+\)")
_PLACE: Final = re.compile(r" \(in .*\)$")


def is_certain(finding: str) -> bool:
    """Whether something that was seen during a run can only have been done to change its verdicts."""
    return _CERTAIN.fullmatch(_without_place(finding)) is not None or _is_unasked(finding)


def _is_unasked(finding: str) -> bool:
    """Whether a test had nothing to ask of the code, which it must have had for somebody to be done with it."""
    return _UNASKED.fullmatch(finding) is not None


def _without_place(finding: str) -> str:
    """What was found, whichever test it was found in."""
    return _PLACE.sub("", finding)


async def exchanged(s: Subject, run: TestRun) -> list[Problem]:
    """What is not what it was before any code of the project ran, and still was in the run before this work."""
    certain = [one for one in run.tampering if is_certain(one)]
    known = {_without_place(one) for one in (await before(s)).tampering} if certain else set()
    return [_told(one) for one in certain if _without_place(one) not in known]


def _told(finding: str) -> Problem:
    if _is_unasked(finding):
        test, _, what = finding.partition(" passed without ")
        return problem(
            f"passed without {what}: it asks nothing of the code", test=test, expected=_ASKED, code="tests.unreached"
        )
    return problem(
        f"the test run was bent: {finding}",
        expected="code that leaves its tests and their runner alone",
        code="green.bent",
    )
