"""DPTR from a brief to a delivered product: design, plan, batches of cycles, review."""

from pathlib import Path

import pytest

from tests.end_to_end.dptr import MONEY, ONE, PARSE, SHARE, SHOW, SPLIT, product
from tests.end_to_end.world import World

CYCLE = [
    "red RC",
    "green GC",
    "refactor_tests RTC",
    "refactor_impl RIC",
    "review_tests APPROVED",
    "review_impl APPROVED",
    "fold MergeComplete",
]
MODULE = ["take_design Folded", "take_plan Folded", "phase0 P0C", "suite Passed", "fold MergeComplete"]
PRODUCT = [
    "person go",
    "architecture Architecture",
    "person go",
    "audit ACCEPT",
    "suite Passed",
    "person go",
    "review Reviewed",
    "deliver MergeComplete",
]


def test_a_brief_is_designed_planned_built_in_cycles_reviewed_and_delivered(place: Path) -> None:
    end = World(place, **product(ONE)).run()

    assert end.outcome == "Done", end.told
    assert end.steps("root") == PRODUCT
    assert end.steps(ONE.at) == MODULE
    assert end.steps(f"{ONE.at}/design") == ["person go", "design Designed", "person go", "critic ACCEPT"]
    assert end.steps(f"{ONE.at}/plan") == ["spec PC", "critic PA"]
    assert end.steps(ONE.place(PARSE)) == CYCLE
    assert end.steps(f"{ONE.at}/Batch1") == ["suite Passed", "fold MergeComplete"]

    assert end.subjects() == ["feat(purse): Purse"]
    files = end.files()
    assert files[PARSE.module].strip() == PARSE.code().strip()
    assert files[ONE.design_file].strip() == ONE.design().strip()
    assert files[ONE.plan_file].strip() == ONE.plan().strip()
    assert files["memory-bank/systemPatterns.md"].startswith("# Patterns")
    assert files["memory-bank/review.md"].startswith("# Review")
    assert end.suite().startswith("1 passed")


@pytest.mark.soak
def test_cycles_of_a_batch_wait_for_each_other_and_the_next_batch_builds_on_them(place: Path) -> None:
    end = World(place, **product(MONEY)).run()

    assert end.outcome == "Done", end.told
    for cycle in MONEY.cycles:
        assert end.steps(MONEY.place(cycle)) == CYCLE
    side_by_side = [MONEY.place(it) for it in (PARSE, SHOW, SHARE)]
    for before, after in (("red", "green"), ("green", "refactor_tests"), ("refactor_impl", "review_tests")):
        last = max(end.when(f"{at}:{before}#1.1") for at in side_by_side)
        assert last < min(end.when(f"{at}:{after}#1.1") for at in side_by_side), "WAIT_ALL"
    assert end.when(f"{MONEY.at}/Batch1:fold#1.1 MergeComplete") < end.when(f"{MONEY.place(SPLIT)}:red#1.1")
    assert end.suite().startswith("4 passed")
