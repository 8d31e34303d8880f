"""Foreign values: ids, canonical forms, and the sentences about what is wrong with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.answers.values import (
    MAX_ID,
    ValuePath,
    ValueProblem,
    ValueReader,
    describe_value,
    id_fault,
    id_of,
    printable,
)
from treadle.protocol.fields import parse_type
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Record

# Values held against types, one by one.


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
    reading = ValueReader(TYPES)
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
def test_an_invalid_value_has_its_problem(type_: str, value: object, problem: str) -> None:
    reading = ValueReader(TYPES)
    reading.value(parse_type(type_), value, ())
    (found,) = reading.problems
    assert problem in str(found)


# Ids are fit for branches, files and commands.


@pytest.mark.parametrize("text", ["AC-1", "US-001", "REQ-102", "Σ", "σ₁", "AC#2", "ä_1.2", "_x", "x" * MAX_ID, "lock"])
def test_valid_ids_are_accepted(text: str) -> None:
    assert id_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "a letter or digit first"),
        ("-rf --", "a letter or digit first"),
        (".hidden", "a letter or digit first"),
        ("a b", "cannot be an id"),
        ("a/b", "cannot be an id"),
        ("a\\b", "cannot be an id"),
        ("k~2", "cannot be an id"),
        ("a..b", "must not hold .."),
        ("a.", "end with . or .lock"),
        ("a.Lock", "end with . or .lock"),
        ("a\u202eb", "cannot be seen"),
        ("a\n", "cannot be seen"),
        ("a\u00a0b", "cannot be seen"),
        ("x" * (MAX_ID + 1), "has 101 characters, the limit is 100"),
        ("漢" * MAX_ID, "has 300 bytes, which is too long for the name of a file"),
    ],
)
def test_invalid_ids_are_refused(text: str, fault: str) -> None:
    assert fault in id_fault(text)


@given(st.text(max_size=20) | st.text(alphabet="aZ9_.#-", max_size=8))
def test_a_valid_id_is_a_safe_name_of_files_and_branches(text: str) -> None:
    if id_fault(text):
        return
    assert text.isprintable()
    assert not text.startswith(("-", "."))
    assert not text.endswith((".", ".lock"))
    assert ".." not in text
    assert not set(text) & set(" /\\~^:?*[@{'\"`$&|;<>!")


@given(st.text())
def test_every_text_can_be_made_an_id(text: str) -> None:
    assert id_fault(id_of(text)) == ""
    assert id_fault(text) or id_of(text) == text or text.startswith("#") or text[-1] in "#-"


def test_an_id_is_near_to_its_text() -> None:
    assert [id_of(it) for it in ("my shop: 1", "cart-app", "..", "a..b.lock")] == [
        "my-shop-1",
        "cart-app",
        "project",
        "project",
    ]


# Problems quote foreign text safely.


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "is bad"),
        (("exit",), "exit: is bad"),
        (("exit", "tests", 2, "line"), "exit.tests[2].line: is bad"),
        ((0, "a"), "[0].a: is bad"),
        (("a\x1b[2J",), r"a\x1b[2J: is bad"),
    ],
)
def test_a_path_is_written_as_people_do(path: ValuePath, text: str) -> None:
    assert str(ValueProblem(path, "is bad")) == text


@given(st.text(st.characters()))
def test_foreign_text_is_short_and_printable(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert len(shown) <= 60 * len(r"\U0001f600")
    if text.isprintable() and len(text) <= 60:
        assert shown == text


def test_a_kind_never_shows_the_inside() -> None:
    cyclic: list[object] = []
    cyclic.append(cyclic)
    assert describe_value(cyclic) == "a list"
    assert describe_value({"a": cyclic}) == "an object"
    assert describe_value(10**5000) == "a number"
    assert describe_value(describe_value) == "a value of type function"
