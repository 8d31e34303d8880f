"""The schema an agent sees: right, complete, and inside what model APIs accept."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.protocol.exits import EXITS, protocols
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.protocol.model import Exit, Field, Protocol, Record, Step

KEYWORDS = {
    "type", "description", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf",
    "$ref", "$defs",
}  # fmt: skip
TRACKER = Protocol(
    name="p",
    version="1",
    root="g",
    types={
        "Critique": Record(fields={"file": Field(type="path"), "line": Field(type="int?")}, help="One complaint."),
        "Unused": Record(fields={"id": Field(type="text")}),
    },
    exits={
        "Approved": Exit(fields={"commit": Field(type="text", by="git")}, help="Nothing is left to do."),
        "MoreTests": Exit(
            fields={
                "critiques": Field(type="[Critique]", help="What is wrong."),
                "worst": Field(type="Critique?", help="The worst one."),
                "level": Field(type="low | high?", also=("severity",)),
                "target": Field(type="path", help="Where."),
            }
        ),
    },
)


def test_an_answer_is_an_object_around_a_tagged_union() -> None:
    critique = {
        "description": "One complaint.",
        "type": "object",
        "properties": {
            "file": {"type": "string", "description": "A path relative to the root of the repository, with /."},
            "line": {"type": ["integer", "null"]},
        },
        "required": ["file"],
        "additionalProperties": False,
    }
    approved = {
        "description": "Nothing is left to do.",
        "type": "object",
        "properties": {"type": {"type": "string", "const": "Approved"}},
        "required": ["type"],
        "additionalProperties": False,
    }
    more = {
        "type": "object",
        "properties": {
            "type": {"type": "string", "const": "MoreTests"},
            "critiques": {
                "description": "What is wrong.",
                "type": "array",
                "items": {"$ref": "#/$defs/Critique"},
            },
            "worst": {
                "description": "The worst one.",
                "anyOf": [{"$ref": "#/$defs/Critique"}, {"type": "null"}],
            },
            "level": {"type": ["string", "null"], "enum": ["low", "high", None]},
            "target": {"description": "Where.", "type": "string"},
        },
        "required": ["type", "critiques", "target"],
        "additionalProperties": False,
    }
    assert schema(TRACKER, Step(kind="agent", exits=("Approved", "MoreTests"))) == {
        "type": "object",
        "properties": {
            "exit": {"description": "How this step ends: exactly one of these.", "anyOf": [approved, more]},
        },
        "required": ["exit"],
        "additionalProperties": False,
        "$defs": {"Critique": critique},
    }


def test_each_exit_has_its_tool() -> None:
    tools = tool_schemas(TRACKER, ("Approved", "MoreTests"))
    assert list(tools) == ["exit_Approved", "exit_MoreTests"]
    assert tools["exit_Approved"]["properties"] == {}
    assert tools["exit_Approved"]["description"] == "Nothing is left to do."
    assert list(tools["exit_MoreTests"]["properties"]) == ["critiques", "worst", "level", "target"]
    assert list(tools["exit_MoreTests"]["$defs"]) == ["Critique"]


def test_help_of_a_reference_stands_around_it() -> None:
    exit_ = Exit(fields={"worst": Field(type="Critique", help="The worst one.")})
    protocol = Protocol(name="p", version="1", root="g", types=TRACKER.types, exits={"Bad": exit_})
    tool = tool_schemas(protocol, ("Bad",))["exit_Bad"]
    assert tool["properties"]["worst"] == {"description": "The worst one.", "anyOf": [{"$ref": "#/$defs/Critique"}]}


def test_a_record_may_hold_itself() -> None:
    node = Record(fields={"id": Field(type="text"), "children": Field(type="[Node]")})
    protocol = Protocol(
        name="p", version="1", root="g", types={"Node": node}, exits={"Tree": Exit(fields={"top": Field(type="Node")})}
    )
    found = schema(protocol, ("Tree",))
    assert found["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    tree = {"id": "a", "children": [{"id": "b", "children": []}]}
    assert Draft202012Validator(found).is_valid({"exit": {"type": "Tree", "top": tree}})


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(protocols("path"), st.booleans())
def test_schemas_use_only_keywords_that_model_apis_accept(protocol: Protocol, strict: bool) -> None:
    documents = [schema(protocol, EXITS, strict=strict), *tool_schemas(protocol, EXITS, strict=strict).values()]
    for document in documents:
        Draft202012Validator.check_schema(document)
        assert document["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "not", "$ref"} & set(document)
        for part in subschemas(document):
            assert set(part) <= KEYWORDS
            assert "commit" not in part.get("properties", {})
            if "$ref" in part:
                assert set(part) == {"$ref"}
                assert part["$ref"].removeprefix("#/$defs/") in document["$defs"]
            if part.get("type") == "object":
                assert part["additionalProperties"] is False
                assert not strict or part["required"] == list(part["properties"])


def subschemas(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield part
    for group in ("properties", "$defs"):
        for inner in part.get(group, {}).values():
            yield from subschemas(inner)
    for inner in (*part.get("anyOf", ()), *([part["items"]] if "items" in part else ())):
        yield from subschemas(inner)


@pytest.mark.parametrize("given_", [{"low": 1}, None, "low"])
def test_an_enum_says_its_type(given_: object) -> None:
    fields = {"n": Field(type="1 | 2 | 0.5 | many")}
    protocol = Protocol(name="p", version="1", root="g", exits={"E": Exit(fields=fields)})
    found = tool_schemas(protocol, ("E",))["exit_E"]
    assert found["properties"]["n"] == {"type": ["integer", "number", "string"], "enum": [1, 2, 0.5, "many"]}
    assert not Draft202012Validator(found).is_valid({"n": given_})
