"""Advice for whoever reviews."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, Stage, run


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADD, ""),
        (ADD + "\n\ndef unused():\n    return 1\n", "unused is new and nothing uses it"),
        (ADD + "x = 1\n" * 500, "501 lines were added"),
    ],
    ids=["plain", "unused", "large"],
)
def test_unused_code_and_large_changes_are_advice(tmp_path: Path, text: str, said: str) -> None:
    async def story() -> None:
        stage = await (await Stage(tmp_path).start()).tested()
        verdict = await stage.claim("impl", "TestsPassed", {"src/calc/add.py": text}, checks="checkpoint minimal?")
        assert verdict.report == ""
        report = stage.evidence(verdict, "minimal")["report"]
        assert said in report
        assert bool(said) == bool(report)

    run(story())
