"""V3 where work comes together: merges that are refused for each of their reasons, and siblings that follow a merge."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.end_to_end.honest import COST, PRICE, TREE, played, tree
from tests.end_to_end.world import Move, World
from tests.git.place import git, write

CODE, CONTRACT = "src/basket/adding.py", "tests/basket/test_contract.py"
BUILD = """\
import sys
from pathlib import Path

rules = Path("forbidden.txt")
words = rules.read_text().split() if rules.exists() else []
sources = sorted(Path("src").rglob("*.py"))
sys.exit("\\n".join(f"{path} says {word}" for path in sources for word in words if word in path.read_text()) or 0)
"""
HOUSE = """\
from pathlib import Path


def test_nobody_hides_what_things_cost():
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    assert not [path.name for path in sources if "_cost" in path.read_text()]
"""
SHOP = '"""What the shop has."""\n\nCENTS = {"pen": 120}\n'
SHOP_TESTS = "from shop import CENTS\n\n\ndef test_a_pen_has_a_price():\n    assert CENTS['pen'] == 120\n"
HONEST = next(it for it in played("leaf")["honest"] if it.step == "impl").turn.write[CODE]
ONLY_KNOWN = HONEST.replace(
    "    if item.", "    if item.name not in CENTS:\n        raise ValueError(item.name)\n    if item."
)


class Refusal(NamedTuple):
    """What a person commits while the node is at work, and how the merge fails on it."""

    reason: str
    commits: Mapping[str, str]
    first: str
    """The code that does not go with it."""
    second: str
    """And the code that does."""
    details: str
    failing: list[str]


REFUSALS = [
    Refusal(
        "BuildFailure",
        {"forbidden.txt": "sum(\n"},
        HONEST,
        HONEST.replace(
            "return sum(_cost(item) for item in items)",
            "cents = 0\n    for item in items:\n        cents += _cost(item)\n    return cents",
        ),
        f"{CODE} says sum(",
        [],
    ),
    Refusal(
        "ContractViolation",
        {"src/shop/__init__.py": SHOP, "tests/shop/test_shop.py": SHOP_TESTS},
        ONLY_KNOWN.replace("from basket.item import Item\n", "from basket.item import Item\nfrom shop import CENTS\n"),
        HONEST,
        "ValueError: lamp",
        [f"{CONTRACT}::test_the_total_of_a_basket"],
    ),
    Refusal(
        "IntegrationFailure",
        {"tests/shop/test_house.py": HOUSE},
        HONEST,
        HONEST.replace("_cost", "cost_of"),
        "adding.py",
        ["tests/shop/test_house.py::test_nobody_hides_what_things_cost"],
    ),
]


@pytest.mark.soak
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda it: it.reason)
def test_a_merge_that_does_not_hold_goes_back_to_the_implementer_with_the_reason(place: Path, refusal: Refusal) -> None:
    """The branch that the result shall go to has moved meanwhile."""
    leaf = played("leaf")
    leaf["files"] |= {"build.py": BUILD}
    world = World(place, settings=("git.merge=auto", f"toolchain.build={sys.executable} build.py"), **leaf)
    world.agent("impl", write={CODE: refusal.first}, exit={"type": "TestsPassed"})
    world.agent("impl", write={CODE: refusal.second}, exit={"type": "TestsPassed"})

    def commit(_: object) -> None:
        write(world.root, dict(refusal.commits))
        git(world.root, "add", "-A")
        git(world.root, "commit", "-q", "-m", "Meanwhile")

    end = world.run(moves=[Move(("root:tests#1.1",), commit)])

    assert end.outcome == "Merged", end.told
    assert end.steps() == [
        "scaffold InitWork",
        "tests TestsReady",
        "impl TestsPassed",
        "review Approved",
        f"merge MergeRejected.{refusal.reason}",
        "impl TestsPassed",
        "review Approved",
        "merge MergeComplete",
    ]
    refused = end.payload("root:merge#1.1")
    assert (refused["reason"], refused["failingTests"]) == (refusal.reason, refusal.failing)
    told = end.prompt("root:impl#2.1")
    assert f" refused: {refusal.reason}" in told
    assert refusal.details in told
    assert all(test in told for test in refusal.failing)
    assert "attempt 1 of 5" in told, "the way back is counted by itself"
    assert [it["kind"] for it in end.evidence()["setbacks"] if it["act"] == "root:merge#1.1"] == ["sent back"]

    merged = end.payload("root:merge#2.1")["mergeCommit"]
    assert end.git("log", "--format=%s", "main").splitlines() == [
        "feat(basket): What the things in a basket cost",
        "Meanwhile",
        "Start",
    ]
    assert end.git("rev-parse", "main") == merged
    assert end.files("main")[CODE] == refusal.second.strip()
    assert set(refusal.commits) <= set(end.files("main"))
    assert end.suite("main").partition(" in ")[0].endswith(("passed", "skipped"))
    assert end.standings() == dict.fromkeys(("AC-1", "AC-2", "AC-3"), "verified by root")


@pytest.mark.soak
def test_a_sibling_follows_a_merge_that_does_not_concern_it_without_an_agent(place: Path) -> None:
    world = World(place, **tree())
    world.as_usual("review", COST.at, after="root:judge.ChildAccepted")

    end = world.run()

    assert end.outcome == "Merged", end.told
    usual = ["scaffold InitWork", "tests TestsReady", "impl TestsPassed", "review Approved"]
    assert end.steps(PRICE.at) == [*usual, "merge MergeComplete"]
    assert end.steps(COST.at) == [*usual, "rebase RebaseClean", "merge MergeComplete"]
    assert not [act for act in end.works if ":rebase" in act or ":adapt" in act], "nobody was started for it"
    first, second = (end.payload(f"{it.at}:merge#1.1") for it in (PRICE, COST))
    assert end.payload(f"{COST.at}:rebase#1.1")["newBase"] == first["mergeCommit"]
    assert end.checks(f"{COST.at}:rebase#1.1") == {"same_colour": True}
    assert end.git("rev-parse", f"{second['mergeCommit']}^") == first["mergeCommit"]
    assert "rebase" in {it["effect"] for it in end.evidence()["accepted"]}
    assert end.standings() == {
        "AC-1": "verified by root/prices",
        "AC-3": "verified by root/orders",
        "AC-4": "verified by root",
    }
    assert TREE.module in end.files()


@pytest.mark.soak
def test_a_sibling_that_a_merge_breaks_is_adapted_and_goes_on(place: Path) -> None:
    end = World(place, **played("siblings")).run()

    assert end.outcome == "Merged", end.told
    course = end.steps("root/orders")
    assert course[-3:] == ["rebase RebaseDrift", "adapt RebaseAdapted", "merge MergeComplete"]
    assert course.count("review Approved") == 1, "what was approved stays so; its tests were run again"
    drift = end.payload("root/orders:rebase#1.1")
    merged = end.payload("root/prices:merge#1.1")
    assert drift["newBase"] == merged["mergeCommit"]
    assert "tests/basket/orders/test_orders.py::test_three_lamps" in drift["changedTests"]
    told = end.prompt("root/orders:adapt#1.1")
    assert f"prices merged {merged['mergeCommit']}; impact: Breaking." in told
    assert "basket.prices.table.lookup (SignatureChange)" in told
    assert "tests/basket/orders/test_orders.py::test_three_lamps" in told
    assert {"mechanical_only", "canon", "same_colour"} <= set(end.checks("root/orders:adapt#1.1"))
    assert "lookup(name, 0)" in end.files()["src/basket/orders/counting.py"]
    assert end.payload("root/orders:adapt#1.1")["newBase"] == merged["mergeCommit"]
    assert end.standings() == {
        "AC-1": "verified by root/prices",
        "AC-2": "verified by root/orders",
        "AC-3": "verified by root",
    }


@pytest.mark.soak
def test_a_merge_that_cannot_be_followed_mechanically_goes_to_the_planner(place: Path) -> None:
    world = World(place, **played("siblings"))
    world.agent(
        "adapt",
        "root/orders",
        exit={
            "type": "RebaseConflict",
            "conflictFile": "src/basket/orders/counting.py",
            "ourChange": "It asks for the price of one piece.",
            "theirChange": "A price has a tax.",
            "whyUnresolvable": "Whether an order has tax is nobody's to decide here.",
        },
    )
    code = "src/basket/orders/counting.py"
    root = next(it for it in world.cast.others if it.step == "scaffold" and it.instance == "root")
    world.as_usual("scaffold", "root/orders")
    skeleton = {code: root.turn.write[code]}
    world.agent("scaffold", "root/orders", write=skeleton, exit=world.cast.own[-1].turn.exit)
    world.as_usual("impl", "root/orders")
    fixed = next(it for it in world.cast.others if it.step == "adapt").turn.write
    world.agent("impl", "root/orders", write=fixed, exit={"type": "TestsPassed"})

    end = world.run()

    assert end.outcome == "Merged", end.told
    course = end.steps("root/orders")
    assert course[4:] == [
        "rebase RebaseDrift",
        "adapt RebaseConflict",
        "scaffold InitWork",
        "tests TestsReady",
        "impl TestsPassed",
        "review Approved",
        "merge MergeComplete",
    ]
    told = end.prompt("root/orders:scaffold#2.1")
    assert " followed mechanically" in told
    assert "src/basket/orders/counting.py this node does:\n> It asks for the price of one piece." in told
    assert "> A price has a tax." in told
    assert "> Whether an order has tax is nobody's to decide here." in told
    assert " by a skeleton" in told
    assert end.payload("root/orders:tests#2.1")["pendingCriteria"] == ["AC-2"], "it is red once more, on the new head"
    merged = next(line.partition(" ")[0] for line in end.course if line.startswith("root/orders:merge"))
    base = end.payload("root/prices:merge#1.1")["mergeCommit"]
    assert end.git("rev-parse", f"{end.payload(merged)['mergeCommit']}^") == base
    assert end.standings() == {
        "AC-1": "verified by root/prices",
        "AC-2": "verified by root/orders",
        "AC-3": "verified by root",
    }
