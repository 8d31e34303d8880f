"""Ids are fit for branches, files and commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.protocol.answers.ids import MAX_ID, id_fault, id_of


@pytest.mark.parametrize("text", ["AC-1", "US-001", "REQ-102", "Σ", "σ₁", "AC#2", "ä_1.2", "_x", "x" * MAX_ID, "lock"])
def test_accepts(text: str) -> None:
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
def test_refuses(text: str, fault: str) -> None:
    assert fault in id_fault(text)


@given(st.text(max_size=20) | st.text(alphabet="aZ9_.#-", max_size=8))
def test_what_is_accepted_can_be_a_file_and_a_branch(text: str) -> None:
    if id_fault(text):
        return
    assert text.isprintable()
    assert not text.startswith(("-", "."))
    assert not text.endswith((".", ".lock"))
    assert ".." not in text
    assert not set(text) & set(" /\\~^:?*[@{'\"`$&|;<>!")


@given(st.text())
def test_of_every_text_an_id_can_be_made(text: str) -> None:
    assert id_fault(id_of(text)) == ""
    assert id_fault(text) or id_of(text) == text or text.startswith("#") or text[-1] in "#-"


def test_an_id_is_near_to_its_text() -> None:
    assert [id_of(it) for it in ("my shop: 1", "cart-app", "..", "a..b.lock")] == [
        "my-shop-1",
        "cart-app",
        "project",
        "project",
    ]
