"""What a check says, as text and as data."""

import json

from treadle.evidence.findings import MOST, CheckProblem, conclude, note, problem


def test_a_finding_ends_with_its_code() -> None:
    one = problem("passes already", "tests/test_a.py", 3, "tests/test_a.py::test_b", "a failure", code="red.vacuous")
    assert str(one).startswith("tests/test_a.py::test_b: passes already")
    assert str(one).endswith(" [red.vacuous]")
    assert str(CheckProblem(what="is odd")) == "is odd"


def test_a_long_finding_is_cut_before_its_code() -> None:
    one = problem("x" * 10_000, expected="y" * 10_000, code="scope.outside")
    assert len(str(one)) < 2_100
    assert str(one).endswith("… [scope.outside]")
    assert len(json.dumps(one.data)) < 4_200


def test_findings_are_data_without_empty_fields() -> None:
    said = conclude(
        [problem("was removed", "a.py", 2, expected="the file", code="canon.removed")],
        [note("stays", "b.md", code="document.unchanged"), "plain"],
    )
    assert said.findings == [
        {"code": "canon.removed", "what": "was removed", "file": "a.py", "line": 2, "expected": "the file"},
        {"code": "document.unchanged", "what": "stays", "file": "b.md", "note": True},
        {"code": "", "what": "plain", "note": True},
    ]


def test_as_many_findings_are_kept_as_the_report_shows() -> None:
    many = [problem("x", str(number), code="scope.outside") for number in range(3 * MOST)]
    said = conclude(many, [note("x", one.file, code="scope.outside") for one in many])
    assert len(said.findings) == 2 * MOST
    assert len(said.report.splitlines()) == 2 * MOST + 1
