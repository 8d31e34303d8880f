"""Prompts as they are read: whoever changes what an agent is told sees it, and no role or moment is forgotten."""

import re
from difflib import unified_diff
from functools import cache

import pytest

from tests.prompts.snapshots import COMMAND, FIRST, FOLDER, PERSON, STORIES, played, snapshots, stale, who
from tests.prompts.story import Story
from treadle.kernel.commands import AskHuman, RunAgent
from treadle.protocol.model import Graph, Protocol, base_of, row

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md"))
LANGUAGES = re.compile(r"(?i)\b(cabal|haskell|pytest|python|pip|npm|node\.js|jest|cargo|rust|golang|maven|gradle)\b")


@cache
def stories() -> dict[str, list[Story]]:
    """Played when a test asks for them, for every process that only collects would play them too."""
    return played()


def protocol_of(name: str) -> Protocol:
    return stories()[name][0].protocol


def seen(name: str) -> list[tuple[str, RunAgent | AskHuman]]:
    return [shown for run in stories()[name] for shown in run.seen.items()]


def test_the_snapshots_match_the_prompts() -> None:
    texts = snapshots(stories())
    differences: list[str] = []
    for path in stale(texts):
        name = path.relative_to(FOLDER).as_posix()
        was = path.read_text(encoding="utf-8") if path.is_file() else ""
        differences += unified_diff(was.splitlines(), texts.get(name, "").splitlines(), name, name, "", "", 1, "")
    told = "\n".join(differences)
    assert not differences, f"prompts have changed; read the difference, then `{COMMAND}` writes them anew:\n{told}"


@pytest.mark.parametrize("name", STORIES)
def test_every_role_and_mode_of_every_step_has_its_first_attempt(name: str) -> None:
    protocol = protocol_of(name)
    steps = [step for graph in protocol.graphs.values() for step in graph.steps.values() if step.kind == "agent"]
    wanted = {f"{step.role}-{step.mode}" if step.mode else step.role for step in steps}
    modes = {f"{role}-{mode}" for role, found in protocol.roles.items() for mode in found.modes}
    firsts = {who(command): command for shown, command in seen(name) if shown == f"{who(command)}-{FIRST}"}
    assert firsts.keys() == wanted | modes
    assert {command.attempt for command in firsts.values() if isinstance(command, RunAgent)} == {1}


@pytest.mark.parametrize("name", STORIES)
def test_the_stories_show_every_agent_with_all_its_inputs(name: str) -> None:
    """Each of its needs, and a report on a refused attempt where one can follow; every role with a person's note."""
    for graph, found in protocol_of(name).graphs.items():
        for step, declared in found.steps.items():
            if declared.kind == "agent":
                given = [command.inputs for _, command in seen(name) if (command.graph, command.step) == (graph, step)]
                wanted = {str(need).rstrip("?*") for need in declared.needs if need.step}
                wanted |= {"gate_report"} if _comes_back(found, step) else set()
                assert wanted - {slot for inputs in given for slot in inputs} == set(), (graph, step)
    noted = {
        command.role for _, command in seen(name) if isinstance(command, RunAgent) and "human_note" in command.inputs
    }
    assert noted == protocol_of(name).roles.keys()


def _comes_back(graph: Graph, step: str) -> bool:
    """Whether a step can be tried again after a check has refused it."""
    keys = ["!gate", *(key for key in graph.steps[step].routes if key.startswith("!gate"))]
    return any(not route.to.startswith("@end") for key in keys for route in row(graph, step, key) or ())


@pytest.mark.parametrize("name", STORIES)
def test_every_question_that_only_people_answer_is_seen(name: str) -> None:
    asked = {base_of(command.step) for shown, command in seen(name) if shown.startswith(PERSON)}
    for graph in protocol_of(name).graphs.values():
        people = {base_of(step) for step, found in graph.steps.items() if found.kind == "ask" and found.asks == "human"}
        assert people - asked == set()


@pytest.mark.parametrize("name", STORIES)
def test_no_template_names_a_programming_language(name: str) -> None:
    assert {
        path: found for path, text in protocol_of(name).templates.items() if (found := LANGUAGES.findall(text))
    } == {}


@pytest.mark.parametrize("path", FILES)
def test_a_prompt_is_tidy(path: str) -> None:
    """No gap where a value is missing, no blank lines in a row, nothing of a machine."""
    text = (FOLDER / path).read_text(encoding="utf-8")
    ours = re.sub(r"^(`{4,})\w.*?^\1$|^> .*?$|^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r".*(?:\(\)|``|[:,;(] *[.,;)]|\{[{%]|\bnone, ).*", ours) == []
    assert "\n\n\n" not in text
    assert not re.search(r"\d{4}-\d\d-\d\dT|(?<!\w)/(?:home|tmp|root)/", text)


def test_two_plays_give_the_same_prompts() -> None:
    assert snapshots(played()) == snapshots(stories())
