"""What is written as TOML is read back as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.agents.toml_text import toml_text

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, VALUES, max_size=6))
def test_every_value_comes_back(data: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(data)) == data


@pytest.mark.parametrize(
    ("data", "written"),
    [
        ({"a": None, "b": {"c": None, "d": 1}}, "b = {d = 1}\n"),
        ({"half": "\ud800"}, 'half = "?"\n'),
        ({"a.b": ("x", True)}, '"a.b" = ["x", true]\n'),
    ],
)
def test_what_toml_has_no_word_for(data: dict[str, Any], written: str) -> None:
    assert toml_text(data) == written
