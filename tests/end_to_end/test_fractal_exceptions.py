"""Stories of the fractal: who gets to hear what an implementer cannot settle by itself."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from tests.end_to_end.fractal import CONCLUDED, LABEL, MANY, OFFER, PASSED, world_of
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

WHY: Final = {
    "exception": "SKILL_ISSUE",
    "provenance": "Several things are named by their number and their plural.",
    "evidence": "test_many: '3 pen' is not '3 pens'",
}
MODELS: Final = ("models.standard.command=small", "models.strong.command=large", "models.strongest.command=huge")


def retry(number: int = 0) -> dict[str, Any]:
    told = {"diagnosis": "there is no plural", "strategyFrom": f"way {number}", "strategyTo": "another way"}
    return {"type": "RequestRetry", **WHY, **told}


def stuck(variant: str, **more: str) -> dict[str, Any]:
    told = {"diagnosis": "I cannot see how.", "recommendation": "Let somebody else look."}
    return {"type": "Stuck", "variant": variant, **WHY, **told, **more}


def wrong(number: int) -> dict[str, str]:
    """A try that fails, each time another one."""
    return {LABEL.module: LABEL.code(f'return f"{{noun}} {number}"')}


def emit_challenges(world: World, times: int, at: str = "root") -> None:
    """The test author's turns: after every new plan the same challenge, for it is still unanswered."""
    exit_ = {"type": "EmitChallenge", "intent": MANY.text}
    for _ in range(times):
        world.agent("test_author", at, write=LABEL.challenge(0), exit=exit_)
    world.agent("test_author", at, exit=CONCLUDED)


def right(world: World) -> None:
    """The implementer's last turn."""
    world.agent("implementer", write={LABEL.module: LABEL.code(MANY.body)}, exit=PASSED)


def test_five_tries_that_differ_are_a_ceiling_and_a_stronger_model_starts_afresh(place: Path) -> None:
    world = World(place, **world_of(LABEL), conversations=True, settings=MODELS)
    for number in range(5):
        world.agent("implementer", write=wrong(number), exit=retry(number))
    right(world)
    end = world.run()

    assert end.outcome == "Merged"
    assert [step for step in end.steps() if step.startswith("implementer")] == [
        *["implementer RequestRetry"] * 4,
        "implementer Stuck.SkillCeiling",
        "implementer TestPassed",
    ]
    assert [end.works[f"root:implementer#1.{number}"].model for number in (1, 5)] == ["small", "small"]
    assert end.works["root:implementer#2.1"].model == "large"
    assert "attempt 1 of 5" in end.prompt("root:implementer#2.1")
    assert " gave up" in end.prompt("root:implementer#2.1")
    fifth = end.prompt("root:implementer#1.5")
    assert " been tried" in fifth
    assert [f"way {number}" in fifth for number in range(5)] == [True, True, True, True, False]
    assert end.payload("root:implementer#1.1")["failingTests"] == [
        "tests/shop/labels/test_labels_contract.py::test_contract",
        "tests/shop/labels/test_many.py::test_many",
    ]


def test_the_same_change_that_fails_the_same_way_is_a_loop_and_the_conversation_is_forgotten(place: Path) -> None:
    world = World(place, **world_of(LABEL), conversations=True, settings=MODELS)
    for number in range(5):
        world.agent("implementer", write=wrong(0), exit=retry(number))
    right(world)
    end = world.run()

    assert end.outcome == "Merged"
    assert "implementer Stuck.InfiniteLoop" in end.steps()
    sessions = [end.works[f"root:implementer#1.{number}"].session for number in range(1, 6)]
    assert sessions == ["", *["conversation of root:implementer#1.1"] * 4]
    assert end.works["root:implementer#2.1"].session == "", "what it said to itself in circles is forgotten"
    assert end.works["root:implementer#2.1"].model == "small", "a fresh look needs no stronger model"


def test_alternating_between_two_changes_is_a_loop_despite_other_claims(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    for number in range(5):
        world.agent("implementer", write=wrong(number % 2), exit=PASSED if number in (2, 3) else retry(number))
    right(world)
    end = world.run()

    assert end.steps()[2:7] == [
        "implementer RequestRetry",
        "implementer RequestRetry",
        "implementer !gate",
        "implementer !gate",
        "implementer Stuck.InfiniteLoop",
    ]


def test_after_two_stronger_models_a_person_is_asked(place: Path) -> None:
    world = World(place, **world_of(LABEL), settings=MODELS)
    for _ in range(3):
        world.agent("implementer", exit=stuck("SkillCeiling"))
    end = world.run(answers={"root:stuck": ["abort"]})

    models = [end.works[f"root:implementer#{visit}.1"].model for visit in (1, 2, 3)]
    assert models == ["small", "large", "huge"]
    assert end.steps()[-2:] == ["implementer Stuck.SkillCeiling", "stuck abort"]
    assert "I cannot see how." in end.ask("root:stuck")
    assert end.outcome == "Aborted"


def test_missing_resources_go_to_a_person_and_the_implementer_reads_the_answer(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    world.agent("implementer", exit=stuck("ResourceExhausted", diagnosis="The disk is full."))
    right(world)
    end = world.run(answers={"root:resources": ("retry", "There is room on the disk now.")})

    assert "The disk is full." in end.ask("root:resources")
    assert "There is room on the disk now." in end.prompt("root:implementer#2.1")
    assert end.outcome == "Merged"


def test_an_impossible_spec_goes_to_the_planner_and_by_it_to_the_person_behind_the_root(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    world.agent("implementer", exit=stuck("SpecImpossible", exception="CONTRADICTION", diagnosis="No plural of 'ox'."))
    emit_challenges(world, 2)
    world.agent("planner", write=LABEL.scaffolding(), exit=LABEL.init_leaf())
    question = {"question": "Is an s always right?", "ambiguityReference": "AC-1", "specSentence": MANY.text}
    world.agent("planner", exit={"type": "ClarificationNeeded", **question})
    world.agent("planner", exit=LABEL.init_leaf())
    right(world)
    end = world.run(answers={"root:clarify": ("Clarified", "Yes, an s will do.")})

    assert end.steps()[2:6] == [
        "implementer Stuck.SpecImpossible",
        "planner ClarificationNeeded",
        "clarify Clarified",
        "planner InitLeaf",
    ]
    challenged = end.prompt("root:planner#2.1")
    assert " challenged" in challenged
    assert "CONTRADICTION" in challenged
    assert "No plural of 'ox'." in challenged
    shown = json.loads((end.works["root:planner#2.1"].bundle / "files/context/blockers/labels.json").read_text())
    assert shown["blockers"][0]["envelope"]["variant"] == "SpecImpossible"
    assert shown["blockers"][0]["payload"]["diagnosis"] == "No plural of 'ox'."
    assert not (end.root / ".treadle/local/runs/story/files/context/blockers/labels.json").exists(), "it is settled"
    assert "Is an s always right?" in end.ask("root:clarify")
    answered = end.prompt("root:planner#3.1")
    assert "Is an s always right?" in answered
    assert "Yes, an s will do." in answered
    assert end.outcome == "Merged"


def test_a_scaffold_that_lacks_a_type_is_repaired_by_the_planner(place: Path) -> None:
    world = World(place, **world_of(LABEL))
    missing = {"type": "InvalidScaffold", "missingType": "Noun", "expectedLocation": LABEL.interface}
    world.agent("test_author", exit=missing)
    world.agent("test_author", write=LABEL.challenge(0), exit={"type": "EmitChallenge", "intent": MANY.text})
    world.agent("test_author", exit={"type": "ConcludeSuite"})
    world.agent("planner", write=LABEL.scaffolding(), exit=LABEL.init_leaf())
    more = f"{LABEL.skeleton()[LABEL.interface]}\nNoun = str\n"
    world.agent("planner", write={LABEL.interface: more}, exit=LABEL.init_leaf())
    end = world.run()

    assert end.steps()[:4] == [
        "planner InitLeaf",
        "test_author InvalidScaffold",
        "planner InitLeaf",
        "test_author EmitChallenge",
    ]
    assert "`Noun` is missing" in end.prompt("root:planner#2.1")
    assert end.outcome == "Merged"
    assert end.files()[LABEL.interface].endswith("Noun = str")


LABELS_PLAN: Final = msgspec.structs.replace(LABEL, at="root/labels")


def blocked_and_unclear(world: World) -> None:
    """One child lacks what its sibling offers; then it finds the spec unclear."""
    blocked = {"missingSymbol": "money", "expectedImportPath": "src/shop/money", **WHY}
    unclear = {"question": "Is an s always right?", **WHY, "exception": "AMBIGUITY"}
    world.agent("implementer", "root/labels", exit={"type": "BlockedDependency", **blocked})
    world.agent("implementer", "root/labels", exit={"type": "SpecAmbiguity", **unclear})
    world.agent("implementer", "root/labels", write={LABEL.module: LABEL.code(MANY.body)}, exit=PASSED)


def test_a_missing_dependency_is_looked_up_and_an_ambiguity_climbs_to_the_parent(place: Path) -> None:
    world = World(place, **world_of(OFFER))
    blocked_and_unclear(world)
    emit_challenges(world, 3, "root/labels")
    plan = LABELS_PLAN.init_leaf()
    asked = {"question": "Is an s always right?", "ambiguityReference": "AC-1", "specSentence": MANY.text}
    world.agent("planner", "root/labels", write=LABELS_PLAN.scaffolding(), exit=plan)
    world.agent("planner", "root/labels", exit=plan)
    world.agent("planner", "root/labels", exit={"type": "ClarificationNeeded", **asked})
    world.agent("planner", "root/labels", exit=plan)
    world.agent("answer", "root", exit={"type": "Clarified", "answer": "For the nouns of this shop, yes."})
    end = world.run()

    steps = [step for step in end.steps("root/labels") if step.startswith(("implementer", "planner"))]
    assert steps == [
        "planner InitLeaf",
        "implementer BlockedDependency",
        "planner InitLeaf",
        "implementer SpecAmbiguity",
        "planner ClarificationNeeded",
        "planner InitLeaf",
        "implementer TestPassed",
    ]
    lookup = end.prompt("root/labels:planner#2.1")
    assert "Check the siblings" in lookup
    assert " siblings' exports" in lookup
    assert "Amend the spec" in end.prompt("root/labels:planner#3.1")
    assert "Is an s always right?" in end.prompt("root:answer#1.1")
    assert "For the nouns of this shop, yes." in end.prompt("root/labels:planner#4.1")
    assert end.outcomes == {"root": "Merged", "root/labels": "Merged", "root/money": "Merged"}
