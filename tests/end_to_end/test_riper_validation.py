"""RIPER's last mode, Ω₆ⱽ: findings and what a person makes of them, a verdict that nobody believes, delivery."""

from pathlib import Path

import pytest

from tests.end_to_end.ending import RUN, End
from tests.end_to_end.riper import CYCLE, LABEL, PASSED, critique, says, world_of
from tests.end_to_end.world import Answers, Move, World
from tests.git.place import git

pytestmark = pytest.mark.soak

ZERO = critique("Zero is not tested.", LABEL.test_file, "Test it.")
FAILED = says("Validated", verdict="Failed", report="# Validation\nZero is open.\n", findings=[ZERO])


def found(place: Path, answers: Answers, *moves: Move) -> End:
    """The validator has a finding."""
    world = World(place, **world_of())
    world.agent("O6V", exit=FAILED)
    return world.run(answers, moves=moves)


@pytest.mark.parametrize(("choice", "outcome"), [("close", "Failed"), ("abort", "Aborted")])
def test_findings_go_to_a_person_and_are_not_fixed(place: Path, choice: str, outcome: str) -> None:
    end = found(place, {"root:findings": choice})

    assert (end.outcome, end.steps()[-2:]) == (outcome, ["O6V Validated.Failed", f"findings {choice}"])
    question = end.ask("root:findings")
    assert "Verdict: Failed. Measured: 1 tests passed, 0 failed." in question
    assert "> Zero is not tested." in question
    assert "Nothing is fixed" in question


def test_a_person_has_it_validated_again(place: Path) -> None:
    end = found(place, {"root:findings": ("validate", "Zero is nobody's criterion.")})

    assert (end.outcome, end.steps()[-4:]) == (
        "Done",
        ["O6V Validated.Failed", "findings validate", "O6V Validated.Passed", "deliver MergeComplete"],
    )
    assert "## A person says\n> Zero is nobody's criterion." in end.prompt("root:O6V#2.1")


@pytest.mark.parametrize(("choice", "step", "then"), [("replan", "O3P", "O4C"), ("redesign", "O1P", "O2A")])
def test_findings_go_back_to_the_planner_or_the_designer(place: Path, choice: str, step: str, then: str) -> None:
    stop = Move((f"root:{then}#2.1",), lambda client: client.abort(RUN))
    end = found(place, {"root:findings": (choice, "Mind zero.")}, stop)

    told = end.prompt(f"root:{step}#2.1")
    assert "## Findings of " in told
    assert "> Zero is not tested." in told
    assert "## A person says\n> Mind zero." in told
    assert end.outcomes[LABEL.at] == "Done", "what is finished stays finished"


def test_a_validator_that_mends_is_not_believed(place: Path) -> None:
    world = World(place, **world_of())
    world.agent("O6V", append={LABEL.file: "\n\nZERO = 0\n"}, exit=PASSED)

    end = world.run({"root:findings": "validate"})

    assert end.outcome == "Done", end.told
    assert "O6V !gate" in end.steps()
    assert "### readonly" in end.refusals("root:O6V#1.1")
    assert LABEL.file in end.ask("root:findings")
    assert "ZERO" not in end.files()[LABEL.file]


def test_a_result_that_cannot_be_merged_waits_for_a_person(place: Path) -> None:
    world = World(place, settings=("git.merge=auto",), **world_of())
    theirs = "def label(count, noun):\n    return noun\n"

    def meanwhile(_: object) -> None:
        (world.root / "src/shop").mkdir(parents=True)
        (world.root / LABEL.file).write_text(theirs)
        git(world.root, "add", "-A")
        git(world.root, "commit", "-q", "-m", "Another label")

    end = world.run({"root:undeliverable": "abort"}, moves=[Move(("root:O6V#1.1",), meanwhile)])

    assert (end.outcome, end.steps()[-2:]) == (
        "Aborted",
        ["deliver MergeRejected.IntegrationFailure", "undeliverable abort"],
    ), end.told
    assert LABEL.file in end.ask("root:undeliverable")
    assert end.steps(LABEL.at) == CYCLE
    assert end.git("show", f"main:{LABEL.file}").strip() == theirs.strip(), "the user's branch is the user's"
