"""What the evidence says of the tests before the run: the baseline, and what checks found out about it later."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from treadle.protocol.items import Json
from treadle.views.baseline import Baseline, OldTest
from treadle.views.evidence import Evidence
from treadle.views.evidence_records import anything

_OURS = "baseline."


def with_baseline(found: Evidence, baseline: Baseline | None, get: Callable[[str], Json]) -> Evidence:
    """The evidence with the baseline of its run; tests that turned out unstable during the run are added to it."""
    if baseline is None:
        return found
    codes = {one.test: one.code for one in baseline.tests}
    checks = [
        *(it for one in found.accepted for it in one.checks),
        *(it for one in found.setbacks for it in one.checks),
    ]
    for ref in dict.fromkeys(it.ref for it in checks if it.ref):
        codes |= dict(_excused(anything(get, ref)))
    tests = tuple(OldTest(test, code) for test, code in sorted(codes.items()))
    return msgspec.structs.replace(found, baseline=msgspec.structs.replace(baseline, tests=tests))


def _excused(record: object) -> Iterator[tuple[str, str]]:
    """The tests that a check did not charge, each with the code that says why."""
    findings = record.get("findings") if isinstance(record, Mapping) else None
    for one in findings if isinstance(findings, list) else []:
        if isinstance(one, Mapping) and str(one.get("code", "")).startswith(_OURS) and one.get("test"):
            yield str(one["test"]), str(one["code"])
