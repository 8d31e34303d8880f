"""Values of the context in texts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.agents.placeholders import NAMES, faults, fill, fill_text
from treadle.errors import PortError
from treadle.protocol.items import Json

CONTEXT: dict[str, Json] = {"step": "tests", "attempt": 2, "spec": {"a b": [1, {"x": None}], "text": "{step}"}}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{step}", "tests"),
        ("<{attempt}>", "<2>"),
        ("{spec[a b][0]}-{spec[a b][1][x]}", "1-null"),
        ("{{step}} {{attempt}}", "{step} {attempt}"),
        ("{spec[text]}", "{step}"),  # what is filled in is not filled in again
        ("{unknown} {} {0} {step!r} { step }", "{unknown} {} {0} {step!r} { step }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
    ],
)
def test_a_text(text: str, filled: str) -> None:
    assert fill_text(text, CONTEXT) == filled


def test_a_value_keeps_its_type_where_it_stands_alone() -> None:
    value: Json = {"{step}": ["{spec[a b]}", "n={attempt}", "{attempt}", 7, None, "{{step}}"]}
    assert fill(value, CONTEXT) == {"tests": [[1, {"x": None}], "n=2", 2, 7, None, "{step}"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{role}", "finds no 'role' in the context"),
        ("{spec[txt]}", "did you mean 'text'?"),
        ("{spec[a b][2]}", "a list of 2, counted from 0"),
        ("{spec[a b][-1]}", "counted from 0"),
        ("{spec[text][0]}", "it has nothing below it"),
        ("{spec[__class__]}", "finds no '__class__'"),
    ],
)
def test_what_is_not_there_is_told(text: str, message: str) -> None:
    with pytest.raises(PortError, match=re.escape(message)):
        fill_text(text, CONTEXT)


@pytest.mark.parametrize("text", ["{spec.text}", "{spec[]}", "{spec[a}", "{spec[a].b}"])
def test_what_only_looks_like_a_placeholder_is_found(text: str) -> None:
    assert list(faults(f"x {text} y"))


@given(st.text(alphabet="{}[]ab step.", max_size=60))
def test_other_text_is_left_as_it_is(text: str) -> None:
    if not any(f"{{{name}" in text for name in NAMES):
        assert fill_text(text, CONTEXT) == text
        assert list(faults(text)) == []
