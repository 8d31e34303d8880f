"""Ω₂: planner and critic argue until they agree; what a program can find, the critic is never asked."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.end_to_end.codes import shows
from tests.end_to_end.dptr import MONEY, ONE, PARSE, SHARE, SHOW, SPLIT, TWO, Module, product
from tests.end_to_end.ending import End
from tests.end_to_end.world import World

PLAN = f"{ONE.at}/plan"
ENOUGH = {"type": "BL", "message": "That is another story."}
CRITIQUE = {"where": "TDD1", "issue": "Debts are not tested.", "requiredFix": "Test them."}
NR = {"type": "NR", "critiques": [CRITIQUE]}


def planned(place: Path, module: Module = ONE) -> World:
    """A world whose story ends when the plan is accepted."""
    world = World(place, **product(module))
    world.agent("phase0", module.at, exit=ENOUGH)
    return world


def line(round_: int) -> str:
    return (
        f"Parameters: [S:PLAN_story_root+money+plan,R:{round_},M:money,"
        "CTX:module=/memory-bank/modules/money, design=/memory-bank/modules/money/design.md]"
    )


@pytest.mark.soak
@shows("PC", "NR", "DG", "DA", "PR", "EN", "PA")
def test_planner_and_critic_argue_and_a_person_settles_it(place: Path) -> End:
    world = planned(place)
    longer = ONE.plan().replace("every function has a test", "every function and every debt has a test")
    world.as_usual("spec", PLAN)
    world.agent("spec", PLAN, exit={"type": "DG", "arguments": ["The brief knows no debts."]})
    revised = {"type": "PR", "message": "Debts, too.", "objections": ["A cycle of their own is too much."]}
    world.agent("spec", PLAN, write={ONE.plan_file: longer}, exit=revised)
    world.agent("spec", PLAN, exit={"type": "DG", "arguments": ["I have said so."]})
    world.agent("critic", PLAN, exit=NR)
    world.agent("critic", PLAN, exit={"type": "DA", "questions": ["Who can owe?"]})
    world.agent("critic", PLAN, exit={"type": "EN", "reason": "We do not agree about debts."})
    end = world.run({f"{PLAN}:escalate": ("revise", "Debts are of no interest.")})

    assert end.steps(PLAN) == [
        "spec PC",
        "critic NR",
        "spec DG",
        "critic DA",
        "spec PR",
        "critic EN",
        "escalate revise",
        "spec DG",
        "critic PA",
    ]
    for visit, round_ in enumerate((0, 1, 2, 3), 1):
        assert line(round_) in end.prompt(f"{PLAN}:spec#{visit}.1")
        assert line(round_) in end.prompt(f"{PLAN}:critic#{visit}.1")
    assert " (CTX:revise)" in end.prompt(f"{PLAN}:spec#2.1")
    assert "> Debts are not tested." in end.prompt(f"{PLAN}:spec#2.1")
    disagreed = end.prompt(f"{PLAN}:critic#2.1")
    assert " (CTX:disagree); the plan is unchanged\n> The brief knows no debts." in disagreed
    assert "## The critic asks\n> Who can owe?" in end.prompt(f"{PLAN}:spec#3.1")
    answered = end.prompt(f"{PLAN}:critic#3.1")
    assert "The planner says:\n> Debts, too." in answered
    assert " and why:\n> A cycle of their own is too much." in answered
    assert "disagrees" not in answered
    asked = end.ask(f"{PLAN}:escalate")
    assert " the plan of module money (round 2" in asked
    assert "> We do not agree about debts." in asked
    settled = end.prompt(f"{PLAN}:spec#4.1")
    assert " escalated\n> We do not agree about debts." in settled
    assert "## A person says\n> Debts are of no interest." in settled
    batch = end.payload(f"{PLAN}:critic#4.1")["batches"][0]
    assert (batch["parallel"], [it["interface"] for it in batch["cycles"]]) == (1, [PARSE.interface])
    assert "every debt has a test" in end.payload(f"{PLAN}:critic#4.1")["execution_checklist"][0]["text"]
    phase0 = end.prompt(f"{ONE.at}:phase0#1.1")
    assert f" so far: {ONE.design_file}, {ONE.plan_file}." in phase0
    assert f"> {PARSE.interface}" in phase0
    return end


@pytest.mark.soak
@shows("NR", "PA", "BL")
def test_six_more_rounds_and_then_a_person_asks_the_critic_to_look_again(place: Path) -> End:
    world = planned(place)
    world.as_usual("spec", PLAN)
    for number in range(7):
        world.agent("spec", PLAN, exit={"type": "DG", "arguments": [f"No, for the {number}th time."]})
        world.agent("critic", PLAN, exit=NR)
    end = world.run({f"{PLAN}:escalate": ("reconsider", "The brief has no debts.")})

    assert end.steps(PLAN)[-3:] == ["critic NR", "escalate reconsider", "critic PA"]
    assert end.steps(PLAN).count("critic NR") == 7
    assert "(round 6," in end.ask(f"{PLAN}:escalate")
    assert "## Last critique" in end.ask(f"{PLAN}:escalate")
    assert line(7) in end.prompt(f"{PLAN}:critic#8.1")
    assert "## A person says\n> The brief has no debts." in end.prompt(f"{PLAN}:critic#8.1")
    assert " in phase 0 (→BL):\n> That is another story." in end.ask(f"{ONE.at}:halt")
    return end


def changed(**more: Any) -> Module:
    """Two cycles side by side, the second one different."""
    return Module(batches=((PARSE, msgspec.structs.replace(SHOW, **more)),))


SAME_FILE = TWO.plan().replace(SHOW.module, PARSE.module)
FAULTS = {
    "a dependency inside a batch": (changed(after=("TDD1",)).plan(), "TDD2 builds on TDD1 in the same batch"),
    "a shared file": (SAME_FILE, f"TDD2 and TDD1 share {PARSE.module} inside of Batch1"),
    "a dependency forward": (
        Module(batches=((msgspec.structs.replace(PARSE, after=("TDD2",)),), (SHOW,))).plan(),
        "TDD1 builds on TDD2 in a later batch",
    ),
    "too many at once": (TWO.plan().replace("parallel 2", "parallel 4"), "Batch1 has parallel 4"),
    "none at once": (TWO.plan().replace("parallel 2", "parallel 0"), "Batch1 has parallel 0"),
    "another interface": (
        TWO.plan().replace("def units(amount: int) -> str", "def units(amount: float) -> str"),
        "TDD2 plans units with another signature than the design: def units(amount: float) -> str",
    ),
    "an interface of its own": (
        TWO.plan().replace("def units(amount: int) -> str", "def shown(amount: int) -> str"),
        "TDD2 plans shown, which the design does not have",
    ),
    "no plan": ("# The plan\n\nFirst one, then the other.\n", "has no cycles"),
    "a criterion of nobody": (TWO.plan().replace("MO-2", "MO-9"), "TDD2 serves MO-9, which is not a criterion"),
    "an integration that is not alone": (
        changed(after=("TDD1",)).plan(),
        "TDD2 is an integration cycle and shares its batch",
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
def test_a_plan_that_fails_a_check_never_reaches_the_critic(place: Path, fault: str) -> None:
    text, said = FAULTS[fault]
    world = planned(place, TWO)
    world.agent("spec", PLAN, write={TWO.plan_file: text}, exit={"type": "PC"})
    world.as_usual("spec", PLAN)
    end = world.run()

    assert end.steps(PLAN) == ["spec !gate", "spec PC", "critic PA"], end.told
    assert said in end.refusals(f"{PLAN}:spec#1.1")
    again = end.prompt(f"{PLAN}:spec#1.2")
    assert "attempt 2 of 3" in again
    assert f"> - {TWO.plan_file}:" in again
    assert said in again


@pytest.mark.soak
def test_a_plan_that_stays_unsound_halts_and_a_person_may_give_it_up(place: Path) -> None:
    world = planned(place, MONEY)
    world.agent("spec", PLAN, write={MONEY.plan_file: SAME_FILE}, exit={"type": "PC"})
    world.agent("spec", PLAN, exit={"type": "PC"})
    world.agent("spec", PLAN, exit={"type": "DG", "arguments": ["It is sound."]})
    end = world.run({f"{PLAN}:halt": "abort", f"{MONEY.at}:failed": "abort", "root:failed": "abort"})

    assert end.steps(PLAN) == ["spec !gate", "spec !gate", "spec !exhausted", "halt abort"], end.told
    asked = end.ask(f"{PLAN}:halt")
    assert "HALT at spec of root/money/plan, after 3 of 3 " in asked
    assert f"TDD2 and TDD1 share {PARSE.module} inside of Batch1" in asked
    assert f"{PLAN}:critic#1.1" not in end.works
    assert (end.outcome, SHARE.id, SPLIT.id) == ("Aborted", "TDD3", "TDD4")
