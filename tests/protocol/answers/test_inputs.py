"""A run's input: how a file is read, and what no type can say about it."""

import contextlib
import json
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from treadle.errors import ProtocolError
from treadle.protocol.answers.inputs import MAX_FINDINGS, MAX_TEXT, Input, load_input, soundness_problems
from treadle.protocol.fields import parse_type
from treadle.protocol.items import Item, Json, content_ref
from treadle.protocol.load import load
from treadle.protocol.model import Field, Graph, Protocol, Record, Step

# A run's input file: YAML, JSON or Markdown; every fault with its line.


PROTOCOL = Protocol(
    name="stories",
    version="1",
    root="project",
    types={
        "Project": Record(
            fields={
                "id": Field(type="text"),
                "description": Field(type="text", also=("about",)),
                "window": Field(type="1 | 2 | 3?", route="value"),
                "stories": Field(type="[Story]", route="items"),
                "notes": Field(type="[text]?"),
                "archive": Field(type="Archive?"),
                "digest": Field(type="text", by="kernel"),
            }
        ),
        "Story": Record(
            fields={
                "key": Field(type="text"),
                "criteria": Field(type="[Criterion]", route="value"),
                "blocked_by": Field(type="[text]", route="items", also=("after",)),
                "files": Field(type="[path]?"),
                "steps": Field(type="[Part]?", route="items"),
            },
            key="key",
        ),
        "Archive": Record(fields={"stories": Field(type="[Story]")}),
        "Criterion": Record(fields={"id": Field(type="text"), "text": Field(type="text")}),
        "Part": Record(fields={"id": Field(type="int"), "needs": Field(type="int?")}),
    },
    graphs={
        "project": Graph(
            start="all",
            ends={},
            input=("project", "Project"),
            steps={"all": Step(kind="map", graph="story", over="in.stories", after="blocked_by", window="in.window")},
        ),
        "story": Graph(
            start="all",
            ends={},
            input=("story", "Story"),
            steps={"all": Step(kind="map", graph="part", over="in.steps", after="needs")},
        ),
    },
)

GOOD = """\
id: shop
description: Sells things.
window: 2
stories:
  - key: cart
    criteria:
      - {id: AC1, text: It adds.}
      - {id: AC2, text: It removes.}
    blocked_by: []
    files: [./src//cart.py]
  - key: pay
    criteria: [{id: AC1, text: It pays.}]
    after: [cart]
    steps: [{id: 1}, {id: 2, needs: 1}]
"""


def findings(text: str, filename: str = "shop.yaml") -> list[str]:
    with pytest.raises(ProtocolError) as caught:
        load_input(PROTOCOL, text, filename)
    assert caught.value.message
    return [str(finding) for finding in caught.value.findings]


def test_an_input_is_a_value_and_an_item() -> None:
    found = load_input(PROTOCOL, GOOD, "shop.yaml")
    value: Any = found.value
    cart, pay = value["stories"]
    assert found.name == "project"
    assert set(value) == {"id", "description", "window", "stories", "notes", "archive", "digest"}
    assert cart["files"] == ["src/cart.py"]
    assert pay["blocked_by"] == ["cart"]
    steps = tuple(Item(str(step["id"]), content_ref(step)) for step in pay["steps"])
    assert found.item == Item(
        "shop",
        content_ref(value),
        {
            "window": 2,
            "stories": (
                Item("cart", content_ref(cart), {"criteria": 2, "blocked_by": (), "steps": None}),
                Item("pay", content_ref(pay), {"criteria": 1, "blocked_by": ("cart",), "steps": steps}),
            ),
        },
    )


def test_the_same_input_in_json_and_markdown() -> None:
    expected = load_input(PROTOCOL, GOOD, "shop.yaml")
    plain: Any = json.loads(json.dumps(expected.value))
    del plain["digest"]
    text = json.dumps(plain, indent="\t")
    assert load_input(PROTOCOL, text, "shop.json") == expected
    front = GOOD.replace("description: Sells things.\n", "")
    for markdown in (
        f"---\n{front}---\n\nSells things.\n",
        f"\ufeff---\n{front}...\nSells things.",
        f"---\n{front}---\nSells things.".replace("\n", "\r\n"),
    ):
        assert load_input(PROTOCOL, markdown, "shop.md") == expected
    assert load_input(PROTOCOL, f"---\n{GOOD}---\n", "shop.MD") == expected


def test_surrogate_pairs_are_one_character_and_half_ones_are_refused() -> None:
    text = json.dumps({"id": "x", "description": "😀 ä", "stories": []})
    assert "\\ud83d" in text
    assert [_place(line) for line in findings(text, "x.json")] == ["x.json:1: stories"]
    (half,) = findings('{"id": "\\ud83d"}', "x.json")
    assert half.startswith("x.json:1: ")
    assert "surrogate" in half


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("id: shop", "ids: shop", "shop.yaml:1: ids: is not a field here; did you mean 'id'?"),
        ("id: shop\n", "", "shop.yaml:1: id: is missing; it must be text"),
        ("id: shop", "id: 7", "shop.yaml:1: id: must be text, not a number; put it in quotes"),
        ("id: shop", "digest: x\nid: shop", "shop.yaml:1: digest: is computed (kernel), not asked for; leave it out"),
        ("Sells things.", "''", "shop.yaml:2: description: is empty; say something here"),
        ("Sells things.", "' '", "shop.yaml:2: description: is empty; say something here"),
        ("window: 2", "window: 4", "shop.yaml:3: window: must be one of 1, 2, 3, not a number"),
        ("window: 2", "about: x", "shop.yaml:3: about: is the same field as 'description'; give it once"),
        ("{id: AC2,", "{id: AC1,", "shop.yaml:8: stories[0].criteria[1].id: 'AC1' already identifies [0]"),
        ("{id: AC2, text: It removes.}", "{id: AC2}", "shop.yaml:8: stories[0].criteria[1].text: is missing"),
        ("[{id: AC1, text: It pays.}]", "[]", "shop.yaml:12: stories[1].criteria: is empty; give at least one"),
        ("[{id: AC1, text: It pays.}]", "some", "shop.yaml:12: stories[1].criteria: must be a list, not 'some'"),
        ("./src//cart.py", "/etc/x", "shop.yaml:10: stories[0].files[0]: the path '/etc/x' is absolute"),
        ("./src//cart.py", "../x", "shop.yaml:10: stories[0].files[0]: the path '../x' leaves its directory"),
        ("key: pay", "key: cart", "shop.yaml:11: stories[1].key: 'cart' already identifies [0]; choose another"),
        ("key: pay", "key: p a y", "shop.yaml:11: stories[1].key: 'p a y' cannot be an id; use up to 100"),
        ("id: shop", "id: -rf --", "shop.yaml:1: id: '-rf --' cannot be an id"),
        ("id: shop", 'id: "sh\\u202eop"', r"shop.yaml:1: id: 'sh\u202eop' holds a character that cannot be seen"),
        ("id: shop", "id: ' '", "shop.yaml:1: id: is empty; say something here"),
        ("{id: AC2,", "{id: a b/../c,", "shop.yaml:8: stories[0].criteria[1].id: 'a b/../c' cannot be an id"),
        ("./src//cart.py", ".treadle/x", "stories[0].files[0]: the path '.treadle/x' lies inside .treadle, which only"),
        ("by: []", "by: [pays]", "shop.yaml:9: stories[0].blocked_by: 'pays' is none of these items; did you mean"),
        ("by: []", "by: [pay]", "stories[0].blocked_by: waits for itself: cart waits for pay waits for cart"),
        ("by: []", "by: [cart]", "stories[0].blocked_by: waits for itself: cart waits for cart; break the"),
        ("{id: 1}", "{id: 1, needs: 2}", "stories[1].steps[0].needs: waits for itself: 1 waits for 2 waits for 1"),
        ("{id: 1}", "{id: 1, needs: 3}", "stories[1].steps[0].needs: '3' is none of these items; choose from 1, 2"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_finding_with_its_line(old: str, new: str, finding: str) -> None:
    assert old in GOOD
    found = findings(GOOD.replace(old, new, 1))
    assert any(finding in text for text in found), found


def test_only_required_fields_must_be_filled_in() -> None:
    assert isinstance(load_input(PROTOCOL, GOOD + "notes: []\n", "shop.yaml"), Input)


@pytest.mark.parametrize("written", ["AC-1", "US-001", "Σ₁", "1.2#b", "größe"])
def test_ids_with_dots_hashes_and_umlauts_are_accepted(written: str) -> None:
    assert isinstance(load_input(PROTOCOL, GOOD.replace("AC2", written), "shop.yaml"), Input)


def test_only_lists_that_are_mapped_in_order_need_known_dependencies() -> None:
    old = "archive: {stories: [{key: old, criteria: [{id: A, text: B}], blocked_by: [gone]}]}\n"
    assert isinstance(load_input(PROTOCOL, GOOD + old, "shop.yaml"), Input)


def _place(finding: str) -> str:
    """The file, line and field of a finding."""
    return ": ".join(finding.split(": ")[:2])


def test_all_mistakes_are_reported_at_once() -> None:
    found = findings("window: 9\nstories:\n  - key: 5\n    blocked_by: no\n")
    assert [_place(line) for line in found] == [
        "shop.yaml:1: id",
        "shop.yaml:1: description",
        "shop.yaml:1: window",
        "shop.yaml:3: stories[0].key",
        "shop.yaml:3: stories[0].criteria",
        "shop.yaml:4: stories[0].blocked_by",
    ]
    assert [": is missing" in line for line in found] == [True, True, False, False, True, False]
    assert "1, 2, 3" in found[2]


def test_one_kind_of_fault_hides_no_other() -> None:
    spoilt = GOOD.replace("id: shop", "id: s h").replace("Sells things.", "''").replace("window: 2", "window: 9")
    spoilt = spoilt.replace("by: []", "by: [pay]").replace("{id: 1}", "{id: 1, needs: 3}").replace("It pays.", "''")
    found = findings(spoilt)
    assert [_place(line) for line in found] == [
        "shop.yaml:1: id",
        "shop.yaml:2: description",
        "shop.yaml:3: window",
        "shop.yaml:9: stories[0].blocked_by",
        "shop.yaml:12: stories[1].criteria[0].text",
        "shop.yaml:14: stories[1].steps[0].needs",
    ]
    named = ("'s h'", "empty", "1, 2, 3", "cart waits for pay waits for cart", "empty", "'3'")
    assert [text for text, line in zip(named, found, strict=True) if text not in line] == []


def test_an_item_with_an_invalid_key_has_no_further_findings() -> None:
    spoilt = GOOD.replace("key: cart", "key: 7")
    assert [_place(line) for line in findings(spoilt)] == ["shop.yaml:5: stories[0].key"]


def test_many_findings_are_listed_up_to_a_limit() -> None:
    faults = "".join(f"wrong{number}: x\n" for number in range(100))
    assert len(findings(GOOD + faults)) == 100
    assert len(findings(GOOD + "".join(f"bad{number}: x\n" for number in range(1000)))) == MAX_FINDINGS


@pytest.mark.parametrize(
    ("text", "filename", "finding"),
    [
        ("", "a.yaml", "a.yaml:1: the file is empty"),
        ("just text", "a.yaml", "a.yaml:1: must be an object, not 'just text'"),
        ("a: [1", "a.yaml", "a.yaml:1: this is not YAML"),
        ("id: 1\nid: 2", "a.yaml", "a.yaml:2: the key 'id' stands here twice"),
        ("id: !!python/object:os.system x", "a.yaml", "a.yaml:1: tags are not supported"),
        ("[" * 500, "a.json", "nested more than 64 levels deep"),
        (f"a: &a [x]\nb: &b [{'*a,' * 500}]\nc: &c [{'*b,' * 500}]\n", "a.yaml", "values, aliases written out"),
        ("x" * (MAX_TEXT + 1), "a.yaml", "the limit is 1000000"),
        ("# Title\n", "a.md", "a.md:1: id: is missing"),
        ("---\nid: x\n---\n", "a.md", "a.md:2: description: is missing"),
        ("---\nabout: x\n---\n\n\nMore.", "a.md", "a.md:6: 'about' stands in the front matter already (keep one"),
        ("---\n- x\n---\nMore.", "a.md", "a.md:2: the front matter must be a mapping"),
        ("---\nid: x\nwindow: 7\n---\nMore.", "a.md", "a.md:3: window: must be one of"),
        ("---\nid: [x\n---\nMore.", "a.md", "a.md:"),
        ("---\nid: x\n\nMore.", "a.md", "a.md:1: the front matter that starts here never ends (put a line `---` below"),
        ("---", "a.md", "a.md:1: the front matter that starts here never ends"),
        ("---\nabout: x\nwindow: 7\n---\nMore.", "a.md", "a.md:3: window: must be one of"),
        ('{\n"id": "x"\n"description": 1}', "a.json", "a.json:3: this is not JSON: expecting ',' delimiter (check"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(text: str, filename: str, finding: str) -> None:
    found = findings(text, filename)
    assert any(finding in one for one in found), found


def test_text_below_the_front_matter_needs_a_field() -> None:
    note = Record(fields={"id": Field(type="text")})
    protocol = _protocol("Note", Note=note)
    with refused("spec.invalid", "a.md:4: ", "'description'"):
        load_input(protocol, "---\nid: x\n---\nText.", "a.md")


def test_an_input_need_not_be_a_record() -> None:
    assert load_input(_protocol(""), "anything", "a.yaml") == Input("it", {}, Item("it", content_ref({})))
    assert load_input(_protocol("[text]"), "[a, b]", "a.yaml") == Input(
        "it", ["a", "b"], Item("it", content_ref(["a", "b"]))
    )
    note = Record(fields={"words": Field(type="[text]", route="value")})
    value: Json = {"words": ["a"]}
    assert load_input(_protocol("Note", Note=note), "words: [a]", "a.yaml") == Input(
        "it", value, Item("it", content_ref(value), {"words": 1})
    )


def _protocol(type_: str, **types: Record) -> Protocol:
    graph = Graph(start="s", ends={}, input=("it", type_), steps={"s": Step(kind="ask", after="x", over="in.y")})
    return Protocol(name="p", version="1", root="g", types=types, graphs={"g": graph})


@settings(max_examples=150)
@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from([*GOOD.splitlines(), "- ", "---", "? x", "a: *b", "&b"])).map("\n".join),
    st.sampled_from(["a.yaml", "a.json", "a.md"]),
)
def test_any_text_is_an_input_or_an_error_with_places(text: str, filename: str) -> None:
    with contextlib.suppress(ProtocolError):
        load_input(PROTOCOL, text, filename)
        return
    assert all(finding.startswith(filename) for finding in findings(text, filename))


# Items that wait for each other: names that exist, and no circles.


TASK = Record(fields={"id": Field(type="int"), "after": Field(type="[int]")})
SHOPS = Protocol(
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
    return [str(problem) for problem in soundness_problems(SHOPS, parse_type("Plan"), {"tasks": tasks})]


@given(st.dictionaries(st.integers(1, 9), st.lists(st.integers(0, 9)), min_size=1))
def test_items_that_wait_for_earlier_ones_are_sound(waits: dict[int, list[int]]) -> None:
    assert (
        faults({task: [other for other in waits if other < task and other in others] for task, others in waits.items()})
        == []
    )


@given(st.lists(st.integers(1, 9), min_size=1, unique=True), st.data())
def test_a_circle_is_the_only_fault_named(circle: list[int], data: st.DataObject) -> None:
    waits = {task: [circle[(at + 1) % len(circle)]] for at, task in enumerate(circle)}
    waits |= {task: [data.draw(st.sampled_from(circle))] for task in range(10, 13)}
    (found,) = faults(waits)
    start, _, rest = found.partition(" waits for itself: ")
    named = [int(name) for name in rest.partition(";")[0].split(" waits for ")]
    assert start == f"tasks[{list(waits).index(named[0])}].after:"
    assert named[0] == named[-1]
    assert sorted(named[1:]) == sorted(circle)
    assert all(other in waits[task] for task, other in pairwise(named))


def test_a_dependency_on_an_unknown_item_is_a_fault() -> None:
    (fault,) = faults({1: [], 2: [3]})
    assert fault.startswith("tasks[1].after: '3' ")
    assert " 1, 2;" in fault


STORY = "{id: US-2, title: t, description: d, blocked_by: [US-1]}"


def test_a_story_that_an_earlier_run_has_done_is_not_waited_for() -> None:
    words = ("project: shop\nstories: [" + STORY + "]\n", "backlog.yaml")
    found = load_input(load("waterfall"), *words, before=lambda key: "" if key == "US-1" else None)
    [story] = cast("Any", found.value)["stories"]
    assert (story["id"], story["blocked_by"]) == ("US-2", [])
    [item] = cast("Any", found.item.fields["stories"])
    assert item.fields == {"blocked_by": ()}, "nor by the run"
    with refused("spec.invalid", "stories[0].blocked_by: 'US-1' is under way"):
        load_input(load("waterfall"), *words, before=lambda _: "is under way")
    with refused("spec.invalid", "stories[0].blocked_by: 'US-1' ", "'US-2'"):
        load_input(load("waterfall"), *words, before=lambda _: None)


def test_a_list_that_must_not_be_empty() -> None:
    (fault,) = faults({})
    assert fault.startswith("tasks: is empty")


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
def test_a_backlog_needs_work_and_distinct_ids(given: str, expected: list[str]) -> None:
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
        ({"a": ["c"]}, ["modules[0].depends: 'c' is none of these items; choose from a, b"]),
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
    found = soundness_problems(protocol, parse_type("[Module]"), items)
    assert [f"modules{problem.where}: {problem.message}" for problem in found] == expected
