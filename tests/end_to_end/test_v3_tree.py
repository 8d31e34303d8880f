"""V3 on trees: children that ask, lack something, are judged, get stuck or are given up, while the others go on."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.end_to_end.ending import RUN
from tests.end_to_end.honest import COST, DEEP, PRICE, TAX, TAXED_PRICE, TREE, tree
from tests.end_to_end.world import Answer, Move, World

USUAL = ["scaffold InitWork", "tests TestsReady", "impl TestsPassed", "review Approved", "merge MergeComplete"]
VERIFIED = {"AC-4": "verified by root", "AC-1": "verified by root/prices", "AC-3": "verified by root/orders"}
CHEAP = "return cents * pieces"
UGLY = "return cents * pieces - (cents * pieces // 10 if pieces >= 10 else 0)"


def without_rebases(steps: list[str]) -> list[str]:
    """When a sibling's merge is followed depends on who is faster."""
    return [step for step in steps if not step.startswith("rebase ")]


def faulty_orders(world: World) -> None:
    """The first orders know of no discount, and nothing of their own notices."""
    weak = COST.testing("cost(100, 9) == 900", "cost(100, 0) == 0")
    world.agent("tests", COST.at, write=weak, exit={"type": "TestsReady"})
    world.agent("impl", COST.at, write={COST.module: COST.code(CHEAP)}, exit={"type": "TestsPassed"})


def rejection(additional: bool, **more: Any) -> dict[str, Any]:
    planned = {"criterionId": "AC-3", "plannedTestName": "test_cost", "approach": "nine pieces and ten"}
    return {
        "type": "ChildRejected",
        "child": "orders",
        "reason": "Ten pieces cost as much as ten times one.",
        "critiques": [
            {
                "file": COST.module,
                "line": 3,
                "issue": "There is no discount.",
                "requiredFix": "A tenth less from ten on.",
            }
        ],
        "additionalTests": [planned] if additional else [],
        **more,
    }


@pytest.mark.soak
def test_a_tree_of_three_levels_is_built_from_below(place: Path) -> None:
    end = World(place, **tree(DEEP), conversations=True).run()

    assert end.outcomes == dict.fromkeys(("root", "root/orders", "root/prices", "root/prices/taxes"), "Merged")
    assert without_rebases(end.steps(TAX.at)) == USUAL or end.steps(TAX.at)[-1] == "rebase stopped (ended)"
    judged = [step for step in without_rebases(end.steps(TAXED_PRICE.at)) if step not in USUAL]
    assert judged == ["judge ChildAccepted"]
    assert end.steps("root").count("judge ChildAccepted") == 2
    held = [end.when(f"{it}:impl#1.1") for it in (TAX.at, TAXED_PRICE.at, "root")]
    assert held == sorted(held), "nobody builds on what is not there yet"
    assert end.when(f"{TAXED_PRICE.at}:judge#1.1 ChildAccepted") < end.when(f"{TAXED_PRICE.at}:impl#1.1")
    assert end.when("root:judge#2.1 ChildAccepted") < end.when("root:impl#1.1")
    assert end.when("root:tests#1.1") < end.when(f"{TAX.at}:merge#1.1"), "tests are written while children work"

    child = end.prompt(f"{TAX.at}:scaffold#1.1")
    assert "(depth 2)" in child
    assert f" interface is {TAXED_PRICE.target}/__init__.py" in child
    assert "The tax is a fifth." in child
    assert "A bill names" not in child, "it is told of its own criteria only"
    built = end.prompt("root:impl#1.1")
    assert "## Subsystems " in built
    assert "shop.prices.price" in built
    verdict = end.prompt(f"{TAXED_PRICE.at}:judge#1.1")
    assert f"From {TAX.at}:" in verdict
    assert "+    return cents * 6 // 5" in verdict

    talks = {act: (work.session.removeprefix("conversation of "), work.fork) for act, work in end.works.items()}
    assert talks[f"{TAX.at}:scaffold#1.1"] == (f"{TAXED_PRICE.at}:scaffold#1.1", True)
    assert talks[f"{TAXED_PRICE.at}:scaffold#1.1"] == ("root:scaffold#1.1", True)
    assert talks[f"{TAXED_PRICE.at}:judge#1.1"] == (f"{TAXED_PRICE.at}:scaffold#1.1", True)

    assert [it.partition(":")[0] for it in end.subjects()] == ["feat(shop)"]
    merged = end.payload(f"{TAXED_PRICE.at}:merge#1.1")
    assert {TAX.module, TAXED_PRICE.module} <= set(end.files(merged["mergeCommit"]))
    assert end.suite().startswith("11 passed")
    found = {it["id"]: it for it in end.evidence()["criteria"]}
    assert {id_: (it["standing"], it["instance"]) for id_, it in found.items()} == {
        "AC-4": ("verified", "root"),
        "AC-1": ("verified", "root/prices"),
        "AC-2": ("verified", "root/prices/taxes"),
        "AC-3": ("verified", "root/orders"),
    }
    assert found["AC-2"]["merges"] == [f"{it}:merge#1.1" for it in (TAX.at, TAXED_PRICE.at, "root")]
    assert [it["exit"] for it in found["AC-2"]["verdicts"]] == [
        "Approved",
        "ChildAccepted",
        "Approved",
        "Approved",
    ]


@pytest.mark.soak
def test_a_missing_dependency_goes_to_the_planner_with_where_it_is(place: Path) -> None:
    world = World(place, **tree())
    world.agent(
        "impl",
        COST.at,
        exit={"type": "BlockedDependency", "missingSymbol": "price", "expectedImportPath": "src/shop/orders/price.py"},
    )

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert without_rebases(end.steps(COST.at)) == [*USUAL[:2], "impl BlockedDependency", *USUAL]
    found = end.payload(f"{COST.at}:impl#1.1")["foundAt"]
    assert any("shop.prices" in place_ for place_ in found), found
    told = end.prompt(f"{COST.at}:scaffold#2.1")
    assert " a dependency\n`price`, expected at src/shop/orders/price.py." in told
    assert f" exports: {', '.join(found)}." in told
    assert end.standings() == VERIFIED


@pytest.mark.soak
def test_a_question_climbs_to_the_person_and_the_answer_comes_down(place: Path) -> None:
    world = World(place, **tree(DEEP))

    def asks(question: str, about: str = "AC-2") -> dict[str, str]:
        sentence = "The tax is a fifth."
        return {
            "type": "ClarificationNeeded",
            "question": question,
            "ambiguityReference": about,
            "specSentence": sentence,
        }

    world.agent("scaffold", TAX.at, exit=asks("A fifth of what?"))
    world.agent("answer", TAXED_PRICE.at, exit=asks("Is the tax a fifth of the net price?"))
    world.agent("answer", "root", exit=asks("Do the prices of the shop come without tax?"))
    answer = "A fifth of the net price, and whole cents only."

    end = world.run({"root:escalate": ("Clarified", answer)})

    assert end.outcome == "Merged", end.told
    assert end.steps(TAX.at)[:2] == ["scaffold ClarificationNeeded", "scaffold InitWork"]
    asked = [
        end.when(f"{it}#1.1 ClarificationNeeded")
        for it in (f"{TAX.at}:scaffold", f"{TAXED_PRICE.at}:answer", "root:answer")
    ]
    assert asked == sorted(asked)
    assert f"{TAX.at} asks about AC-2:\n> A fifth of what?" in end.prompt(f"{TAXED_PRICE.at}:answer#1.1")
    assert f"{TAXED_PRICE.at} asks about AC-2:\n> Is the tax a fifth of the net price?" in end.prompt("root:answer#1.1")
    assert "> Do the prices of the shop come without tax?" in end.ask("root:escalate")
    told = f"Question:\n> A fifth of what?\nAnswer:\n> {answer}"
    for act in ("scaffold#2.1", "tests#1.1", "impl#1.1", "review#1.1"):
        assert told in end.prompt(f"{TAX.at}:{act}"), act
    for judge, which in ((f"{TAXED_PRICE.at}:judge#1.1", "taxes"), ("root:judge#2.1", "prices")):
        assert f"> {answer}" in end.prompt(judge), f"who judges {which} knows what it was told"
    assert end.when("root/orders:merge#1.1 MergeComplete")
    assert [(it["instance"], it["choice"], it["note"]) for it in end.evidence()["decisions"]] == [
        ("root", "Clarified", answer)
    ]
    assert set(end.standings().values()) == {f"verified by {it}" for it in end.outcomes}


@pytest.mark.soak
@pytest.mark.parametrize("additional", [True, False], ids=["with tests", "without tests"])
def test_a_merged_child_that_is_rejected_works_on_until_it_is_accepted(place: Path, additional: bool) -> None:
    world = World(place, **tree())
    if additional:
        faulty_orders(world)
    else:
        world.agent("impl", COST.at, write={COST.module: COST.code(UGLY)}, exit={"type": "TestsPassed"})
    world.as_usual("review", PRICE.at, after=f"{COST.at}:verdict.ChildAccepted")
    world.agent("judge", exit=rejection(additional))

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert end.steps(COST.at) == [*USUAL, *(USUAL[1:] if additional else USUAL[2:])]
    assert [step for step in end.steps("root") if step.startswith("judge")] == [
        "judge ChildRejected",
        "judge ChildAccepted",
        "judge ChildAccepted",
    ]
    told = end.prompt(f"{COST.at}:impl#2.1")
    assert " merged work back\n> Ten pieces cost as much as ten times one." in told
    assert f"- {COST.module}:3\n> There is no discount.\n  Required:\n> A tenth less from ten on." in told
    if additional:
        more = end.prompt(f"{COST.at}:tests#2.1")
        assert "- AC-3: `test_cost`\n> nine pieces and ten" in more
        assert end.payload(f"{COST.at}:tests#2.1")["pendingTests"] == [f"{COST.test_file}::test_cost"]
    first, second = (end.payload(f"{COST.at}:merge#{visit}.1")["mergeCommit"] for visit in (1, 2))
    assert end.git("rev-parse", f"{second}^") == first, "the merged code stays, and the child goes on from it"
    assert end.files(first)[COST.module] == COST.code(CHEAP if additional else UGLY).strip()
    assert end.files()[COST.module] == COST.code().strip()
    assert end.standings() == VERIFIED
    verdicts = next(it for it in end.evidence()["criteria"] if it["id"] == "AC-3")["verdicts"]
    assert [it["exit"] for it in verdicts if it["who"] == "tdd:JudgeChild"] == ["ChildAccepted"], "the one that holds"
    assert "root:judge#1.1" in [it["act"] for it in end.evidence()["setbacks"] if it["kind"] == "sent back"]


@pytest.mark.soak
def test_a_child_that_is_stuck_does_not_hold_its_siblings(place: Path) -> None:
    world = World(place, **tree())
    world.agent(
        "impl",
        COST.at,
        exit={"type": "Stuck", "diagnosis": "Whose tenth is it?", "recommendation": "Say what a tenth is."},
    )
    note = "A tenth of what all pieces cost."

    end = world.run({f"{COST.at}:stuck": Answer("retry", note, after=(PRICE.at,))})

    assert end.outcome == "Merged", end.told
    assert end.when(f"{PRICE.at}:merge#1.1 MergeComplete") < end.when(f"{COST.at}:stuck")
    assert end.when(f"{COST.at}:impl#1.1 Stuck") < end.when(f"{COST.at}:stuck")
    assert end.when(f"{COST.at}:stuck") < end.when("root:impl#1.1")
    question = end.ask(f"{COST.at}:stuck")
    assert "> Whose tenth is it?" in question
    assert "> Say what a tenth is." in question
    assert f"## A person says\n> {note}" in end.prompt(f"{COST.at}:impl#2.1")
    assert "rebase RebaseClean" in end.steps(COST.at), "it follows its sibling although it is stuck"
    assert end.standings() == VERIFIED


@pytest.mark.soak
def test_a_contract_that_fails_when_all_children_are_merged_goes_back_to_the_child_that_broke_it(place: Path) -> None:
    world = World(place, **tree())
    strict = msgspec.structs.replace(COST, contract="cost(100, 10) == 900")
    contract = msgspec.structs.replace(TREE, children=(PRICE, strict)).contract_suite()
    world.agent("scaffold", write={**TREE.scaffolding(), TREE.contract_file: contract}, exit=TREE.init_work())
    faulty_orders(world)
    world.as_usual("review", COST.at, after="root:judge.ChildAccepted")
    world.as_usual("judge")
    world.as_usual("judge")
    world.agent("judge", exit=rejection(True))

    end = world.run()

    assert end.outcome == "Merged", end.told
    assert [step for step in end.steps("root") if step.startswith("judge")] == [
        "judge ChildAccepted",
        "judge !gate",
        "judge ChildRejected",
        "judge ChildAccepted",
    ]
    broken = f"{TREE.contract_file}::test_cost_contract"
    assert "### contract_children" in end.refusals("root:judge#2.1")
    assert broken in end.refusals("root:judge#2.1")
    assert broken in end.prompt("root:judge#2.2"), "the judge reads what fails"
    assert without_rebases(end.steps(PRICE.at)) == USUAL, "the other child is left alone"
    assert without_rebases(end.steps(COST.at)) == [*USUAL, *USUAL[1:]]
    assert "> There is no discount." in end.prompt(f"{COST.at}:impl#2.1")
    assert end.when(f"{COST.at}:merge#2.1 MergeComplete") < end.when("root:impl#1.1"), "the parent waits for it"
    assert end.standings() == VERIFIED


@pytest.mark.soak
def test_an_aborted_subtree_is_planned_again_while_its_sibling_goes_on(place: Path) -> None:
    again = msgspec.structs.replace(
        TAXED_PRICE,
        id="prices-again",
        at="root/prices-again",
        children=(msgspec.structs.replace(TAX, id="taxes-again", at="root/prices-again/taxes-again"),),
    )
    replanned = msgspec.structs.replace(DEEP, children=(again, COST))
    world = World(place, **tree(DEEP))
    world.cast.others += again.parts()
    world.as_usual("scaffold")
    world.agent("scaffold", exit=replanned.init_work())
    abort = Move((f"{TAX.at}:tests#1.1",), lambda client: client.abort(RUN, at=TAXED_PRICE.at))

    end = world.run({"root:lost_child": Answer("replan", "Hand it out again.", after=(COST.at,))}, [abort])

    assert end.outcome == "Merged", end.told
    assert end.outcomes == {
        "root": "Merged",
        "root/orders": "Merged",
        "root/prices": "Aborted",
        "root/prices/taxes": "Aborted",
        "root/prices-again": "Merged",
        "root/prices-again/taxes-again": "Merged",
    }
    assert f"{TAX.at}:tests#1.1 stopped (ended)" in end.course
    assert end.when(f"{TAXED_PRICE.at}:person abort") < end.when(f"{COST.at}:merge#1.1 MergeComplete")
    judged = [end.when(f"{COST.at}:merge#1.1 MergeComplete"), end.when("root:judge#1.1 ChildAccepted")]
    assert max(judged) < end.when("root:lost_child"), "the sibling is judged while the person thinks"
    question = end.ask("root:lost_child")
    assert " root has lost a child:\n- root/prices" in question
    planned = end.prompt("root:scaffold#2.1")
    assert planned.count("Hand it out again.") == 1
    assert end.steps(COST.at).count("merge MergeComplete") == 1, "the sibling was not started anew"
    assert end.standings() == {
        "AC-4": "verified by root",
        "AC-1": "verified by root/prices-again",
        "AC-2": "verified by root/prices-again/taxes-again",
        "AC-3": "verified by root/orders",
    }
