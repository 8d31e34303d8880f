"""Lines that came in: whatever the bytes are, a text that every JSON parser takes, and a mark where they were none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.mcp.lines import readable
from treadle.memory.inputs import UNREADABLE


@given(st.recursive(st.text(st.characters(exclude_categories=["Cs"])), lambda inner: st.lists(inner, max_size=4)))
def test_what_is_text_is_left_alone(value: object) -> None:
    for ascii_only in (True, False):
        line = json.dumps(value, ensure_ascii=ascii_only).encode()
        assert readable(line) == line.decode()


@given(st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\\", "a", r"\n", r"\u00e9", r"\""]), max_size=8))
def test_no_half_of_a_character_is_left(parts: list[str]) -> None:
    line = f'"{"".join(parts)}"'
    value = json.loads(readable(line.encode()))
    value.encode()  # which no lone surrogate survives
    before = json.loads(line)
    assert (UNREADABLE in value) == any("\ud800" <= char <= "\udfff" for char in before)
    if UNREADABLE not in value:
        assert value == before


@pytest.mark.parametrize(
    ("line", "text"),
    [(b'"caf\xe9"', f'"caf{UNREADABLE}"'), (b"\xff\xfe", UNREADABLE * 2), (b'"\xed\xa0\x80"', f'"{UNREADABLE * 3}"')],
)
def test_bytes_that_are_no_text(line: bytes, text: str) -> None:
    assert readable(line) == text
