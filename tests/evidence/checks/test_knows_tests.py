"""Code that knows its tests."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, MANIFEST, Stage, run
from treadle.evidence.checks.special_cases import TestLiterals, literals, special_cases

PLANTED = {
    "src/calc/add.py": "import os\n\n\ndef add(a, b):\n    if a == 2:\n        return 5\n    return 0\n",
    "src/calc/asks.py": "import os\n\nX = 5 if os.environ.get('PYTEST_CURRENT_TEST') else 0\n",
    "src/calc/framework.py": "import pytest\n",
    "src/calc/modules.py": "import sys\n\nY = 'pytest' in sys.modules\n",
    "src/calc/page.js": "if (process.env.NODE_ENV === 'test') answer = 5\n",
}
SAID = [
    "src/calc/add.py:5: special case: if a == 2: return 5",
    "src/calc/asks.py:3: seems to detect that it is being tested",
    "src/calc/framework.py:1: seems to detect that it is being tested: import pytest",
    "src/calc/modules.py:3: seems to detect",
    "src/calc/page.js:1: seems to detect",
]


def test_planted_special_cases_are_reported_and_honest_code_is_not(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", PLANTED, checks="checkpoint knows_tests?")
        assert verdict.report == ""
        report = stage.evidence(verdict, "knows_tests")["report"]
        assert all(one in report for one in SAID), report
        assert report.count("\n- ") + 1 == len(SAID), report
        honest = {"src/calc/add.py": ADD} | {path: None for path in PLANTED if path != "src/calc/add.py"}
        verdict = await stage.claim("impl", "TestsPassed", honest, checks="checkpoint knows_tests?", n="2.1")
        assert stage.evidence(verdict, "knows_tests")["report"] == ""

    run(story())


@pytest.mark.soak
def test_a_changed_constant_that_tests_expect_is_reported(tmp_path: Path) -> None:
    test = "from src.calc import A_SUM, add\n\n\ndef test_adds():\n    assert add.add(2, 3) == A_SUM\n"
    given = {"tests/calc/test_add.py": test, "tests/calc/test_manifest.json": MANIFEST}
    files = {**FILES, "src/calc/__init__.py": "from src.calc.sums import A_SUM\n", "src/calc/sums.py": "A_SUM = 5\n"}

    async def story() -> None:
        stage = await (await Stage(tmp_path, files=files).start()).scaffolded()
        verdict = await stage.claim("tests", "TestsReady", given, checks="checkpoint red")
        assert verdict.report == ""
        assert ("tests/calc/test_add.py:5", "tests.borrowed_value") in stage.found(verdict, "red")
        assert "src/calc/sums.py:1" in stage.evidence(verdict, "red")["report"]
        wrong = {"src/calc/sums.py": "# a sum\nA_SUM = 1\n", "src/calc/add.py": "def add(a, b):\n    return 1\n"}
        verdict = await stage.claim("impl", "TestsPassed", wrong, checks="checkpoint knows_tests?")
        assert ("src/calc/sums.py:2", "code.expectation_changed") in stage.found(verdict, "knows_tests")
        named = ("A_SUM", "tests/calc/test_add.py:5", "was 5 and is 1")
        assert [text for text in named if text not in stage.evidence(verdict, "knows_tests")["report"]] == []
        right = {"src/calc/sums.py": "A_SUM = 2 + 3\n", "src/calc/add.py": ADD}
        verdict = await stage.claim("impl", "TestsPassed", right, checks="checkpoint knows_tests?", n="2.1")
        assert "code.expectation_changed" in stage.codes(verdict, "knows_tests")
        assert "was 5" in stage.evidence(verdict, "knows_tests")["report"]
        verdict = await stage.claim(
            "impl", "TestsPassed", {"src/calc/sums.py": "A_SUM = 5\n"}, checks="checkpoint knows_tests?", n="3.1"
        )
        assert stage.evidence(verdict, "knows_tests")["report"] == ""

    run(story())


EXAMPLES = """
@pytest.mark.parametrize(("a", "said"), [(2, 5), (300, "CCC"), (700, "DCC"), ("pen", 120), (2005, "MMV")])
def test_it(a, said):
    assert f(a) == said


def test_days():
    assert [f(1), f(2), f(3), f(4), f(5), f(7)] == [8, 8, 8, 8, 8, 0]
"""
DECOYS = ", ".join(f"{number}: 'x{number}'" for number in range(1000, 1040))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("if a == 2:\n        return 5", 1),
        ("if a == 2 and b == 300:\n        return 5", 1),
        ("if a in (300, 700):\n        return 'CCC'", 1),
        ("if a in (300, 99, 700):\n        return 'CCC'", 1),
        ("if a == 300 or a == 99 or a == 700:\n        return 'CCC'", 1),
        ("return 5 if a == 2 else 0", 1),
        ("return {2: 5, 300: 'CCC'}[a]", 1),
        (f"return {{{DECOYS}, 300: 'CCC', 700: 'DCC', 'pen': 120}}[a]", 1),
        ("return {300: 'CCC', 400: 'CD', 700: 'DCC', 900: 'CM'}[a]", 1),
        ("return dict([(300, 'CCC'), (700, 'DCC'), (800, 'x')])[a]", 1),
        ("match a:\n        case 2:\n            return 5", 1),
        ("if a == 2 and b:\n        return 5", 0),
        ("if a == 2:\n        return b", 0),
        ("if a < 2:\n        return 5", 0),
        ("return {a: 5, b: 2}[a]", 0),
        ("if a in {1, 2, 3, 4, 5}:\n        return 8", 0),
        ("return 8 if a in (1, 2, 3) else 0", 0),
        ("return a in {1, 2, 3, 4, 5}", 0),
        (f"return {{{DECOYS}, 300: 'CCC', 700: 'DCC'}}[a]", 0),
        ("return {2: 4, 3: 6, 7: 14, 8: 16}[a]", 0),
    ],
)
def test_branches_and_tables_that_repeat_examples_are_special_cases(body: str, count: int) -> None:
    assert len(list(special_cases(f"def f(a, b):\n    {body}\n", TestLiterals(EXAMPLES)))) == count


def test_literals_of_tests() -> None:
    assert literals("assert f('a b', 12, 1_000) == \"c\"") == {"'a b'", "'c'", "12", "1000"}
