"""RIPER's plan loop, Ω₃ᴾ ⟷ Ω₄ᶜ: every code, agreement, disagreement, rounds that are spent, a plan without cycles."""

from pathlib import Path

import pytest

from tests.end_to_end.ending import RUN, End
from tests.end_to_end.riper import LABEL, SHOP, SMALL, critique, says, world_of
from tests.end_to_end.world import Answers, Move, World

pytestmark = pytest.mark.soak

FAULT = critique("TDD1 does not say which plural.", "TDD1", "Name the plural.")
NR = says("NR", "One fault.", critiques=[FAULT])
DG = says("DG", "It is said.", arguments=["The criterion itself names the plural."])
BETTER = SMALL.plan("every function has a test", "every plural is named")


def until_executed(world: World, answers: Answers | None = None) -> End:
    """The story up to the first cycle."""
    return world.run(answers, moves=[Move(("root/TDD1:red#1.1",), lambda client: client.abort(RUN))])


def loop(end: End) -> list[str]:
    return [step for step in end.steps() if step.split()[0] in ("O3P", "O4C", "escalate", "empty_plan", "stopped")]


def test_a_plan_is_revised_and_accepted(place: Path) -> None:
    world = World(place, **world_of())
    world.as_usual("O3P")
    world.agent("O3P", exit=says("PR", "It is named.", tdd_plan=BETTER, objections=["One cycle is enough."]))
    world.agent("O4C", exit=NR)

    end = until_executed(world)

    assert loop(end) == ["O3P PC", "O4C NR", "O3P PR", "O4C PA"]
    planner, critic = end.prompt("root:O3P#2.1"), end.prompt("root:O4C#2.1")
    assert "Parameters: [S:PLAN_story_root,R:1,CTX:revise]" in planner
    assert " (CTX:revise)\n> One fault." in planner
    assert "> TDD1 does not say which plural." in planner
    assert "Parameters: [S:PLAN_story_root,R:1]" in critic
    assert "The planner says:\n> It is named." in critic
    assert " and why:\n> One cycle is enough." in critic
    assert [it["text"] for it in end.payload("root:O4C#2.1")["execution_checklist"]] == [
        "every function has a test",
        "every plural is named",
    ]


def test_the_critic_reads_a_disagreement_and_gives_way(place: Path) -> None:
    world = World(place, **world_of())
    world.as_usual("O3P")
    world.agent("O3P", exit=DG)
    world.agent("O4C", exit=NR)

    end = until_executed(world)

    assert loop(end) == ["O3P PC", "O4C NR", "O3P DG", "O4C PA"]
    critic = end.prompt("root:O4C#2.1")
    assert "Parameters: [S:PLAN_story_root,R:1,CTX:disagree]" in critic
    assert " (CTX:disagree); the plan is unchanged" in critic
    assert "> The criterion itself names the plural." in critic
    assert "CTX:disagree" not in end.prompt("root:O4C#1.1")


def test_a_first_plan_that_calls_itself_revised_is_a_plan(place: Path) -> None:
    world = World(place, **world_of())
    world.agent("O3P", exit=says("PR", tdd_plan=SMALL.plan()))

    assert loop(until_executed(world)) == ["O3P PR", "O4C PA"]


def test_a_person_settles_an_escalated_dialogue(place: Path) -> None:
    world = World(place, **world_of())
    reason = "Whether zero things have a plural."
    world.as_usual("O3P")
    world.agent("O3P", exit=says("PR", tdd_plan=BETTER))
    world.agent("O4C", exit=says("EN", reason=reason))
    world.agent("O4C", exit=says("EN", reason="It is still open."))

    end = until_executed(world, {"root:escalate": [("revise", "They have."), ("reconsider", "I mean it.")]})

    assert loop(end) == ["O3P PC", "O4C EN", "escalate revise", "O3P PR", "O4C EN", "escalate reconsider", "O4C PA"]
    planner, critic = end.prompt("root:O3P#2.1"), end.prompt("root:O4C#3.1")
    assert f"## The critic escalated\n> {reason}" in planner
    assert "## A person says\n> They have." in planner
    assert "R:1,CTX:revise]" in planner
    assert "## A person says\n> I mean it." in critic
    assert "> It is still open." in end.ask("root:escalate")
    decided = [(it["step"], it["choice"]) for it in end.evidence()["decisions"]]
    assert decided[1:3] == [("escalate", "revise"), ("escalate", "reconsider")]


def test_a_dialogue_that_does_not_converge_is_put_to_a_person(place: Path) -> None:
    world = World(place, **world_of())
    world.as_usual("O3P")
    world.agent("O3P", exit=DG)
    for _ in range(7):
        world.agent("O4C", exit=NR)

    end = world.run({"root:escalate": "abort"})

    assert (end.outcome, loop(end)[-1]) == ("Aborted", "escalate abort")
    assert [step for step in loop(end) if step.startswith("O4C")] == ["O4C NR"] * 7, "six further rounds, then EN"
    assert " the plan for A shop (round 6" in end.ask("root:escalate")
    assert "> TDD1 does not say which plural." in end.ask("root:escalate")


def test_a_plan_without_cycles_is_not_executed(place: Path) -> None:
    world = World(place, **world_of())
    world.agent("O3P", exit=says("PC", tdd_plan="# Nothing is to be done\n\nExecution checklist:\n□ nothing changed\n"))

    end = until_executed(world, {"root:stopped": ("retry", "There is something: the plural.")})

    assert loop(end) == ["O3P !gate", "stopped retry", "O3P PC", "O4C PA"], end.told
    assert "### plan_parses" in end.refusals("root:O3P#1.1")
    assert "## A person says\n> There is something: the plural." in end.prompt("root:O3P#2.1")


def test_a_plan_that_cannot_be_executed_is_refused_before_the_critic_is_asked(place: Path) -> None:
    world = World(place, **world_of(SHOP))
    backwards = SHOP.plan().replace("after: TDD1", "after: TDD7").replace(f"def {LABEL.function}", "label, somehow")
    world.agent("O3P", exit=says("PC", tdd_plan=backwards))
    world.agent("O3P", write={"src/shop/labels.py": "LABEL = 1\n"}, exit=says("PC", tdd_plan=SHOP.plan()))

    end = until_executed(world, {"root:stopped": [("retry", "TDD1, not TDD7."), "retry"]})

    assert loop(end)[:5] == ["O3P !gate", "stopped retry", "O3P !gate", "stopped retry", "O3P PC"], end.told
    assert "TDD7" in end.refusals("root:O3P#1.1")
    again = end.prompt("root:O3P#2.1")
    assert " a check found" in again
    assert "## A person says\n> TDD1, not TDD7." in again
    assert "### readonly" in end.refusals("root:O3P#2.1"), "Ω₃ᴾ has no Γ₅"
