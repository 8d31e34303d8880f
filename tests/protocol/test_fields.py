"""The type notation: what it means, how it is written back, and what it says to those who mistype it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.fields import (
    SCALARS,
    BareType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarType,
    TypeExpr,
    TypeNotationError,
    agent_fields,
    bare,
    parse_type,
    record_of,
    type_fault,
)
from treadle.protocol.model import Exit, Field, Protocol, Step, exit_keys

TEXT = ScalarType("text")


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("text", TEXT),
        ("  path ", ScalarType("path")),
        ("text?", OptionalType(TEXT)),
        ("text ?", OptionalType(TEXT)),
        ("[text]", ListType(TEXT)),
        ("[ [int] ]", ListType(ListType(ScalarType("int")))),
        ("[Task]?", OptionalType(ListType(RecordType("Task")))),
        ("A|B", EnumType(("A", "B"))),
        ("low | high?", OptionalType(EnumType(("low", "high")))),
        ("[SKILL_ISSUE | end-to-end]", ListType(EnumType(("SKILL_ISSUE", "end-to-end")))),
        ("1 | 2 | 3", EnumType((1, 2, 3))),
        ("0.5 | 1.0 | -2 | none", EnumType((0.5, 1, -2, "none"))),
        ("texts", RecordType("texts")),
    ],
)
def test_a_type_is_parsed(text: str, expr: TypeExpr) -> None:
    assert parse_type(text) == expr
    assert type(parse_type(text)) is type(expr)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a type is missing", "text, int, number, bool, path"),
        ("?", "a type is missing", "write"),
        ("[]", "a type is missing", "write"),
        ("[text", "does not end with ]", "[T]"),
        ("text]", "is not a type", "write"),
        ("list[text]", "'list[text]' is not a type", "did you mean '[text]'?"),
        ("List<string>", "is not a type", "did you mean '[text]'?"),
        ("Task[]", "is not a type", "did you mean '[Task]'?"),
        ("two words", "is not a type", "write"),
        ("42", "is not a type", "write"),
        ("text??", "optional twice", "one `?`"),
        ("[text?]", "items of a list cannot be optional", "`[T]?`"),
        ("A | B | A", "'A' stands in the enum twice", "remove"),
        ("1 | 1.0", "'1' stands in the enum twice", "remove"),
        ("A | ", "cannot stand in an enum", "words"),
        ("A | [B]", "'[B]' cannot stand in an enum", "words"),
        ("A | 1e9", "cannot stand in an enum", "numbers"),
        ("[" * 30 + "text" + "]" * 30, "nested more than 8 deep", "record"),
        ("x" * 3000, "3000 characters", "record"),
    ],
)
def test_a_malformed_type_is_refused_with_a_hint(text: str, message: str, hint: str) -> None:
    with pytest.raises(TypeNotationError) as caught:
        parse_type(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[Task]?", ""),
        ("A | B", ""),
        ("text | none", ""),
        ("Tsak", "unknown type 'Tsak' (did you mean 'Task'?)"),
        ("[string]", "unknown type 'string' (did you mean 'text'?)"),
        ("Boolean?", "unknown type 'Boolean' (did you mean 'bool'?)"),
        ("Xyz", "unknown type 'Xyz' (describe it under `types`"),
        ("text | Task", "'text | Task' is a choice between types"),
        ("text??", "optional twice"),
    ],
)
def test_names_are_looked_up(text: str, fault: str) -> None:
    found = type_fault(text, {"Task", "Bug"})
    assert fault in str(found) if fault else found is None


words = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,12}", fullmatch=True)
numbers = st.integers(-(10**14), 10**14) | st.integers(-(10**8), 10**8).map(lambda n: n / 10_000)
enums = st.lists(words | numbers, min_size=2, max_size=6, unique=True).map(
    lambda values: EnumType(tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in values))
)
scalars = st.sampled_from(SCALARS).map(ScalarType)
records = words.filter(lambda word: word not in SCALARS).map(RecordType)
bares: st.SearchStrategy[BareType] = st.recursive(
    scalars | records | enums, lambda inner: inner.map(ListType), max_leaves=4
)
types: st.SearchStrategy[TypeExpr] = bares | bares.map(OptionalType)


@given(types)
def test_a_rendered_type_reads_back(expr: TypeExpr) -> None:
    assert parse_type(str(expr)) == expr


@given(st.text(alphabet="ab[]?| \n.-1", max_size=40) | st.text(max_size=40))
def test_any_text_is_a_type_with_one_canonical_form_or_an_error(text: str) -> None:
    fault = type_fault(text, ())
    if fault is not None:
        assert fault.message
        assert fault.hint
    else:
        assert str(parse_type(str(parse_type(text)))) == str(parse_type(text))


def test_canonical_enums_give_the_routing_keys() -> None:
    kind = str(parse_type("Skill|Loop ?"))
    protocol = Protocol(
        name="p", version="1", root="g", exits={"Stuck": Exit(fields={"kind": Field(type=kind)}, route_on="kind")}
    )
    assert exit_keys(protocol, Step(kind="agent", exits=("Stuck",))) == ("Stuck.Skill", "Stuck.Loop")


def test_views_of_a_type() -> None:
    assert bare(parse_type("[Task]?")) == ListType(RecordType("Task"))
    assert record_of(parse_type("[[Task]]?")) == "Task"
    assert record_of(parse_type("[text]")) == ""
    fields = {"commit": Field(type="text", by="git"), "why": Field(type="text?")}
    assert [(name, expr) for name, _, expr in agent_fields(fields)] == [("why", OptionalType(TEXT))]
