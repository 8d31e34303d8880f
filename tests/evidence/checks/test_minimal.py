"""Advice for whoever reviews."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, Stage, run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADD, ""),
        ("def add(a, b):\n    if a == 2 and b:\n        return 5\n    return a + b\n", ""),
        (
            "def add(a, b):\n    if a == 2:\n        return 5\n    return 0\n",
            "src/calc/add.py:2: special case: if a == 2: return 5",
        ),
        ("def add(a, b):\n    return {2: 5, 3: 2}[a]\n", "special case: {2: 5, 3: 2}"),
        (ADD + "\n\ndef unused():\n    return 1\n", "unused is new and nothing uses it"),
        (
            "import os\n\n\ndef add(a, b):\n    return 5 if os.environ.get('PYTEST_CURRENT_TEST') else 0\n",
            "src/calc/add.py:5: looks as if it knew",
        ),
        ("import pytest\n" + ADD, "looks as if it knew that it is tested: import pytest"),
        (ADD + "x = 1\n" * 500, "501 lines were added"),
    ],
    ids=["plain", "condition", "special", "table", "unused", "environment", "framework", "large"],
)
def test_what_is_pointed_out(tmp_path: Path, text: str, said: str) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": text}, checks="checkpoint minimal?")
        assert verdict.report == ""
        report = stage.evidence(verdict, "minimal")["report"]
        assert said in report
        assert bool(said) == bool(report)

    run(story())
