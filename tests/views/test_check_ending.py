"""How the command of a check ended, in a few words."""

from treadle.views.evidence import Check, CheckFinding
from treadle.views.evidence_text import check_ending


def test_a_green_check_that_ended_otherwise_names_the_tests_that_do_not_count() -> None:
    findings = (
        CheckFinding(code="baseline.failing", what="failed before", test="test_a.py::test_old", note=True),
        CheckFinding(code="green.waiting", what="waits", test="test_b.py::test_later", note=True),
        CheckFinding(code="green.run_again", what="5 tests were run again", note=True),
    )
    ended = check_ending(
        Check(
            check="green", ok=True, advisory=False, skipped=False, commit="", tree="", command=("pytest",), exit=1,
            duration=1.0, output="", report="", findings=findings, isolation="", plots=(), ref="",
        )
    )  # fmt: skip
    assert "(test_a.py::test_old, test_b.py::test_later)" in ended
