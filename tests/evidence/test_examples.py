"""Examples in tests."""

import pytest

from treadle.evidence.examples import examples


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert add(1, 2) == 3", [("add", "1", "3")]),
        ("assert 3 == calc.add(x, 2)", [("add", "?", "3")]),
        ("got = add('a')\n    assert got == [1, 'b']", [("add", "'a'", "[1, 'b']")]),
        ("got = add(1)\n    got = add(2)\n    assert got == 3", []),
        ("return\n    assert add(1) == 2", []),
        ("if x:\n        assert add(1) == 2", []),
        ("assert add(1) != 2", []),
        ("assert add(1) == other", []),
    ],
)
def test_calls_that_are_compared_with_a_value(body: str, found: list[tuple[str, str, str]]) -> None:
    listed = examples(f"class TestX:\n  def test_it(self):\n    {body}\n")
    assert [(one.callee, one.argument, one.expected) for one in listed] == found
    assert {one.test for one in listed} <= {"TestX::test_it"}


def test_no_program_has_no_examples() -> None:
    assert examples("def test_it(:\n") == []
