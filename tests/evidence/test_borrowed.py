"""Values that tests take from the code under test."""

import ast

import pytest

from treadle.evidence.examples import borrowed_names, constants

HEAD = "from shop.calc import SAMPLE, TOTAL as T, total\nimport shop.calc as calc\nfrom shop import more\n\n\n"


@pytest.mark.parametrize(
    ("body", "expected", "handed_on"),
    [
        ("assert total(SAMPLE) == T", ["TOTAL"], ["SAMPLE"]),
        ("assert T == total([1])", ["TOTAL"], []),
        ("assert total([1]) == calc.TOTAL", ["TOTAL"], []),
        ("assert total([1]) == more.TOTAL", ["TOTAL"], []),
        ("assert total([1]) == pytest.approx(T)", ["TOTAL"], []),
        ("self.assertEqual(total([1]), T)", ["TOTAL"], []),
        ("assert total([1]) == 1", [], []),
        ("assert total([1]) != T", [], []),
        ("assert total([1]) == own", [], []),
        ("assert T == 7\n    assert total([1]) == T", [], []),
    ],
)
def test_names_in_assertions_that_come_from_elsewhere(body: str, expected: list[str], handed_on: list[str]) -> None:
    found = [one for one in borrowed_names(f"{HEAD}def test_it(self):\n    {body}\n") if one.attribute != "total"]
    assert [one.attribute for one in found if one.is_expected] == expected
    assert [one.attribute for one in found if one.attribute not in ("TOTAL", "calc", "more")] == handed_on
    assert {one.origin for one in found if one.is_expected} <= {"shop/calc", "shop/more"}


def test_only_plain_values_are_constants() -> None:
    module = ast.parse("A = 1\nB: list[int] = [1]\nC = f()\nD: int\nE = A\n\ndef f():\n    G = 1\n")
    assert constants(module) == {"A": (1, "1"), "B": (2, "[1]")}
    assert borrowed_names("def (") == []
