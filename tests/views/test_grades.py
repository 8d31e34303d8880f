"""The grade of a test and of a criterion: how far one can believe that it was seen failing, then passing."""

import pytest

from tests.views.trial import COMMIT, TEST, Facts, Trial, green, red, spec, with_tests
from treadle.protocol.items import Json
from treadle.toolchains.command import LIMITS
from treadle.views.evidence import Evidence, Grade
from treadle.views.evidence_html import html
from treadle.views.evidence_text import rows
from treadle.views.evidence_verdict import gather_evidence, proof_so_far, proved_tests, unverified_criteria

SECOND = "tests/test_add.py::test_zero"
FRAME = "it hands over a frame"


def added(facts: Facts, check: str, **more: Json) -> Facts:
    return {check: {**facts[check], **more}}


def graded(apart: tuple[str, ...], together: dict[str, str], passed: tuple[str, ...], *limits: str) -> Trial:
    """A node with two tests of one criterion: how they were graded at red, and which passed apart at green."""
    reds = added(red(TEST, SECOND), "red", apart=[*apart], together={**together})
    greens = added(green(TEST, SECOND), "green", apart=[*passed], limits=[*limits])
    trial = with_tests(facts=reds).says("root:impl#1.1", "TestsPassed", greens)
    return trial.says("root:review#1.1", "Approved", signOff="I have read it")


BOTH, NONE = (TEST, SECOND), dict[str, str]()
CASES = [
    (BOTH, NONE, BOTH, (), "proved"),
    ((TEST,), {SECOND: FRAME}, (TEST,), (), "observed"),
    ((), {TEST: FRAME, SECOND: FRAME}, (), (), "observed"),
    (BOTH, NONE, BOTH, LIMITS, "word"),
    ((), NONE, BOTH, (), "observed"),  # never seen failing apart
    (BOTH, NONE, (TEST,), (), "observed"),  # never seen passing apart
]


@pytest.mark.parametrize(("apart", "together", "passed", "limits", "grade"), CASES)
def test_a_criterion_has_the_lowest_grade_of_its_tests(
    apart: tuple[str, ...], together: dict[str, str], passed: tuple[str, ...], limits: tuple[str, ...], grade: Grade
) -> None:
    found = graded(apart, together, passed, *limits).merges().evidence()
    (one,) = found.criteria
    assert (one.standing, one.grade, one.own_word) == ("verified", grade, grade == "word")
    counts = (found.tally.proved, found.tally.observed, found.tally.own_word)
    assert counts == tuple(int(grade == it) for it in ("proved", "observed", "word"))
    assert {it.id: it.together for it in one.tests if it.together} == together


def test_a_log_of_an_older_version_is_graded_as_it_was_believed() -> None:
    trial = with_tests().says("root:impl#1.1", "TestsPassed", green(TEST))
    (test,) = trial.criterion().tests
    assert (test.grade, test.together) == ("observed", "")
    assert [it.grade for it in with_tests().criterion().tests] == [""], "without a green run there is nothing to grade"


@pytest.mark.parametrize(
    ("grade", "minimum", "is_verified"),
    [
        ("proved", "proved", True),
        ("observed", "proved", False),
        ("word", "proved", False),
        ("observed", "observed", True),
        ("word", "observed", False),
        ("word", "word", True),
    ],
)
def test_below_the_minimum_a_criterion_is_not_verified(grade: Grade, minimum: Grade, is_verified: bool) -> None:
    apart, together, passed, limits, _ = next(case for case in CASES if case[-1] == grade)
    trial = graded(apart, together, passed, *limits)
    before = unverified_criteria(trial.log, trial.payloads.get, "root", minimum)
    assert [it.codes for it in before] == ([] if is_verified else [("evidence.grade",)])
    found = evidence_with(trial.merges(), minimum)
    assert (found.minimum, found.verdict) == (minimum, "verified" if is_verified else "unverified")
    assert (found.criteria[0].grade, found.criteria[0].codes) == (grade, () if is_verified else ("evidence.grade",))
    assert found.tally.verified == found.tally.proved + found.tally.observed + found.tally.own_word == int(is_verified)


def evidence_with(trial: Trial, minimum: Grade) -> Evidence:
    return gather_evidence(trial.log, trial.payloads.get, trial.inputs(minimum=minimum), 1_700_000_100_000)


def test_a_gap_that_is_older_comes_without_a_grade() -> None:
    trial = with_tests(Trial(spec("calc", "AC-1")))
    assert [it.codes for it in unverified_criteria(trial.log, trial.payloads.get, "root", "proved")] == [
        ("evidence.never_green", "evidence.not_approved")
    ]


def test_the_checks_ask_the_log_which_tests_must_pass_apart() -> None:
    trial = graded((TEST,), {SECOND: FRAME}, (TEST,))
    assert proof_so_far(trial.log, trial.payloads.get, "root").apart == {TEST: COMMIT}
    assert proved_tests(trial.log, trial.payloads.get, "root") == {TEST}


def test_a_new_red_grades_a_test_anew() -> None:
    trial = with_tests(facts=added(red(TEST, SECOND), "red", apart=[TEST, SECOND]))
    trial.says("root:impl#1.1", "TestsPassed", added(green(TEST, SECOND), "green", apart=[TEST, SECOND]))
    trial.says("root:review#1.1", "MoreTests", additionalTests=[{"text": "one more"}])
    trial.says("root:tests#2.1", "TestsReady", added(red(TEST), "red", together={TEST: FRAME}))
    assert proof_so_far(trial.log, trial.payloads.get, "root").apart == {SECOND: COMMIT}


def test_grades_are_shown_with_their_reasons_and_their_price() -> None:
    costs: Json = {"runs": 1, "tests": 2, "calls": 12, "seconds": 0.35}
    reds = added(red(TEST, SECOND), "red", apart=[TEST], together={SECOND: FRAME}, subjects=costs)
    trial = with_tests(facts=reds).says(
        "root:impl#1.1", "TestsPassed", added(green(TEST, SECOND), "green", apart=[TEST])
    )
    found = trial.says("root:review#1.1", "Approved", signOff="I have read it").merges().evidence()
    lines = [row.text for row in rows(found)]
    assert f"test   ● {TEST}" in lines
    assert f"test   ◐ {SECOND} ({FRAME})" in lines
    assert [line for line in lines if line.startswith("red ") and line.endswith("apart: 2 tests, 12 calls, 0.35 s")]
    page = html(found)
    assert FRAME in page
    assert "2 tests, 12 calls" in page


def test_a_damaged_record_of_costs_is_left_out() -> None:
    trial = with_tests(facts=added(red(TEST), "red", subjects={"runs": "many"}, together=["odd"], apart={"odd": 1}))
    checks = [check for step in trial.evidence().accepted for check in step.checks if check.check == "red"]
    assert [check.subjects for check in checks] == [None]
    assert [it.together for it in trial.criterion().tests] == [""]
