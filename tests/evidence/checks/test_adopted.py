"""Tests that failed before the run, and that a step changes at another step's expense."""

import json
from pathlib import Path

import pytest

from tests.evidence.stage import ADD, FILES, TEST, Stage, run

FILE = "tests/calc/test_sick.py"
SICK = f"{FILE}::test_sick"
BAD = "from src.calc.zero import zero\n\n\ndef test_sick() -> None:\n    value = zero()\n    assert value == 1\n"
CHANGED = BAD.replace("= zero()", "= zero() + 0")
REPAIRED = BAD.replace("== 1", "== 0")
OLD = {**FILES, "src/calc/zero.py": "def zero() -> int:\n    return 0\n", FILE: BAD}
LISTED = {"test_adds": "AC-1"}


@pytest.mark.parametrize(
    ("step", "check", "text", "entries", "codes"),
    [
        ("tests", "red", CHANGED, LISTED, {"tests.adopted"}),
        ("tests", "added", CHANGED, LISTED, {"tests.adopted"}),
        ("tests", "red", CHANGED, {**LISTED, "test_sick": "AC-1"}, set()),
        ("tests", "red", f"# as ever\n{BAD}", LISTED, set()),
        ("tests", "red", REPAIRED, LISTED, set()),
        ("scaffold", "unbroken", CHANGED, LISTED, {"tests.adopted"}),
        ("scaffold", "unbroken", REPAIRED, LISTED, set()),
    ],
    ids=["red", "added", "for a criterion", "a comment", "repaired", "the planner", "repaired by the planner"],
)
def test_a_test_that_failed_before_is_left_alone_or_made_ones_own(
    tmp_path: Path, step: str, check: str, text: str, entries: dict[str, str], codes: set[str]
) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=OLD).start()
        manifest = json.dumps({"spec_id": "calc", "acceptance_criteria_map": entries})
        written = {FILE: text, "tests/calc/test_add.py": TEST, "tests/calc/test_manifest.json": manifest}
        verdict = await stage.claim(step, "TestsReady", written, checks=f"checkpoint {check}")
        said = [one for one in stage.evidence(verdict, check)["findings"] if not one.get("note")]
        assert {one["code"] for one in said} == codes, said
        assert {one["test"] for one in said} == ({SICK} if codes else set())

    run(story())


def test_a_step_that_may_not_change_tests_learns_how_to_hand_one_back(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path, files=OLD).start()
        await stage.claim("tests", "TestsReady", {FILE: CHANGED, "tests/calc/test_add.py": TEST}, checks="checkpoint")
        verdict = await stage.claim(
            "impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint green tests_unmodified"
        )
        [one] = [one for one in stage.evidence(verdict, "green")["findings"] if not one.get("note")]
        assert (one["test"], one["code"]) == (SICK, "green.failing")
        assert "BlockedDependency" in one["expected"]

    run(story())
