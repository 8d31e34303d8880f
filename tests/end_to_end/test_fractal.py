"""Stories of the fractal: leaves and trees, from a spec to merged code."""

from contextlib import chdir
from pathlib import Path
from typing import Final

import pytest

from tests.cli.treadle import treadle
from tests.end_to_end.fractal import LABEL, LABELS, OFFER, Leaf, Tree, world_of
from tests.end_to_end.node import MANIFEST
from tests.end_to_end.world import World


def test_a_leaf_is_planned_challenged_built_checked_reviewed_and_merged(place: Path) -> None:
    end = World(place, **world_of(LABEL)).run()

    assert end.steps() == [
        "planner InitLeaf",
        "test_author EmitChallenge",
        "implementer TestPassed",
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer Approve",
        "merger MergeComplete",
    ]
    assert end.standings() == {"AC-1": "verified by root"}


@pytest.mark.soak
def test_a_leaf_is_built_one_test_at_a_time(place: Path) -> None:
    end = World(place, **world_of(LABELS)).run()

    assert end.steps() == [
        "planner InitLeaf",
        *["test_author EmitChallenge", "implementer TestPassed"] * 3,
        "test_author ConcludeSuite",
        "lock Passed",
        "reviewer Approve",
        "merger MergeComplete",
    ]
    tests = ["many", "one", "none"]
    for number, name in enumerate(tests, 1):
        challenge = end.payload(f"root:test_author#{number}.1")
        assert challenge["newTests"] == [f"tests/shop/labels/test_{name}.py::test_{name}"]
        assert challenge["criteria"] == [f"AC-{number}"]
        assert f"test_{name}.py" in end.prompt(f"root:implementer#{number}.1").partition("## The challenge")[2]
    told = end.prompt("root:test_author#2.1")
    assert " challenge is met" in told
    assert "tests/shop/labels/test_many.py::test_many" in told
    assert [it["criterionId"] for it in end.payload("root:test_author#4.1")["criteriaMap"]] == ["AC-1", "AC-2", "AC-3"]
    assert f"tests/shop/labels/{MANIFEST}" not in end.files(), "it is a paper of the run"
    with chdir(end.root):
        manifest = treadle("evidence", "--manifest").json()
    assert (manifest["spec_id"], len(manifest["acceptance_criteria_map"])) == ("labels", 3)
    assert end.standings() == {f"AC-{number}": "verified by root" for number in (1, 2, 3)}
    assert [it.partition(":")[0] for it in end.subjects()] == ["feat(labels)"]
    assert end.suite().startswith("4 passed")


DEEP: Final = Tree(
    id="shop",
    package="shop",
    function="offer(count: int, cents: int) -> str",
    uses="from shop.amounts import amount",
    body='return f"{count} for {amount(cents)}"',
    contract="offer(3, 360) == '3 for 3.60 EUR'",
    children=(
        Tree(
            id="amounts",
            at="root/amounts",
            package="shop.amounts",
            function="amount(cents: int) -> str",
            uses="from shop.amounts.money import money",
            body='return f"{money(cents)} EUR"',
            contract="amount(305) == '3.05 EUR'",
            children=(
                Leaf(
                    id="money",
                    at="root/amounts/money",
                    package="shop.amounts.money",
                    function="money(cents: int) -> str",
                    contract="money(305) == '3.05'",
                    examples=OFFER.children[1].examples if isinstance(OFFER.children[1], Leaf) else (),
                ),
            ),
        ),
    ),
)
"""Three levels."""


@pytest.mark.soak
def test_a_tree_unfolds_into_leaves_and_is_glued_where_it_folds(place: Path) -> None:
    end = World(place, **world_of(OFFER)).run()

    assert end.outcomes == {"root": "Merged", "root/labels": "Merged", "root/money": "Merged"}
    assert end.steps() == [
        "planner SpawnTree",
        "glue GlueComplete",
        "lock Passed",
        "reviewer Approve",
        "merger MergeComplete",
    ]
    last = max(end.when(f"root/{child}:merger#1.1 MergeComplete") for child in ("labels", "money"))
    assert last < end.when("root:glue#1.1 GlueComplete")
    assert end.standings() == {"AC-1": "verified by root/labels", "AC-4": "verified by root/money"}
    assert "labels in src/shop/labels" in end.prompt("root:glue#1.1")
    assert "Senior Engineer on node root/money" in end.prompt("root/money:planner#1.1")
    assert "Staff Engineer on node root " in end.prompt("root:planner#1.1")
    assert end.suite().startswith("5 passed")


@pytest.mark.soak
def test_a_tree_of_three_levels(place: Path) -> None:
    end = World(place, **world_of(DEEP)).run()

    assert end.outcomes == {"root": "Merged", "root/amounts": "Merged", "root/amounts/money": "Merged"}
    order = ["root/amounts/money:merger", "root/amounts:glue", "root/amounts:merger", "root:glue", "root:merger"]
    places = [end.when(f"{one}#1.1") for one in order]
    assert places == sorted(places)
    assert end.standings() == {"AC-4": "verified by root/amounts/money"}
