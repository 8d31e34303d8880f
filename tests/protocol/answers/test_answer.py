"""An agent's answer: what is accepted, what is said about the rest, and what routing sees of it."""

import json
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.protocol.exits import EXITS, answers, json_values, protocols
from treadle.protocol.answers.claim import Claim, answer_from_tool, routed_values, validate, variant_of
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.protocol.answers.values import MAX_DEPTH, MAX_ITEMS, MAX_PROBLEMS, MAX_TEXT, ValueProblem
from treadle.protocol.items import Item, Json, content_ref
from treadle.protocol.load import load
from treadle.protocol.model import Exit, Field, Protocol, Record, Step

TYPES = {
    "Critique": Record(
        fields={
            "file": Field(type="path"),
            "line": Field(type="int?"),
            "kind": Field(type="bug | style", also=("type",)),
            "commit": Field(type="text", by="git"),
        }
    ),
    "Task": Record(
        fields={
            "id": Field(type="text"),
            "size": Field(type="1 | 2 | 3?", route="value"),
            "criteria": Field(type="[text]", route="value"),
            "blocked_by": Field(type="[text]?", route="items"),
            "parts": Field(type="[Task]?", route="items"),
            "note": Field(type="text?"),
        }
    ),
}
PROTOCOL = Protocol(
    name="p",
    version="1",
    root="g",
    types=TYPES,
    exits={
        "Approved": Exit(fields={"commit": Field(type="text", by="git")}),
        "MoreTests": Exit(
            fields={"critiques": Field(type="[Critique]", also=("complaints",), route="value")}, also=("NeedsTests",)
        ),
        "Stuck": Exit(
            fields={"variant": Field(type="SkillCeiling | InfiniteLoop", route="value"), "why": Field(type="text")},
            route_on="variant",
        ),
        "Planned": Exit(
            fields={
                "tasks": Field(type="[Task]", route="items"),
                "done": Field(type="bool?", route="value"),
                "share": Field(type="number?", route="value"),
                "first": Field(type="Task?", route="value"),
                "attempts": Field(type="int", by="kernel", route="value"),
                "story": Field(type="text"),
            }
        ),
        "Elsewhere": Exit(),
    },
)
STEP = Step(kind="agent", exits=("Approved", "MoreTests", "Stuck", "Planned"))


def claim(**fields: Any) -> Claim | tuple[ValueProblem, ...]:
    return validate(PROTOCOL, STEP, {"exit": fields})


def said(result: Claim | tuple[ValueProblem, ...]) -> list[str]:
    assert isinstance(result, tuple), result
    return [str(problem) for problem in result]


def test_a_claim_has_every_field_under_its_own_name() -> None:
    found = claim(type="NeedsTests", complaints=[{"file": "./src//a.py", "line": 3.0, "type": "bug"}])
    critique: Json = {"file": "src/a.py", "line": 3, "kind": "bug", "commit": None}
    assert found == Claim("MoreTests", "", {"critiques": [critique]})
    assert isinstance(found, Claim)
    assert '"line": 3,' in json.dumps(found.fields)
    assert found.key == "MoreTests"


def test_an_enum_refines_the_routing_key() -> None:
    found = claim(type="Stuck", variant="InfiniteLoop", why="")
    assert isinstance(found, Claim)
    assert (found.variant, found.key) == ("InfiniteLoop", "Stuck.InfiniteLoop")
    assert variant_of(PROTOCOL, "Stuck", {"variant": None}) == ""
    assert variant_of(PROTOCOL, "Approved", {}) == ""


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, 'the answer must be an object, not null; write {"exit": {"type": "NAME", …}}'),
        ([], "the answer must be an object, not a list"),
        ({}, 'exit: is missing; write {"exit"'),
        ({"type": "Approved"}, "exit: is missing"),
        ({"exit": '{"type": "Approved"}'}, "give it as it is, not as JSON in quotes"),
        ({"exit": []}, "exit: must be an object, not a list"),
        ({"exit": {}}, "exit.type: is missing; this step ends with Approved or MoreTests or Stuck or Planned"),
        ({"exit": {"type": 7}}, "exit.type: must name the exit, not be a number"),
        ({"exit": {"type": "Aproved"}}, "exit.type: 'Aproved' is not an exit; did you mean 'Approved'? this step ends"),
        ({"exit": {"type": "Elsewhere"}}, "exit.type: Elsewhere is not an exit of this step; this step ends with"),
        ({"exit": {"type": "x" * 5000}}, "is not an exit"),
        ({"exit": {"type": "Approved"}, "note": 1}, "note: does not belong here"),
        (
            {"exit": {"type": "Approved", "commit": "abc"}},
            "exit.commit: is computed (git), not asked for; leave it out",
        ),
        ({"exit": {"type": "Approved", "a": 1}}, "exit.a: is not a field here; there are no fields; leave it out"),
    ],
)
def test_a_wrong_shape(answer: object, problem: str) -> None:
    assert any(text.startswith(problem) or problem in text for text in said(validate(PROTOCOL, STEP, answer)))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"variant": "InfiniteLoop"}, "exit.why: is missing; it must be text"),
        ({"variant": "[InfiniteLoop]", "why": ""}, "not '[InfiniteLoop]'; write InfiniteLoop, and nothing around it"),
        ({"variant": ["InfiniteLoop"], "why": ""}, "not a list; write InfiniteLoop, without brackets"),
        ({"variant": "InfiniteLop", "why": ""}, "one of SkillCeiling, InfiniteLoop, not 'InfiniteLop'; did you mean"),
        ({"variant": True, "why": ""}, "exit.variant: must be one of SkillCeiling, InfiniteLoop, not true"),
        ({"variant": "InfiniteLoop", "why": 7}, "exit.why: must be text, not a number; put it in quotes"),
        ({"variant": "InfiniteLoop", "why": None}, "exit.why: must be text, not null"),
        (
            {"variant": "InfiniteLoop", "why": "", "reason": ""},
            "exit.reason: is not a field here; the fields are variant",
        ),
        ({"variant": "InfiniteLoop", "whi": ""}, "exit.whi: is not a field here; did you mean 'why'?"),
        ({"variant": "InfiniteLoop", "why": "x" * (MAX_TEXT + 1)}, "the limit is 1000000"),
        ({"variant": "InfiniteLoop", "why": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_a_wrong_field(fields: dict[str, object], problem: str) -> None:
    assert any(problem in text for text in said(claim(type="Stuck", **fields)))


def critique(**change: object) -> dict[str, object]:
    return {"file": "a.py", "kind": "bug", **change}


@pytest.mark.parametrize(
    ("critiques", "problem"),
    [
        ({}, "exit.critiques: must be a list, not an object"),
        ([critique(), "b.py"], "exit.critiques[1]: must be an object, not 'b.py'"),
        ([critique(line=1.5)], "exit.critiques[0].line: must be a whole number, not 1.5"),
        ([critique(line=True)], "exit.critiques[0].line: must be a whole number, not true"),
        ([critique(line=float("nan"))], "must be a whole number, not nan"),
        ([critique(line=10**400)], "exit.critiques[0].line: is out of range"),
        ([critique(line=1e300)], "exit.critiques[0].line: is out of range"),
        ([critique(type="bug")], "exit.critiques[0].type: is the same field as 'kind'; give it once"),
        ([critique()] * (MAX_ITEMS + 1), "has 10001 items"),
        ([critique(file="/etc/passwd")], "exit.critiques[0].file: the path '/etc/passwd' is absolute"),
        ([critique(file="\x1b[2J")], r"the path '\x1b[2J' holds a control character"),
    ],
)
def test_a_wrong_record(critiques: object, problem: str) -> None:
    assert any(problem in text for text in said(claim(type="MoreTests", critiques=critiques)))


@pytest.mark.parametrize("share", [float("nan"), float("inf"), -float("inf"), 2**63, -(10**400)])
def test_numbers_that_cannot_be_stored(share: float) -> None:
    (problem,) = said(plan(share=share))
    assert problem.startswith("exit.share: ")
    assert "range" in problem


def test_names_must_be_text() -> None:
    exit_ = Exit(fields={"null": Field(type="text?"), "path": Field(type="path?"), "level": Field(type="int?")})
    protocol = Protocol(name="p", version="1", root="g", exits={"E": exit_})
    answer = {"exit": {"type": "E", None: "x", "path": 5, "level": None}}
    name, path = said(validate(protocol, ["E"], answer))
    assert name.startswith("exit: has null ")
    assert path.startswith("exit.path: ")
    assert "a path" in path


def test_the_number_of_problems_is_limited() -> None:
    assert len(said(claim(type="MoreTests", critiques=[7] * 1000))) == MAX_PROBLEMS


def plan(*tasks: dict[str, object], **more: object) -> Claim | tuple[ValueProblem, ...]:
    return claim(type="Planned", story="", tasks=[{"criteria": [], **task} for task in tasks], **more)


def test_keys_identify_one_item() -> None:
    problems = said(plan({"id": "a"}, {"id": "b"}, {"id": "a"}))
    assert [line for line in problems if line.startswith("exit.tasks[2].id: 'a'") and "[0]" in line]


def test_keys_of_routed_items_are_ids() -> None:
    fault = "'a b' cannot be an id; use up to 100 letters, digits, _ . # and -, a letter or digit first"
    assert said(plan({"id": "a b"})) == [f"exit.tasks[0].id: {fault}"]
    assert len(said(plan({"id": ""}))) == 1
    assert isinstance(plan({"id": "US-001"}), Claim)


def test_a_key_that_is_a_path_obeys_the_rules_of_paths() -> None:
    types = {"Part": Record(fields={"file": Field(type="path")}, key="file")}
    exit_ = Exit(fields={"parts": Field(type="[Part]", route="items")})
    protocol = Protocol(name="p", version="1", root="g", types=types, exits={"E": exit_})

    def parts(file: str) -> Claim | tuple[ValueProblem, ...]:
        return validate(protocol, ["E"], {"exit": {"type": "E", "parts": [{"file": file}]}})

    assert isinstance(parts("src/a.py"), Claim)
    assert said(parts("../a.py"))


def test_paths_that_are_kept_apart() -> None:
    place = Record(fields={"src": Field(type="path"), "test": Field(type="path?")}, apart=("src", "test"))
    exit_ = Exit(fields={"where": Field(type="Place")})
    protocol = Protocol(name="p", version="1", root="g", types={"Place": place}, exits={"E": exit_})

    def where(**paths: str) -> Claim | tuple[ValueProblem, ...]:
        return validate(protocol, ["E"], {"exit": {"type": "E", "where": paths}})

    assert isinstance(where(src="src/a", test="tests/a"), Claim)
    assert isinstance(where(src="src/a"), Claim)
    (problem,) = said(where(src="src/a", test="./src//a/"))
    assert problem.startswith("exit.where.test: 'src/a' ")
    assert "same as src" in problem
    assert len(said(where(src="/", test="a"))) == 1


def test_a_record_that_holds_itself_has_a_depth() -> None:
    task: dict[str, Any] = {"id": "a", "criteria": []}
    for _ in range(MAX_DEPTH):
        task = {"id": "a", "criteria": [], "parts": [task]}
    assert any(f"nested more than {MAX_DEPTH}" in text for text in said(plan(task)))


def test_routing_sees_only_declared_fields() -> None:
    inner = {"id": "b", "criteria": ["x", "y"], "blocked_by": [], "size": 2}
    found = plan({"id": "a", "criteria": ["x"], "blocked_by": ["c", "d"], "parts": [inner], "note": "n"}, done=False)
    assert isinstance(found, Claim)
    values = {**found.fields, "attempts": 3}
    (task,) = cast("list[Any]", found.fields["tasks"])
    part = Item("b", content_ref(task["parts"][0]), {"size": 2, "criteria": 2, "blocked_by": (), "parts": None})
    item = Item("a", content_ref(task), {"size": None, "criteria": 1, "blocked_by": ("c", "d"), "parts": (part,)})
    assert routed_values(PROTOCOL, "Planned", values) == {
        "tasks": (item,),
        "done": False,
        "share": None,
        "first": None,
        "attempts": 3,
    }
    assert routed_values(PROTOCOL, "Planned", {}) == dict.fromkeys(("tasks", "done", "share", "first", "attempts"))
    assert routed_values(PROTOCOL, "Planned", {"first": {"id": "a"}})["first"] is True


def test_the_caller_says_where_items_lie() -> None:
    found = routed_values(PROTOCOL, "Planned", {"tasks": [{"id": "a"}]}, json.dumps)
    assert found["tasks"] == (
        Item("a", '{"id": "a"}', {"size": None, "criteria": None, "blocked_by": None, "parts": None}),
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_validation_accepts_exactly_the_answers_that_the_schema_accepts(data: st.DataObject) -> None:
    protocol = data.draw(protocols())
    answer = data.draw(answers(protocol))
    result = validate(protocol, EXITS, answer)
    assert isinstance(result, Claim) == Draft202012Validator(schema(protocol, EXITS)).is_valid(answer), result


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_an_accepted_answer_fits_the_schema_and_becomes_canonical(data: st.DataObject) -> None:
    protocol = data.draw(protocols("path"))
    answer = data.draw(answers(protocol))
    result = validate(protocol, EXITS, answer)
    if isinstance(result, Claim):
        assert Draft202012Validator(schema(protocol, EXITS)).is_valid(answer)
        assert set(result.fields) == set(protocol.exits[result.exit].fields)
        assert content_ref(result.fields)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_tool_call_is_an_answer(data: st.DataObject) -> None:
    protocol = data.draw(protocols())
    answer = data.draw(
        answers(protocol).filter(lambda a: isinstance(a.get("exit"), dict) and a["exit"].get("type") == "Done")
    )
    arguments = {key: value for key, value in answer["exit"].items() if key != "type"}
    fits = Draft202012Validator(tool_schemas(protocol, EXITS)["exit_Done"]).is_valid(arguments)
    assert fits == isinstance(validate(protocol, EXITS, answer_from_tool("exit_Done", arguments)), Claim)


def nest(value: object, depth: int, key: str = "") -> object:
    for _ in range(depth):
        value = {key: value} if key else [value]
    return value


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_an_answer_may_be_nested_deeper_than_the_interpreter_goes(depth: int) -> None:
    for value in (nest([], depth), nest({}, depth, "parts"), nest({}, depth, "exit")):
        assert said(validate(PROTOCOL, STEP, value))
        assert said(validate(PROTOCOL, STEP, {"exit": value}))
        assert said(claim(type="Planned", story=value, tasks=value, more=value))


def test_an_answer_may_be_huge() -> None:
    text = "x" * 20_000_000
    assert said(validate(PROTOCOL, STEP, text))
    assert said(claim(type=text))
    for problem in said(claim(**{"type": "Stuck", "variant": text, "why": text, text: text})):
        assert len(problem) < 1000


def test_an_answer_may_have_any_number_of_fields() -> None:
    strangers = {f"field{number}": None for number in range(300_000)}
    assert len(said(claim(type="Stuck", **strangers))) == MAX_PROBLEMS


hostile: st.SearchStrategy[Any] = st.one_of(
    json_values,
    st.floats(),
    st.integers(10**4000, 10**4001),
    st.text(st.characters(categories=["Cs", "Cc", "Zl"]), max_size=9),
    st.sampled_from(
        [b"bytes", (1, 2), {1: 2}, {None: 1, (): 2}, object(), {1, 2}, int, nest([], 5000), nest({}, 5000, "parts")]
    ),
)


@settings(max_examples=200)
@given(
    st.sampled_from(["exit", "type", "tasks", "story", "share", "inside"]),
    hostile,
    st.text(max_size=5) | st.sampled_from(["commit", "tasks", "constructor"]),
)
def test_hostile_fields_give_a_claim_or_problems(where: str, value: object, name: str) -> None:
    task = {"id": "a", "criteria": [], **({name: value, "size": value, "parts": value} if where == "inside" else {})}
    exit_ = {
        "type": "Planned",
        "story": "",
        "tasks": [task],
        **({where: value} if where != "exit" else {}),
        name: value,
    }
    result = validate(PROTOCOL, STEP, value if where == "exit" else {"exit": exit_})
    if isinstance(result, Claim):
        content_ref(result.fields)
    else:
        assert result
        assert all(len(str(problem).encode()) < 2000 and str(problem).isprintable() for problem in result)


@settings(max_examples=100)
@given(hostile)
def test_a_hostile_exit_gives_problems(value: object) -> None:
    assert isinstance(validate(PROTOCOL, STEP, {"exit": value}), tuple)
    assert isinstance(validate(PROTOCOL, STEP, {"exit": {"type": value}, "x": value}), tuple)


def test_another_name_of_an_exit_fills_in_its_field() -> None:
    dptr = load("dptr")
    bare = validate(dptr, ("Reviewed",), {"exit": {"type": "DF", "report": "r"}})
    assert isinstance(bare, Claim)
    assert (bare.exit, bare.fields["validation"], bare.fields["quality"]) == ("Reviewed", "DF", None)
    both = validate(dptr, ("Reviewed",), {"exit": {"type": "VC", "validation": "DF", "quality": "QP", "report": "r"}})
    assert isinstance(both, Claim)
    assert (both.fields["validation"], both.fields["quality"]) == ("DF", "QP"), "what is said at length counts"
