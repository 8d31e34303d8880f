"""Ω₃: every way in which a person may end or go on with what QA and DE do not bring to an end by themselves."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.dptr import ONE, PARSE, product
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

AT = ONE.place(PARSE)
ISSUE = {"test": "test_cents", "issue": "Nobody needs this.", "suggestion": "Leave it away."}
TI: dict[str, Any] = {"type": "TI", "message": "I do not see why.", "issues": [ISSUE]}
WEAK = "def test_cents():\n    assert True\n"
WISH = {"where": PARSE.module, "issue": "Debts cannot be told.", "requiredFix": "Tell them."}
NEEDS_CHANGE = {"type": "NEEDS_CHANGE", "critiques": [WISH], "interfaceProposal": "def cents(text: str, sign: bool)"}


def test_a_person_has_it_implemented_refactored_again_and_gives_the_cycle_up(place: Path) -> None:
    world = World(place, **product(ONE))
    for _ in range(4):
        world.agent("green", AT, exit=TI)
    for _ in range(3):
        world.agent("refactor_tests", AT, write={PARSE.test_file: WEAK}, exit={"type": "RTC"})
    world.agent("review_tests", AT, exit=NEEDS_CHANGE)
    world.agent("review_impl", AT, exit=NEEDS_CHANGE)
    end = world.run(
        {
            f"{AT}:disputed": ("implement", "The tests stand."),
            f"{AT}:quality_tests": ("retry", "Leave the asserts alone."),
            f"{AT}:quality": "abort",
            f"{ONE.at}/Batch1:failed": "abort",
            f"{ONE.at}:failed": "abort",
            "root:failed": "abort",
        }
    )

    assert end.outcome == "Aborted", end.told
    assert end.steps(AT) == [
        "red RC",
        *["green TI", "adjust TA"] * 3,
        "green TI",
        "disputed implement",
        "green GC",
        *["refactor_tests !gate", "rollback_tests RolledBack"] * 3,
        "quality_tests retry",
        "refactor_tests RTC",
        "refactor_impl RIC",
        "review_tests NEEDS_CHANGE",
        "review_impl NEEDS_CHANGE",
        "quality abort",
    ]
    assert "## A person says\n> The tests stand." in end.prompt(f"{AT}:green#5.1")
    assert "## A person says\n> Leave the asserts alone." in end.prompt(f"{AT}:refactor_tests#4.1")
    assert end.outcomes[ONE.at] == end.outcomes[f"{ONE.at}/Batch1"] == end.outcomes[AT] == "Aborted"
    assert "TDD1 was given up" in end.ask(f"{ONE.at}/Batch1:failed")
    assert "money was given up" in end.ask("root:failed")
    assert PARSE.module not in end.git("ls-tree", "-r", "--name-only", "main")


def test_an_open_body_that_only_the_modules_suite_sees_is_a_quality_failure(place: Path) -> None:
    """A body that is left open, where no test leads: no cycle is asked about it."""
    world = World(place, **product(ONE))
    hollow = f"{PARSE.code()}\n\ndef _later() -> None:\n    raise NotImplementedError\n"
    world.agent("green", AT, write={PARSE.module: hollow}, exit={"type": "GC"})
    end = world.run({f"{ONE.at}:broken": ["retry", "abort"], "root:failed": "abort"})

    assert end.outcomes[f"{ONE.at}/Batch1"] == "Done", end.told
    assert end.steps(ONE.at)[-4:] == ["suite Failed", "broken retry", "suite Failed", "broken abort"]
    asked = end.ask(f"{ONE.at}:broken")
    assert "no_undefined" in asked
    assert "_later" in asked
