"""Values held against types, one by one."""

import pytest

from treadle.protocol.answers.values import Reading
from treadle.protocol.fields import parse_type
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Record

TYPES = {
    "Task": Record(
        fields={
            "id": Field(type="text", also=("name",)),
            "name2": Field(type="text?", also=("id", "title")),
            "done": Field(type="bool", by="tests"),
        }
    )
}


@pytest.mark.parametrize(
    ("type_", "value", "canonical"),
    [
        ("text", "", ""),
        ("text", "line\n\0😀", "line\n\0😀"),
        ("text?", None, None),
        ("int", -3, -3),
        ("int", 2.0, 2),
        ("int", 2**63 - 1, 2**63 - 1),
        ("number", 3, 3),
        ("number", 1e300, 1e300),
        ("bool", False, False),
        ("path", "./a//b/", "a/b"),
        ("1 | 0.5 | many", 1.0, 1),
        ("1 | 0.5 | many", "many", "many"),
        ("[int]", [1, 2.0], [1, 2]),
        ("[[text]]", [["a"], []], [["a"], []]),
        ("Task", {"id": "a"}, {"id": "a", "name2": None, "done": None}),
        ("Task", {"name": "a", "title": "b"}, {"id": "a", "name2": "b", "done": None}),
        ("[Task]?", [{"id": "a"}], [{"id": "a", "name2": None, "done": None}]),
    ],
)
def test_the_canonical_form(type_: str, value: object, canonical: Json) -> None:
    reading = Reading(TYPES)
    found = reading.value(parse_type(type_), value, ())
    assert reading.problems == []
    assert found == canonical
    assert type(found) is type(canonical)


@pytest.mark.parametrize(
    ("type_", "value", "problem"),
    [
        ("text", None, "must be text, not null"),
        ("text", b"x", "must be text, not a value of type bytes"),
        ("int", "3", "must be a whole number, not '3'"),
        ("int", True, "must be a whole number, not true"),
        ("int", 2**63, "is out of range"),
        ("number", "x" * 100, "must be a number, not '" + "x" * 59 + "…'"),
        ("bool", 1, "must be true or false, not a number"),
        ("bool", "yes", "must be true or false, not 'yes'"),
        ("path", {}, "must be a path, not an object"),
        ("path", "", "the path '' is empty"),
        ("1 | 2", True, "must be one of 1, 2, not true"),
        ("1 | 2", "1", "must be one of 1, 2, not '1'; write it without quotes"),
        ("A | B", ["A"], "must be one of A, B, not a list"),
        ("[int]", {"0": 1}, "must be a list, not an object"),
        ("[int]", (1, 2), "must be a list, not a value of type tuple"),
        ("[int]", [1, None], "[1]: must be a whole number, not null"),
        ("Task", '{"id": "a"}', "give it as it is, not as JSON in quotes"),
        ("Task", {}, "id: is missing; it must be text"),
        ("Task", {"id": "a", "name": "b"}, "name: is the same field as 'id'; give it once"),
        ("Task", {"id": "a", "done": None}, "done: is computed (tests), not asked for; leave it out"),
    ],
)
def test_the_problem(type_: str, value: object, problem: str) -> None:
    reading = Reading(TYPES)
    reading.value(parse_type(type_), value, ())
    (found,) = reading.problems
    assert problem in str(found)
