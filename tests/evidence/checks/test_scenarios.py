"""Scenarios, their open questions and their tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.schemas.test_gherkin import GOOD
from tests.evidence.stage import ADD, SKELETON, Stage, run
from treadle.protocol.items import Json
from treadle.protocol.load import load_source

PLACE = "docs/bdd/US-1.md"
STORY: dict[str, Json] = {"id": "US-1", "title": "t", "description": "d"}
CLEAR = GOOD.replace(" [NEEDS CLARIFICATION: what about floats?]", "")


async def story(tmp_path: Path, code: str = SKELETON) -> Stage:
    """A story whose scenarios were accepted."""
    files = {"src/calc/__init__.py": "", "src/calc/add.py": code}
    stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY, files=files).start()
    verdict = await stage.claim("bdd", "pass_bdd", {PLACE: GOOD}, checks="commit schema:gherkin")
    assert verdict.report == ""
    return stage


def asked(question: str, suggestion: str = "none") -> dict[str, Any]:
    return {"question": question, "suggestion": suggestion}


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([asked("what about floats?")], ""),
        ([asked("What about floats")], ""),
        ([], "[NEEDS CLARIFICATION: what about floats?] is not among the clarifications"),
        ([asked("what about floats?"), asked("and text?")], "'and text?' is not marked in the scenarios"),
        ([asked("what about floats?", " ")], "'what about floats?' has no suggested answer"),
    ],
)
def test_open_questions_are_listed_with_an_answer(tmp_path: Path, listed: list[Json], said: str) -> None:
    async def told() -> None:
        stage = await Stage(tmp_path, "waterfall", graph="story", given=STORY).start()
        fields: dict[str, Json] = {"clarifications": listed}
        verdict = await stage.claim("bdd", "pass_bdd", {PLACE: GOOD}, fields, checks="commit clarifications")
        assert (said in verdict.report) if said else verdict.report == ""

    run(told())


CRITERIA: list[Json] = [{"id": "AC-1", "text": "adds"}, {"id": "AC-2", "text": "refuses"}]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("@AC-1", "@slow @perf(PERF-01) @AC-1", ""),
        ("US-1: adding", "Story US-1, adding", ""),
        (" `@AC-2`", "", "criterion AC-2 has no scenario"),
        (
            "@AC-1",
            "@AC-1 @AC-99",
            "docs/bdd/US-1.md:6: @AC-99 is not a criterion of this story",
        ),
        ("# US-1:", "# US-10:", "docs/bdd/US-1.md:1: is headed 'US-10: adding [M]'"),
        ("[M]", "[L]", "docs/bdd/US-1.md:1: is headed 'US-1: adding [L]'"),
        ("[M]", "[M] [L]", "[M], which was given"),
    ],
)
def test_scenarios_are_those_of_the_story(tmp_path: Path, old: str, new: str, said: str) -> None:
    async def told() -> None:
        given: dict[str, Json] = {**STORY, "complexity": "M", "acceptance_criteria": CRITERIA}
        stage = await Stage(tmp_path, "waterfall", graph="story", given=given).start()
        text = GOOD.replace(old, new, 1) if old else GOOD
        verdict = await stage.claim("bdd", "pass_bdd", {PLACE: text}, checks="commit scenarios_complete")
        assert (said in verdict.report) if said else verdict.report == ""

    run(told())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (" [NEEDS CLARIFICATION: what about floats?]", ": floats are rounded", ""),
        ("the sum MUST be shown", "nothing MUST be shown", "was reviewed, and says something else now"),
        ("  When they are added\n", "", "was reviewed, and says something else now: 'When they are added'"),
        ("@unit", "@e2e", "has other scenarios or tags now"),
    ],
)
def test_clarifying_changes_only_the_unclear_scenario(tmp_path: Path, old: str, new: str, said: str) -> None:
    async def told() -> None:
        stage = await story(tmp_path)
        verdict = await stage.claim("scaffold", "pass_red", {PLACE: GOOD.replace(old, new)}, checks="commit clarified")
        assert (said in verdict.report) if said else verdict.report == ""

    run(told())


def test_a_project_has_its_scenarios_where_it_wants_them(tmp_path: Path) -> None:
    rules, place = tmp_path / "step-rules.yaml", "features/US-1.md"
    rules.write_text("steps: {bdd: {claude_writes: ['features/US-{story}.md']}}\n", encoding="utf-8")
    protocol = load_source("waterfall", rules=rules).protocol

    async def told() -> None:
        stage = await Stage(tmp_path, protocol, graph="story", given=STORY).start()
        none = await stage.claim("bdd", "pass_bdd", {place: GOOD}, checks="commit clarifications")
        assert stage.found(none, "clarifications") == [(place, "scenario.question_unlisted")]
        assert "what about floats?" in none.report
        fields: dict[str, Json] = {"clarifications": [asked("what about floats?")]}
        assert (await stage.claim("bdd", "pass_bdd", {place: GOOD}, fields, n="2.1")).report == ""
        other = {place: GOOD.replace("MUST be shown", "MAY be shown")}
        verdict = await stage.claim("scaffold", "pass_red", other, checks="commit clarified")
        assert (f"{place}:9", "scenario.changed") in stage.found(verdict, "clarified")

    run(told())


def scaffolded(adds: str, refuses: str, listed: dict[str, str]) -> dict[str, str | None]:
    head = "import pytest\n\nfrom src.calc.add import add\n\n\n"
    tests = f"{head}def test_adds():\n    {adds}\n\n\ndef test_refuses():\n    {refuses}\n"
    manifest = json.dumps({"spec_id": "US-1", "acceptance_criteria_map": listed})
    return {"tests/test_calc.py": tests, "tests/US-1/test_manifest.json": manifest}


NAMED = {"test_adds": "adds two numbers", "test_refuses": "refuses text"}
SKIPPED, TRIED, WRONG = "pytest.skip('floats?')", "assert add(2, 3) == 5", "assert add(2, 3) == 6"


@pytest.mark.soak
def test_every_scenario_has_a_test_and_no_test_guesses_an_unclear_one(tmp_path: Path) -> None:
    async def told() -> None:
        stage = await story(tmp_path)
        cases = {
            "test_refuses: is skipped, and no other test covers refuses text": scaffolded(SKIPPED, SKIPPED, NAMED),
            "": scaffolded(SKIPPED, TRIED, NAMED),
            "the scenario 'refuses text' has no test": scaffolded(SKIPPED, TRIED, {"test_adds": "adds two numbers"}),
            "'adds two numbers' has an open question, and tests/test_calc.py::test_adds guesses the answer": scaffolded(
                TRIED, TRIED, NAMED
            ),
        }
        for n, (said, files) in enumerate(cases.items(), 1):
            checks = "commit manifest scenarios_tested red"
            verdict = await stage.claim("scaffold", "x", files, checks=checks, n=f"{n}.1")
            assert (said in verdict.report) if said else verdict.report == "", verdict.report

    run(told())


@pytest.mark.soak
def test_every_scenario_passes_and_no_question_is_open(tmp_path: Path) -> None:
    async def told() -> None:
        stage = await story(tmp_path, ADD)
        cases = {
            "docs/bdd/US-1.md: has an open question: what about floats?": scaffolded(SKIPPED, TRIED, NAMED),
            "'refuses text' has no passing test: tests/test_calc.py::test_refuses": {
                PLACE: CLEAR,
                **scaffolded(TRIED, WRONG, NAMED),
            },
            "the scenario 'adds two numbers' has no test": {
                PLACE: CLEAR,
                **scaffolded(TRIED, TRIED, {"test_adds": "AC-2"}),
            },
            "": {PLACE: CLEAR, **scaffolded(TRIED, TRIED, {"test_adds": "AC-1", "test_refuses": "refuses text"})},
        }
        for n, (said, files) in enumerate(cases.items(), 1):
            verdict = await stage.claim("scaffold", "x", files, checks="commit scenarios_pass", n=f"{n}.1")
            assert (said in verdict.report) if said else verdict.report == "", verdict.report

    run(told())
