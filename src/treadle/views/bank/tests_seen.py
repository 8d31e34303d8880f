"""How the tests ended when they were run last."""

from collections.abc import Collection
from typing import Final, Literal

from treadle.kernel.events import CheckResult
from treadle.protocol.catalogue import PROOFS
from treadle.views.bank.course import Course
from treadle.views.chronicle import Deed
from treadle.views.evidence_records import payload
from treadle.views.payload import Get

_GREEN: Final = PROOFS["green"][0]
_RED: Final = PROOFS["red"][0]


def last_test_result(course: Course, get: Get, among: Collection[str]) -> Literal["pass", "fail"] | None:
    """By the last check that has run the tests in one of these instances, or in any if none is named."""
    for deed in reversed(course.deeds()):
        if not among or deed.command.inst in among:
            found = [verdict for result in reversed(_results(deed)) if (verdict := _verdict(result, get))]
            if found:
                return found[0]
    return None


def _results(deed: Deed) -> tuple[CheckResult, ...]:
    return deed.checked.results if deed.checked else deed.claim.results if deed.claim else ()


def _verdict(result: CheckResult, get: Get) -> Literal["pass", "fail"] | None:
    """Red tests that were wanted have failed; those that were not red may have, if the runner says so."""
    if payload(get, result.report_ref).get("skipped") is True:
        return None
    if result.check in _GREEN:
        return "pass" if result.ok else "fail"
    if result.check in _RED:
        return "fail" if result.ok or payload(get, result.report_ref).get("exit") else "pass"
    return None
