"""A finished suite, put before simple wrong implementations in the skeleton's place."""

from pathlib import Path

import pytest

from tests.evidence.stage import ADD, Stage, run

NEW, PLACE = "tests/calc/test_add.py", "tests/calc/test_manifest.json"
MAP = '{"spec_id": "calc", "acceptance_criteria_map": {"test_adds": "AC-1: adds"}}\n'
BLIND = "from src.calc.add import add\n\n\ndef test_adds() -> None:\n    result = add(2, 3)\n    assert result != 99\n"
CONTENT = BLIND.replace("result != 99", "result is not None")
LARGE = BLIND.replace("result != 99", "isinstance(result, int) and result >= 3")
SHARP = BLIND.replace("result != 99", "result == 5")


async def finished(tmp_path: Path) -> Stage:
    """A node in which all is green by now, with a test that any result passes."""
    stage = await (await Stage(tmp_path).start()).tested({NEW: BLIND, PLACE: MAP})
    await stage.claim("impl", "TestsPassed", {"src/calc/add.py": ADD}, checks="checkpoint")
    return stage


def test_a_criterion_is_refused_if_its_tests_accept_any_return_value(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await finished(tmp_path)
        verdict = await stage.claim("tests", "TestsReady", {}, checks="checkpoint sharp", n="2.1")
        assert stage.codes(verdict, "sharp") == ["tests.blind"]
        assert [text for text in ("AC-1: ", "(add returns None, add returns 0") if text not in verdict.report] == []

    run(story())


@pytest.mark.soak
def test_tests_must_check_the_right_value_and_not_just_any_value(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await finished(tmp_path)
        verdict = await stage.claim("tests", "TestsReady", {NEW: CONTENT}, checks="checkpoint sharp", n="2.2")
        assert stage.codes(verdict, "sharp") == ["tests.blind"]
        named = ("AC-1: ", "(add returns 0, add returns its first")
        assert [text for text in named if text not in verdict.report] == []
        verdict = await stage.claim("tests", "TestsReady", {NEW: SHARP}, checks="checkpoint sharp", n="3.1")
        assert verdict.report == ""
        assert "AC-1" in stage.evidence(verdict, "sharp")["unnoticed"], "one example leaves the constant"

    run(story())


@pytest.mark.soak
def test_a_large_wrong_value_is_tried_even_if_small_ones_were_noticed(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await finished(tmp_path)
        verdict = await stage.claim("tests", "TestsReady", {NEW: LARGE}, checks="checkpoint sharp", n="2.1")
        assert verdict.report == ""
        (unnoticed,) = stage.evidence(verdict, "sharp")["unnoticed"]["AC-1"]
        assert int(unnoticed.removeprefix("add returns ")) > 10**6

    run(story())


def test_without_a_skeleton_the_check_passes_with_a_note(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(tmp_path).start()
        verdict = await stage.claim("tests", "TestsReady", {NEW: SHARP, PLACE: MAP}, checks="checkpoint sharp")
        assert verdict.report == ""
        assert stage.codes(verdict, "sharp") == ["tests.no_skeleton"]

    run(story())
