"""Which test stands for which criterion."""

import json

import pytest

from treadle.evidence.manifest import matching, parse

GOOD = """{
  "spec_id": "REQ-102",
  "acceptance_criteria_map": {
    "test_sorts": "AC-1: keeps the order",
    "test_both": ["AC-1", "AC-2: and this"],
    "test_whole": "contract:AC-2"
  },
  "complexity_constraints": {"time": "O(n log n)"}
}
"""


def test_a_manifest_is_read() -> None:
    found = parse("m.json", GOOD, ["AC-1", "AC-2"])
    assert found.problems == ()
    assert [(one.test, one.criterion, one.is_contract, one.line) for one in found.entries] == [
        ("test_sorts", "AC-1", False, 4),
        ("test_both", "AC-1", False, 5),
        ("test_both", "AC-2", False, 5),
        ("test_whole", "AC-2", True, 6),
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("{\n  oops\n}", 2, "is not JSON"),
        ("[]", 1, "has no object 'acceptance_criteria_map'"),
        ('{"acceptance_criteria_map": []}', 1, "has no object"),
        ('{"acceptance_criteria_map": {},\n "criteria": 1}', 2, "has an unknown key 'criteria'"),
        ('{"acceptance_criteria_map": {\n"test_a": "AC-1",\n"test_a": "AC-2"}}', 3, "names 'test_a' twice"),
        ('{"acceptance_criteria_map": {\n"test_a": 7}}', 2, "'test_a' stands for nothing"),
        ("[" * 100_000, 1, "is not JSON"),
    ],
)
def test_what_is_wrong_is_told_by_line(text: str, line: int, said: str) -> None:
    first = parse("m.json", text).problems[0]
    assert (first.file, first.line) == ("m.json", line)
    assert said in first.what


@pytest.mark.parametrize(
    ("text", "criterion"),
    [("AC-1", "AC-1"), ("AC-10: x", "AC-10"), ("AC-1 x", "AC-1"), ("REQ:7: text", "REQ:7"), ("AC-3: unknown", "AC-3")],
)
def test_the_longest_known_criterion_counts(text: str, criterion: str) -> None:
    listed = json.dumps({"acceptance_criteria_map": {"t": text}})
    assert (
        parse("m", listed, sorted(["AC-1", "AC-10", "REQ:7"], key=len, reverse=True)).entries[0].criterion == criterion
    )


def test_a_name_means_all_tests_that_end_with_it() -> None:
    ids = [
        "tests/test_a.py::test_x[1]",
        "tests/test_a.py::test_x[2]",
        "tests/test_b.py::T::test_x",
        "tests/test_b.py::test_xy",
    ]
    assert matching("test_x", ids) == ids[:3]
    assert matching("test_x[2]", ids) == [ids[1]]
    assert matching("test_a.py::test_x", ids) == ids[:2]
    assert matching("T::test_x", ids) == [ids[2]]
    assert matching("est_x", ids) == []
