"""Items that wait for each other: names that exist, and no circles."""

from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.errors import ProtocolError
from treadle.protocol.answers.inputs import load_input
from treadle.protocol.answers.soundness import unsound
from treadle.protocol.fields import parse_type
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Field, Graph, Protocol, Record, Step

TASK = Record(fields={"id": Field(type="int"), "after": Field(type="[int]")})
PROTOCOL = Protocol(
    name="p",
    version="1",
    root="g",
    types={"Task": TASK, "Plan": Record(fields={"tasks": Field(type="[Task]", route="items")})},
    graphs={
        "g": Graph(
            start="all",
            ends={},
            input=("plan", "Plan"),
            steps={"all": Step(kind="map", graph="g", over="in.tasks", after="after")},
        )
    },
)

ALIKE = "differ in capitals only, and name the same files on some machines"


def faults(waits: dict[int, list[int]]) -> list[str]:
    tasks: list[Json] = [{"id": task, "after": list(others)} for task, others in waits.items()]
    return [str(problem) for problem in unsound(PROTOCOL, parse_type("Plan"), {"tasks": tasks})]


@given(st.dictionaries(st.integers(1, 9), st.lists(st.integers(0, 9)), min_size=1))
def test_what_waits_for_earlier_ones_is_sound(waits: dict[int, list[int]]) -> None:
    assert (
        faults({task: [other for other in waits if other < task and other in others] for task, others in waits.items()})
        == []
    )


@given(st.lists(st.integers(1, 9), min_size=1, unique=True), st.data())
def test_a_circle_is_named_and_nothing_else(circle: list[int], data: st.DataObject) -> None:
    waits = {task: [circle[(at + 1) % len(circle)]] for at, task in enumerate(circle)}
    waits |= {task: [data.draw(st.sampled_from(circle))] for task in range(10, 13)}
    (found,) = faults(waits)
    start, _, rest = found.partition(" waits for itself: ")
    named = [int(name) for name in rest.partition(";")[0].split(" waits for ")]
    assert start == f"tasks[{list(waits).index(named[0])}].after:"
    assert named[0] == named[-1]
    assert sorted(named[1:]) == sorted(circle)
    assert all(other in waits[task] for task, other in pairwise(named))


def test_a_name_that_nobody_has() -> None:
    assert faults({1: [], 2: [3]}) == [
        "tasks[1].after: '3' is none of these items; there are 1, 2; leave out what an earlier run has done"
    ]


STORY = "{id: US-2, title: t, description: d, blocked_by: [US-1]}"


def test_what_was_done_before_is_not_waited_for() -> None:
    words = ("project: shop\nstories: [" + STORY + "]\n", "backlog.yaml")
    found = load_input(load("waterfall"), *words, before=lambda key: "" if key == "US-1" else None)
    [story] = cast("Any", found.value)["stories"]
    assert (story["id"], story["blocked_by"]) == ("US-2", [])
    [item] = cast("Any", found.item.fields["stories"])
    assert item.fields == {"blocked_by": ()}, "nor by the run"
    with pytest.raises(ProtocolError, match=r"stories\[0\].blocked_by: 'US-1' is under way"):
        load_input(load("waterfall"), *words, before=lambda _: "is under way")
    with pytest.raises(ProtocolError, match="no run here has done it; did you mean 'US-2'"):
        load_input(load("waterfall"), *words, before=lambda _: None)


def test_a_list_that_must_not_be_empty() -> None:
    assert faults({}) == ["tasks: is empty; give at least one"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ["backlog.yaml:1: there is nothing to do in it; give bootstrap or supplements or stories"]),
        ("stories: []", ["backlog.yaml:1: there is nothing to do in it; give bootstrap or supplements or stories"]),
        ("supplements: [{id: words, request: A glossary.}]", []),
        ("stories: [{id: US-1, title: t, description: d}, {id: US-2, title: t, description: d}]", []),
        (
            "stories: [{id: US-1, title: t, description: d}, {id: us-1, title: t, description: d}]",
            [f"backlog.yaml:2: stories[1].id: 'us-1' and 'US-1' {ALIKE}; choose another"],
        ),
    ],
    ids=["nothing", "an_empty_list", "a_supplement", "stories", "capitals"],
)
def test_a_backlog_has_something_to_do_and_files_for_each_of_it(given: str, expected: list[str]) -> None:
    found: list[str] = []
    try:
        load_input(load("waterfall"), f"project: shop\n{given}\n", "backlog.yaml")
    except ProtocolError as error:
        found = [str(finding) for finding in error.findings]
    assert found == expected


@pytest.mark.parametrize("name", ["dptr", "riper"])
@pytest.mark.parametrize(
    ("depends", "expected"),
    [
        ({"a": ["b"]}, []),
        ({"a": ["b"], "b": ["b"]}, ["modules[1].depends: waits for itself: b waits for b; break the circle"]),
        ({"a": ["c"]}, ["modules[0].depends: 'c' is none of these items; there are a, b"]),
        (
            {"a": ["b"], "b": ["a"]},
            ["modules[0].depends: waits for itself: a waits for b waits for a; break the circle"],
        ),
    ],
    ids=["sound", "itself", "unknown", "a_circle"],
)
def test_modules_depend_on_modules_that_are_there(
    name: str, depends: dict[str, list[str]], expected: list[str]
) -> None:
    protocol = load(name)
    absent: dict[str, Json] = dict.fromkeys(protocol.types["Module"].fields)
    items: Json = [{**absent, "name": key, "depends": [*depends.get(key, [])]} for key in ("a", "b")]
    found = unsound(protocol, parse_type("[Module]"), items)
    assert [f"modules{problem.where}: {problem.message}" for problem in found] == expected
