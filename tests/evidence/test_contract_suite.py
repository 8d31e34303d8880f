"""The contract suite is the plan's: those who write tests write them beside it."""

from pathlib import Path

import pytest

from tests.evidence.stage import TEST, Stage, run
from treadle.protocol.items import Json

CONTRACT = "tests/calc/test_contract.py"
CASES: dict[str, tuple[dict[str, str | None], str]] = {
    "beside it": ({"tests/calc/test_more.py": TEST}, ""),
    "changed": ({CONTRACT: f"{TEST}\n"}, f"{CONTRACT}: belongs to the planned contract suite"),
    "removed": ({CONTRACT: None}, f"{CONTRACT}: belongs to the planned contract suite"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_contract_suite_stays_as_it_was_planned(tmp_path: Path, name: str) -> None:
    files, said = CASES[name]
    plan: dict[str, Json] = {"interfaceFile": "src/calc/__init__.py", "contractSuite": CONTRACT, "testPlan": []}

    async def story() -> None:
        stage = await Stage(tmp_path).start()
        await stage.claim("scaffold", "InitWork", {CONTRACT: TEST}, plan, "checkpoint scope")
        verdict = await stage.claim("tests", "TestsReady", files, checks="scope_tests")
        assert bool(said) == bool(verdict.report), verdict.report
        assert said in verdict.report

    run(story())
