"""A package or file of tests that cannot be compiled or imported is named once, before everything else."""

from pathlib import Path

import pytest

from tests.evidence.checks.test_seen_red import GO, PYTHON, staged
from tests.evidence.stage import run

LOST = {
    "go": (
        GO,
        {"tests/calc/add_test.go": GO.new["tests/calc/add_test.go"].replace("calc.Add(", "calc.Sum(")},
        "example.com/calc/tests/calc",
        "undefined: calc.Sum",
    ),
    "python": (
        PYTHON,
        {"tests/calc/test_old.py": "import nothing_there\n"},
        "tests/calc/test_old.py",
        "nothing_there",
    ),
}


@pytest.mark.parametrize("name", [pytest.param("go", marks=pytest.mark.soak), "python"])
def test_what_cannot_be_read_leads_and_stands_for_its_tests(tmp_path: Path, name: str) -> None:
    language, files, place, said = LOST[name]

    async def story() -> None:
        stage = await staged(tmp_path, language)
        verdict = await stage.claim("tests", "TestsReady", files, checks="checkpoint red")
        found = [one for one in stage.evidence(verdict, "red")["findings"] if not one.get("note")]
        assert found[0].get("test") == place
        assert said in found[0]["what"]
        assert "green.lost" not in [one["code"] for one in found]

    run(story())
