"""JSON from strangers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.results.faulty import Faulty
from treadle.results.strict_json import MAX_ANSWER, MAX_DEPTH, decode


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not JSON: expecting value (line 1, column 1)"),
        (b"{'a': 1}", "is not JSON"),
        (b'{"a": \xff}', "is not UTF-8 (byte 6)"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"x": {"a": 1, "b": 2, "a": 3}}', "'a' stands twice"),
        (b"[" * 100_000, "nested more than 64"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested more than 64"),
        (b"9" * 5000, "is not acceptable JSON"),
        (b" " * (MAX_ANSWER + 1), f"the limit is {MAX_ANSWER}"),
    ],
)
def test_what_is_refused(data: bytes, said: str) -> None:
    found = decode(data, "it")
    assert isinstance(found, Faulty)
    assert said in found.problems[0]


def test_the_deepest_that_is_taken() -> None:
    assert isinstance(decode(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, "it"), list)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert decode(b'\xef\xbb\xbf{"a": 1}', "it") == {"a": 1}


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_all_other_json_is_what_it_says(value: Any) -> None:
    assert decode(json.dumps(value).encode(), "it") == value


@given(st.binary())
def test_whatever_the_bytes_are_there_is_a_result(data: bytes) -> None:
    decode(data, "it")
