"""RIPER's quality gates: for every line of RED_GATE, GREEN_GATE and REFACTOR_GATE, work that it must catch.

There is no retry: whatever a gate catches ends the cycle, its work is kept, Ω₆ⱽ analyses it, and a person decides.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.ending import End
from tests.end_to_end.riper import CYCLE, LABEL, critique, says, world_of
from tests.end_to_end.world import World

pytestmark = pytest.mark.soak

CODE, TESTS = LABEL.file, LABEL.test_file
WRONG: Final = LABEL.code('return f"{count} {noun}"')
WEAKER: Final = f"{LABEL.tests('label(1, str()) is not None').replace('def test_label', 'def test_label')}"
CAUGHT: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "RED_GATE: tests written": ("red", "commit", {"exit": says("RC")}),
    "RED_GATE: tests failing": (
        "red",
        "red",
        {"write": {TESTS: "def test_label():\n    assert '3 pens'\n"}, "exit": says("RC")},
    ),
    "RED_GATE: failing for the right reason": (
        "red",
        "red",
        {"write": {TESTS: "from shop.labels import label\n\n\ndef test_label():\n    assert label(1, 'cup')\n"}}
        | {"exit": says("RC")},
    ),
    "RED_GATE: tests only": (
        "red",
        "scope_tests",
        {"write": {TESTS: LABEL.tests(), CODE: LABEL.code()}, "exit": says("RC")},
    ),
    "GREEN_GATE: tests passing": ("green", "green", {"write": {CODE: WRONG}, "exit": says("GC")}),
    "GREEN_GATE: no test modifications": (
        "green",
        "tests_unmodified",
        {"write": {CODE: WRONG, TESTS: "def test_label():\n    assert True\n"}, "exit": says("GC")},
    ),
    "GREEN_GATE: exactly the planned interface": (
        "green",
        "interface_exact",
        {"write": {CODE: LABEL.code().replace("noun: str)", "noun: str, much: bool = False)")}, "exit": says("GC")},
    ),
    "REFACTOR_GATE: refactored tests still detect a fault": (
        "test",
        "still_red_on_skeleton",
        {"write": {TESTS: "def test_label():\n    assert '3 pens'\n"}, "exit": says("RTC")},
    ),
    "REFACTOR_GATE: the test refactoring leaves the code alone": (
        "test",
        "scope_tests",
        {"append": {CODE: "\n\nPLURAL = 's'\n"}, "exit": says("RTC")},
    ),
    "REFACTOR_GATE: all tests still passing": ("impl", "green", {"write": {CODE: WRONG}, "exit": says("RIC")}),
    "REFACTOR_GATE: interface consistency": (
        "impl",
        "interface_exact",
        {"write": {CODE: LABEL.code(LABEL.better).replace("count: int", "count: int | None")}, "exit": says("RIC")},
    ),
    "REFACTOR_GATE: a review changes nothing": (
        "qa_cross_review",
        "readonly",
        {"append": {CODE: "\n\nPLURAL = 's'\n"}, "exit": says("RFC")},
    ),
}


def until_manual(world: World) -> End:
    """The story up to where a person must decide."""
    end = world.run()
    assert [question.id for question in end.open] == ["root:manual#1.1"], end.told
    return end


@pytest.mark.parametrize("line", CAUGHT)
def test_a_gate_ends_the_cycle_and_a_person_decides(place: Path, line: str) -> None:
    step, check, turn = CAUGHT[line]
    world = World(place, **world_of())
    world.agent(step, LABEL.at, **turn)

    end = until_manual(world)

    before = [it for it in CYCLE if it.split()[0] != step][: [it.split()[0] for it in CYCLE].index(step)]
    assert end.steps(LABEL.at) == [*before, f"{step} !gate"], end.told
    act = f"{LABEL.at}:{step}#1.1"
    assert not end.checks(act)[check]
    assert (end.outcomes[LABEL.at], end.steps()[-1]) == ("Failed", "O6V_failed FailureReport")
    told = end.prompt("root:O6V_failed#1.1")
    assert f"## Cycle TDD1 failed\nIt stopped at {step}.!gate." in told
    assert f"> ### {check}" in told
    kept = told.partition("`git show ")[2].partition("`")[0]
    assert end.git("cat-file", "-t", kept).strip() == "commit", "the work is kept as it was left"
    for path, text in turn.get("write", {}).items():
        assert end.git("show", f"{kept}:{path}").strip() == text.strip()
    assert "Finished: none." in told
    assert f"{LABEL.file}" not in end.git("ls-tree", "-r", "--name-only", "main")


@pytest.mark.parametrize("side", ["qa", "de"])
def test_a_review_that_is_not_content_ends_the_cycle(place: Path, side: str) -> None:
    world = World(place, **world_of())
    fault = critique("`noun` may be empty, and then the label ends with a blank.", f"{CODE}:3", "Refuse it.")
    world.agent(f"{side}_cross_review", LABEL.at, exit=says("QUALITY_FAILURE", gate="code quality", critiques=[fault]))

    end = until_manual(world)

    assert end.steps(LABEL.at)[-1] == f"{side}_cross_review QUALITY_FAILURE"
    told = end.prompt("root:O6V_failed#1.1")
    assert f"It stopped at {side}_cross_review.QUALITY_FAILURE." in told
    assert "code quality" in told
    assert "ends with a blank" in told
    assert "interface_check" not in "".join(end.steps(LABEL.at))


def test_the_reviewer_reads_about_unneeded_code(place: Path) -> None:
    world = World(place, **world_of())
    more = f"{LABEL.code()}\n\ndef shout(text: str) -> str:\n    return text.upper()\n"
    world.agent("green", LABEL.at, write={CODE: more}, exit=says("GC"))
    world.agent("impl", LABEL.at, exit=says("RIC", "Nothing to do."))
    world.agent("qa_cross_review", LABEL.at, exit=says("QUALITY_FAILURE", gate="minimal", critiques=[]))

    end = until_manual(world)

    assert end.checks(f"{LABEL.at}:green#1.1")["minimal"] is False
    assert "shout is new" in end.prompt(f"{LABEL.at}:qa_cross_review#1.1")


def test_a_test_of_the_project_that_is_gone_stops_the_cycle_at_its_step(place: Path) -> None:
    """While tests are refactored, as many as before are not enough: each one of them still runs."""
    old = "tests/test_old.py"
    world = World(place, **{**world_of(), "files": {old: "def test_old():\n    assert 1 + 1 == 2\n"}})
    two = f"{LABEL.tests()}\n\ndef test_no_cups():\n    assert label(0, 'cup') == '0 cups'\n"
    world.agent("test", LABEL.at, write={TESTS: two}, run=[["rm", old]], exit=says("RTC"))

    end = until_manual(world)

    assert end.steps(LABEL.at)[-1] == "test !gate", end.told
    assert end.outcomes[LABEL.at] == "Failed"
    assert "[green.lost]" in end.refusals(f"{LABEL.at}:test#1.1")
