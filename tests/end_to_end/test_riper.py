"""RIPER from a brief to validated code: six modes, one at a time, and a person where the protocol has one."""

from itertools import combinations
from pathlib import Path

import pytest

from tests.end_to_end.ending import End
from tests.end_to_end.riper import CYCLE, PLAN, REPORT, SHOP, world_of
from tests.end_to_end.world import World

MODES = ["O1P Designed", "O2A ACCEPT", "O3P PC", "O4C PA", "O6V Validated.Passed", "deliver MergeComplete"]
STAGES = (
    "test impl qa_validation de_validation qa_cross_review de_cross_review interface_check integration_test".split()
)


def test_a_brief_is_designed_attacked_planned_executed_and_validated(place: Path) -> None:
    end = World(place, **world_of()).run()

    assert end.outcome == "Done", end.told
    assert end.steps() == ["person go", *MODES], "modes follow each other; a person starts the first"
    assert end.steps("root/labels") == ["audit ACCEPT"]
    assert end.steps("root/TDD1") == CYCLE

    design, attack, audit = (end.prompt(act) for act in ("root:O1P#1.1", "root:O2A#1.1", "root/labels:audit#1.1"))
    assert all("Things are named by their number" in told for told in (design, attack, audit))
    assert "> # Architecture\n> One module for each task, and no state." in attack
    assert "(Ω₂ᴬ, Λ₁): " in attack
    assert "(Ω₂ᴬ, Λ₂): " in audit
    plan, critic = end.prompt("root:O3P#1.1"), end.prompt("root:O4C#1.1")
    assert "Parameters: [S:PLAN_story_root,R:0]" in plan
    assert all("> ## labels\n> `def label(count: int, noun: str) -> str`" in told for told in (plan, critic))
    assert "planner says:\n> From the inside out." in critic
    red, green = end.prompt("root/TDD1:red#1.1"), end.prompt("root/TDD1:green#1.1")
    assert "R:0,C:TDD1,P:ℜ]" in red
    assert "R:0,C:TDD1,P:ℜᴳ]" in green
    assert "## Cycle TDD1 of module labels" in red
    assert "QA says:\n> label is tested." in green
    assert "Tests to pass: tests/test_labels.py::test_label" in green
    refactored = end.prompt("root/TDD1:test#1.1"), end.prompt("root/TDD1:impl#1.1")
    assert ["R:1,C:TDD1,P:ℜᶠᵗ]" in refactored[0], "R:1,C:TDD1,P:ℜᶠⁱ]" in refactored[1]] == [True, True], "r++ in ℜᶠ"
    assert " refactored tests:\n> The tests are short enough." in refactored[1]
    assert "DE says:\n> It reads better." in end.prompt("root/TDD1:qa_cross_review#1.1")
    assert " your implementation:\n> The code does what" in end.prompt("root/TDD1:de_cross_review#1.1")
    validation = end.prompt("root:O6V#1.1")
    assert "All 1 cycles " in validation
    assert "> every function has a test" in validation

    assert end.subjects() == ["feat(shop): A shop"]
    assert {PLAN, REPORT, "src/shop/labels.py", "tests/test_labels.py"} < end.files().keys()
    assert end.suite().startswith("1 passed")
    assert end.standings() == {"AC-1": "verified by root/TDD1"}
    counted = {it["id"]: (it["criteria"], it["verified"]) for it in end.evidence()["instances"]}
    assert counted == {"root": ([], 0), "root/labels": ([], 0), "root/TDD1": (["AC-1"], 1)}, "an audit proves nothing"


@pytest.mark.soak
def test_cycles_follow_each_other_and_qa_and_de_are_never_at_work_at_once(place: Path) -> None:
    end = World(place, **world_of(SHOP)).run()

    assert end.outcome == "Done", end.told
    assert end.outcomes == {
        "root": "Done",
        "root/TDD1": "Done",
        "root/TDD2": "Done",
        "root/labels": "Accepted",
        "root/prices": "Accepted",
    }
    assert [end.steps(f"root/{cycle}") for cycle in ("TDD1", "TDD2")] == [CYCLE, CYCLE]
    assert end.when("root/TDD1:fold") < end.when("root/TDD2:red"), "ready for the next cycle"
    seats = [(act, deed) for act, deed in end.deeds.items() if act.startswith("root/TDD") and act in end.works]
    assert len(seats) == 12
    for (one, first), (other, second) in combinations(seats, 2):
        assert first.ended <= second.began or second.ended <= first.began, f"{one} and {other} at once"
    assert all(stage in _stages(end) for stage in STAGES)
    assert "each module by itself, 1 of them " in end.prompt("root:O3P#1.1")
    assert end.standings() == {"AC-1": "verified by root/TDD1", "AC-2": "verified by root/TDD2"}
    assert end.suite().startswith("2 passed")
    assert "from shop.labels import label" in end.files()["src/shop/prices.py"], "it found what the first cycle built"


def _stages(end: End) -> set[str]:
    """The stages of σ₄.refactor_stage that the log shows: steps, and the checks of the two refactorings."""
    steps = {step.split()[0] for step in end.steps("root/TDD2")}
    qa, de = end.checks("root/TDD2:test#1.1"), end.checks("root/TDD2:impl#1.1")
    validated = {"qa_validation": {"green", "still_red_on_skeleton"}, "de_validation": {"green", "interface_exact"}}
    ran = {"qa_validation": qa, "de_validation": de}
    return steps | {name for name, wanted in validated.items() if all(ran[name].get(check) for check in wanted)}
