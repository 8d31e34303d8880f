"""The time that tests may take before they count as hanging, derived from the run on the base commit."""

from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.config.model import ToolchainSettings
from treadle.toolchains.results import TestResult, TestRun

_TIMES: Final = 10.0
"""A machine may be so much slower than it was on the base commit, and new tests so much slower than the old ones."""
_ROOM: Final = 5
"""Hanging tests that one run waits for."""


class HangLimit(msgspec.Struct, frozen=True):
    """The seconds that one test and that all tests may take."""

    test: float
    suite: float
    reason: str
    """Where the limits come from, as the end of a sentence."""

    def explain(self, run: TestRun) -> TestRun:
        """Add the reason to the messages about tests and runs that were stopped."""
        late = list(hanging_tests(run))
        if run.ended != "timeout" and not late:
            return run
        said = f" ({self.reason})"
        tests = {one.id: msgspec.structs.replace(one, message=one.message + said) for one in late}
        problems = tuple(one + said for one in run.problems) if run.ended == "timeout" else run.problems
        return msgspec.structs.replace(run, tests=run.tests | tests, problems=problems)


def hanging_tests(run: TestRun) -> Iterable[TestResult]:
    """Return the tests that did not end in their time."""
    return (one for one in run.tests.values() if one.kind == "timeout")


def hang_limit(base: TestRun | None, settings: ToolchainSettings) -> HangLimit | None:
    """Derive the limits from a run on the base commit; None if there is none to derive them from."""
    if base is None or not base.is_believable or not settings.hang:
        return None
    slowest = max((one.duration for one in base.tests.values()), default=0.0)
    test = max(float(settings.hang), _TIMES * slowest)
    suite = max(float(settings.hang * _ROOM), _TIMES * base.duration, test)
    reason = (
        f"the limits, {test:.0f} s for a test and {suite:.0f} s for all, are ten times what the slowest test"
        f" ({slowest:.1f} s) and all tests ({base.duration:.1f} s) took on the base commit, and at least"
        f" `toolchain.hang` ({settings.hang} s) and {_ROOM} times as much"
    )
    return HangLimit(test, suite, reason) if suite < settings.timeout else None
