"""Texts inside of a line."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.prompts.foreign import inline
from treadle.protocol.lines.quoting import is_plain, quoted, said, unquoted

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
HOSTILE = TEXTS | st.text(st.sampled_from("\n\r\t\x00\x1b|,[]\"'\\→:=*`~ \u2028\u200b\U000e0041ℜaR1"))


@given(HOSTILE)
def test_what_is_quoted_comes_back(text: str) -> None:
    line = quoted(text)
    assert unquoted(line) == (text, len(line))
    assert unquoted(f"x{line}y", 1) == (text, len(line) + 1)


@given(HOSTILE)
def test_a_quotation_is_one_line_in_which_nothing_is_hidden(text: str) -> None:
    """So a prompt, which writes out what is hidden, leaves it as it is."""
    assert inline(f"x{quoted(text)}", 10**9) == f"x{quoted(text)}"


@given(HOSTILE, st.sampled_from(["", ",[]", "|"]))
def test_what_is_plain_stands_as_it_is(text: str, special: str) -> None:
    assert said(text, special) == (text if is_plain(text, special) else quoted(text))
    assert not (is_plain(text, special) and set(special) & set(text))


def test_what_is_no_quotation() -> None:
    assert unquoted("") is None
    assert unquoted("plain") is None
    assert unquoted('"open') is None
    assert unquoted('"\\x"') is None
    assert unquoted('"two\nlines"') is None
