"""Which functions a limit is about."""

import pytest

from treadle.evidence.scaling_targets import Target, targets

CODE = {
    "src/calc/__init__.py": "from .sort import merge_sort\n",
    "src/calc/sort.py": "def merge_sort(xs): ...\ndef helper(xs): ...\ndef _hidden(): ...\nclass Stack: ...\n",
}


@pytest.mark.parametrize(
    ("tests", "found"),
    [
        ("from calc.sort import merge_sort\ndef test_a(): merge_sort([])", [("calc.sort", "merge_sort")]),
        ("from src.calc import merge_sort as m\ndef test_a(): m([])", [("src.calc", "merge_sort")]),
        ("import calc.sort\ndef test_a(): calc.sort.merge_sort([])", [("calc.sort", "merge_sort")]),
        ("import calc.sort as s\ndef test_a(): s.merge_sort([])", [("calc.sort", "merge_sort")]),
        ("from other.sort import merge_sort\ndef test_a(): merge_sort([])", []),
        ("from calc.sort import Stack\ndef test_a(): Stack()", []),
        ("from calc.sort import _hidden\ndef test_a(): _hidden()", []),
        ("from calc.sort import merge_sort\ndef test_a(): pass", []),
        ("def broken(", []),
    ],
)
def test_what_the_tests_call(tests: str, found: list[tuple[str, str]]) -> None:
    assert [(one.module, one.name) for one in targets(CODE, {"tests/test_a.py": tests})] == found


def test_criteria_and_the_spec_choose() -> None:
    both = "from calc.sort import merge_sort, helper\ndef test_a():\n    helper(1)\n    merge_sort([])\n"
    tests = {"tests/test_a.py": both}
    assert [one.name for one in targets(CODE, tests)] == ["helper", "merge_sort"]
    assert [one.name for one in targets(CODE, tests, about="merge_sort sorts")] == ["merge_sort"]
    assert [one.name for one in targets(CODE, tests, wanted="helper", about="merge_sort sorts")] == ["helper"]
    assert targets(CODE, tests, wanted="gone") == []


def test_tests_may_make_the_inputs() -> None:
    text = "from calc.sort import merge_sort\ndef test_a(): merge_sort([])\ndef sizes_merge_sort(n): return ([n],)\n"
    assert targets(CODE, {"t/test_a.py": text}) == [
        Target(module="calc.sort", name="merge_sort", sizes="sizes_merge_sort", sizes_file="t/test_a.py")
    ]
    work = "from calc.sort import Stack\ndef sizes(n): return lambda: Stack()\n"
    assert targets(CODE, {"t/test_a.py": work}) == [
        Target(module="", name="sizes", sizes="sizes", sizes_file="t/test_a.py")
    ]
