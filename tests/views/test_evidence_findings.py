"""Findings of checks keep their codes in the evidence, in advice and in the log; older records have none."""

from typing import Any

import pytest

from tests.views.test_evidence_advice import advised, designed
from tests.views.trial import Trial, scaffolded
from treadle.kernel.events import Event
from treadle.kernel.replay import Move, encode_event
from treadle.protocol.items import Json
from treadle.views.evidence import CheckFinding
from treadle.views.evidence_records import codes, findings
from treadle.views.timeline import happened

ACT = "root:tests#1.1"
VACUOUS: dict[str, Json] = {"code": "red.vacuous", "what": "passes already", "test": "tests/test_add.py::test_adds"}
WEAK: dict[str, Json] = {"code": "tests.weak", "what": "compares a call with itself", "line": 4, "note": True}


def test_the_findings_of_a_refused_claim_are_part_of_the_evidence() -> None:
    trial = scaffolded().says(ACT, "TestsReady", {"red": {"findings": [VACUOUS, WEAK]}}, "red")
    (setback,) = trial.evidence().setbacks
    (check,) = [one for one in setback.checks if one.check == "red"]
    assert [(one.code, one.test, one.line, one.note) for one in check.findings] == [
        ("red.vacuous", "tests/test_add.py::test_adds", 0, False),
        ("tests.weak", "", 4, True),
    ]


def test_a_record_of_an_older_version_has_no_findings() -> None:
    trial = scaffolded().says(ACT, "TestsReady", {}, "red")
    assert [one.findings for one in trial.evidence().setbacks[0].checks if one.check == "red"] == [()]


@pytest.mark.parametrize(
    "record", [None, "text", [], {}, {"findings": None}, {"findings": {"code": "x"}}, {"findings": [1, {"code": 2}]}]
)
def test_what_is_no_finding_is_left_out(record: Any) -> None:
    assert findings(record) == ()


def test_a_finding_with_fields_of_a_later_version_is_still_read() -> None:
    assert findings({"findings": [{**VACUOUS, "since": "2.0"}]}) == (
        CheckFinding(code="red.vacuous", what="passes already", test="tests/test_add.py::test_adds"),
    )


def test_codes_are_those_of_problems_each_once() -> None:
    assert codes({"findings": [VACUOUS, WEAK, VACUOUS]}) == ("red.vacuous",)


class LoggedTrial(Trial):
    """A trial that keeps the last move of its run."""

    last: Move

    def happens(self, event: Event) -> Trial:
        self.last = self.chronicle.take(encode_event(event))
        self.record.take(self.last)
        return self


def test_the_log_names_the_codes_of_checks_that_failed() -> None:
    trial = LoggedTrial()
    scaffolded(trial).says(ACT, "TestsReady", {"red": {"findings": [VACUOUS, WEAK]}}, "red")
    one = happened(trial.last, trial.payloads.get)
    assert one.codes == ("red.vacuous",)
    assert "[red.vacuous]" in one.text
    assert happened(trial.last).codes == ()


def test_advice_has_the_codes_of_what_was_found() -> None:
    found = advised(designed().says("pass", "contract", fails=["diff_only"]), {"report": "- x", "findings": [VACUOUS]})
    assert [one.codes for one in found] == [("red.vacuous",)]
