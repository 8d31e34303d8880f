"""The stories and the timelines of the protocols' pages speak of what the protocols have."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from tools.protocol_story import STORIES, astray, gantt, how_it_goes, recorded_run, story
from tools.timelines import TIMELINES, Turn, recorded
from treadle.protocol.drawing.table import escape_markdown
from treadle.protocol.load import available, load
from treadle.protocol.model import Protocol, base_of
from treadle.testing.demos import demos

TOLD = [path.stem for path in sorted(STORIES.glob("*.yaml"))]
RECORDED = [path.stem for path in sorted(TIMELINES.glob("*.yaml"))]
TURN = Turn(began=0, ended=1, act="root/a:impl#1.2", exit="TestsPassed", checked=("scope", "green"), failed=("green",))


def names(protocol: Protocol) -> Iterator[str]:
    """Everything of a protocol that a story may name."""
    yield from (*protocol.exits, *protocol.artifacts, *protocol.roles)
    for graph in protocol.graphs.values():
        yield from (*graph.handlers, *graph.commands, *map(base_of, graph.steps))
        yield from (key for step in graph.steps.values() for key in step.routes)


def test_every_protocol_with_a_demo_has_a_story_and_a_timeline() -> None:
    assert set(demos()) <= set(TOLD) & set(RECORDED)
    assert {*TOLD, *RECORDED} <= set(available())


@pytest.mark.parametrize("name", TOLD)
def test_a_story_says_when_to_choose_its_protocol_and_names_only_its_parts(name: str) -> None:
    told = story(name)
    assert told.choose.startswith(f"{name} is for ")
    assert "Choose it " in told.choose
    named = re.findall(r"`([^`]+)`", " ".join((told.choose, *told.goes)))
    assert named
    assert set(named) <= set(names(load(name)))


@pytest.mark.parametrize("name", RECORDED)
def test_a_timeline_is_a_whole_run_of_the_protocol_as_it_is(name: str) -> None:
    protocol, turns = load(name), recorded(name)
    assert list(astray(protocol, turns)) == []
    assert turns[-1].node == "root"
    assert any(turn.failed for turn in turns)
    assert all(turn.began <= turn.ended for turn in turns)
    assert [turn.ended for turn in turns] == sorted(turn.ended for turn in turns)
    page = recorded_run(protocol)
    for turn in turns:
        assert f"| {escape_markdown(turn.node)} | {turn.step} {turn.number} | " in page
        assert turn.say.partition("`")[0] in page


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"act": "root:imp#1.1"}, "root:imp#1.1: there is no step 'imp'"),
        ({"exit": "TestPassed"}, "root/a:impl#1.2: 'TestPassed' is no exit of 'impl'"),
        ({"checked": ("greener", "scope")}, "root/a:impl#1.2: 'TestsPassed' is not checked for greener"),
        ({"exit": "!crash", "checked": ()}, None),
        ({"act": "root:stuck@impl#1.1", "exit": "retry", "checked": ()}, None),
        ({"act": "root:merge#1.1", "exit": "MergeRejected.BuildFailure", "checked": ("suite",)}, None),
        ({}, None),
    ],
)
def test_a_turn_with_an_unknown_step_exit_or_check_is_named(changes: dict[str, object], wrong: str | None) -> None:
    turn = msgspec.structs.replace(TURN, **changes)
    assert list(astray(load("v3"), [turn])) == ([wrong] if wrong else [])


def test_a_drawing_has_a_section_for_each_node_and_marks_failures() -> None:
    other = msgspec.structs.replace(TURN, act="root:tests#1.1", exit="TestsReady", began=1.25, ended=2, failed=())
    advised = msgspec.structs.replace(TURN, act="root/a:impl#1.3", checked=("minimal",), failed=("minimal",))
    assert gantt(load("v3"), [TURN, other, advised]).splitlines()[3:] == [
        "  section root",
        "  tests 1.1 TestsReady :1250, 2000",
        "  section root/a",
        "  impl 1.2 TestsPassed :crit, 0, 1000",
        "  impl 1.3 TestsPassed :0, 1000",
    ]


def test_a_protocol_without_a_story_has_no_section() -> None:
    told = story("no such protocol")
    assert (told.choose, how_it_goes(told, has_timeline=True)) == ("", "")
    assert recorded("no such protocol") == []
