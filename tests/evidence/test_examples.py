"""Examples in tests."""

import pytest

from treadle.evidence.examples import examples, mentioned


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


@pytest.mark.parametrize(
    ("head", "test", "is_imported"),
    [
        ("from calc import add", "def test_it():\n    assert add(1) == 2", True),
        ("from calc import plus as add", "def test_it():\n    assert add(1) == 2", False),
        ("from calc import add", "def test_it(add):\n    assert add(1) == 2", False),
        ("from calc import add\nadd = add", "def test_it():\n    assert add(1) == 2", False),
        ("from calc import add", "def test_it():\n    assert other.add(1) == 2", False),
        ("import calc", "def test_it():\n    assert add(1) == 2", False),
    ],
)
def test_a_name_counts_as_imported_only_if_the_test_calls_the_import(head: str, test: str, is_imported: bool) -> None:
    (one,) = examples(f"{head}\n\n{test}\n")
    assert one.is_imported is is_imported


def test_the_names_that_tests_use() -> None:
    names = mentioned("def test_a():\n    assert box.add(1)\n\ndef helper():\n    total()\n")
    assert names == {"": {"box", "add", "total"}, "test_a": {"box", "add"}, "helper": {"total"}}
    assert mentioned("def (") == {}
