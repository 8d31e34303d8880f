"""What the kernel sees of a value: scalars, counts and items, and the address of the whole."""

import msgspec
import pytest
from hypothesis import given

from tests.protocol.exits import json_values
from treadle.protocol.answers.claim import routed_values
from treadle.protocol.items import Item, Json, Routed, content_ref, routed_fields
from treadle.protocol.model import Exit, Field, Protocol, Record, Routing


@pytest.mark.parametrize(
    ("type_", "route", "value", "seen"),
    [
        ("text", "value", "x", "x"),
        ("bool", "value", False, False),
        ("1 | 2", "value", 2, 2),
        ("[text]", "value", ["a", "b"], 2),
        ("[text]", "value", [], 0),
        ("[text]?", "value", None, None),
        ("[text]", "items", ["a", "b"], ("a", "b")),
        ("[int]", "items", [1, 2], ("1", "2")),
        ("[text]?", "items", None, None),
        ("[Task]", "items", [], ()),
        ("[Task]", "items", [{"id": "a", "size": 3, "note": "n"}], (Item("a", "ref", {"size": 3}),)),
        ("[Task]", "value", [{"id": "a"}], 1),
        ("Task", "value", {"id": "a"}, True),
    ],
)
def test_a_field_is_routed_as_value_count_or_items(type_: str, route: Routing, value: Json, seen: Routed) -> None:
    task = Record(
        fields={"id": Field(type="text"), "size": Field(type="int", route="value"), "note": Field(type="text")}
    )
    fields = {"it": Field(type=type_, route=route), "other": Field(type="text")}
    assert routed_fields({"Task": task}, fields, {"it": value, "other": "x"}, lambda _: "ref") == {"it": seen}


def test_items_survive_encoding() -> None:
    item = Item("a", "ref", {"n": 1, "x": 0.5, "t": "t", "no": None, "of": ("b", "c"), "in": (Item("b", "ref"),)})
    assert msgspec.json.decode(msgspec.json.encode(item), type=Item) == item


@given(json_values)
def test_an_address_depends_on_the_value_only(value: Json) -> None:
    again = msgspec.json.decode(msgspec.json.encode(value))
    assert content_ref(again) == content_ref(value)
    assert content_ref([value]) != content_ref(value)


def test_an_item_without_a_key_goes_by_its_position() -> None:
    exit_ = Exit(fields={"notes": Field(type="[Note]", route="items")})
    types = {"Note": Record(fields={"text": Field(type="text")})}
    protocol = Protocol(name="p", version="1", root="g", types=types, exits={"E": exit_})
    items = routed_values(protocol, "E", {"notes": [{"text": "x"}, {"text": "x"}]}, lambda _: "ref")["notes"]
    assert items == (Item("1", "ref"), Item("2", "ref"))


def test_equal_values_have_equal_addresses() -> None:
    assert content_ref({"b": 1, "a": "ä"}) == content_ref({"a": "ä", "b": 1})
    assert content_ref({"a": 1}) != content_ref({"a": True})
    assert content_ref(None) == "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"


def test_a_question_is_the_same_despite_case_blanks_and_signs() -> None:
    fields = {"what": Field(type="text", route="asked"), "more": Field(type="[text]?", route="asked")}
    first = routed_fields({}, fields, {"what": "Is `None` allowed?", "more": ["Why?", "How?"]})
    again = routed_fields({}, fields, {"what": "  is NONE\n allowed", "more": ["why how"]})
    assert first == again
    assert len(str(first["what"])) == 16
    assert routed_fields({}, fields, {"what": "Is None forbidden?"})["what"] != first["what"]
    assert routed_fields({}, fields, {"what": "?! …"}) == {"what": "", "more": None}
