"""RIPER's Ψ levels: a protected file stops the work until a person confirms, who is told which files."""

from pathlib import Path

import pytest

from tests.end_to_end.ending import End
from tests.end_to_end.riper import CYCLE, LABEL, says, world_of
from tests.end_to_end.world import Answers, World

pytestmark = pytest.mark.soak

CONTRACT = "src/shop/contracts/labels.txt"


def protected(place: Path, answers: Answers, path: str = CONTRACT) -> End:
    """DE writes a protected file beside its code."""
    world = World(place, **world_of())
    world.agent("green", LABEL.at, write={LABEL.file: LABEL.code(), path: "a label names a number\n"}, exit=says("GC"))
    world.agent("green", LABEL.at, exit=says("GC", "As it was."))
    return world.run(answers)


def test_a_protected_file_is_changed_once_a_person_confirms(place: Path) -> None:
    end = protected(place, {f"{LABEL.at}:confirm": ("confirm", "It is our first contract.")})

    assert end.outcome == "Done", end.told
    assert end.steps(LABEL.at) == ["red RC", "green !gate.protection", "confirm confirm", *CYCLE[1:]]
    question = end.ask(f"{LABEL.at}:confirm")
    assert "Cycle TDD1 (labels) touches " in question
    assert f"> - {CONTRACT}: is protected (Ψ5)" in question
    assert LABEL.file not in question, "only what is protected is named"
    again = end.prompt(f"{LABEL.at}:green#2.1")
    assert "## A person has confirmed\n" in again
    assert "## A person says\n> It is our first contract." in again
    assert end.files()[CONTRACT] == "a label names a number", "the work had stayed"
    assert ("confirm", "confirm") in [(it["step"], it["choice"]) for it in end.evidence()["decisions"]]


@pytest.mark.parametrize(("choice", "outcome"), [("refuse", "Failed"), ("abort", "Aborted")])
def test_a_protected_file_stays_as_it_was_unless_a_person_confirms(place: Path, choice: str, outcome: str) -> None:
    end = protected(place, {f"{LABEL.at}:confirm": choice, "root:manual": "close"})

    assert (end.outcome, end.outcomes[LABEL.at]) == ("Failed", outcome)
    told = end.prompt("root:O6V_failed#1.1")
    assert f"## Cycle TDD1 {'failed' if choice == 'refuse' else 'was given up by a person'}" in told
    assert CONTRACT not in end.files("treadle/story/root/int")


def test_qa_is_stopped_at_a_protected_file_too(place: Path) -> None:
    world = World(place, **world_of())
    written = {LABEL.test_file: LABEL.tests(), "tests/contracts/labels.txt": "three pens\n"}
    world.agent("red", LABEL.at, write=written, exit=says("RC"))

    end = world.run()

    assert [question.id for question in end.open] == [f"{LABEL.at}:confirm@red#1.1"], end.told
    assert "tests/contracts/labels.txt: is protected (Ψ5)" in end.ask(f"{LABEL.at}:confirm")


def test_a_change_to_an_unprotected_file_proceeds(place: Path) -> None:
    end = protected(place, {}, "src/shop/notes.txt")

    assert (end.outcome, end.steps(LABEL.at)) == ("Done", CYCLE)


def test_tests_that_are_called_adjusted_are_tests_that_stand(place: Path) -> None:
    world = World(place, **world_of())
    world.agent("red", LABEL.at, write={LABEL.test_file: LABEL.tests()}, exit=says("TA", "They fail."))
    world.agent("green", LABEL.at, exit=says("BL", "No disk."))

    end = world.run()

    assert end.steps(LABEL.at) == ["red RC", "green BL"], end.told
    assert "QA says:\n> They fail." in end.prompt(f"{LABEL.at}:green#1.1")
