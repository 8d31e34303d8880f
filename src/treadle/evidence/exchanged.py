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

_PLACE: Final = re.compile(r" \(in .*\)$")


def is_certain(finding: str) -> bool:
    """Whether something that was seen during a run can only have been done to change its verdicts."""
    return _CERTAIN.fullmatch(_without_place(finding)) is not None


def _without_place(finding: str) -> str:
    """What was found, whichever test it was found in."""
    return _PLACE.sub("", finding)


async def exchanged(s: Subject, run: TestRun) -> list[Problem]:
    """What is not what it was before any code of the project ran, and still was in the run before this work."""
    certain = [one for one in run.tampering if is_certain(one)]
    known = {_without_place(one) for one in (await before(s)).tampering} if certain else set()
    wanted = "code that leaves its tests and their runner alone"
    return [
        problem(f"the test run was bent: {one}", expected=wanted) for one in certain if _without_place(one) not in known
    ]
