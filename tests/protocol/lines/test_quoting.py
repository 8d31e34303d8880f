"""Texts inside of a line."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.prompts.foreign import inline
from treadle.protocol.agent_lines import quote_if_needed, quote_json, read_quoted

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
HOSTILE = TEXTS | st.text(st.sampled_from("\n\r\t\x00\x1b|,[]\"'\\→:=*`~ \u2028\u200b\U000e0041ℜaR1"))


@given(HOSTILE)
def test_a_quoted_text_reads_back(text: str) -> None:
    line = quote_json(text)
    assert read_quoted(line) == (text, len(line))
    assert read_quoted(f"x{line}y", 1) == (text, len(line) + 1)


@given(HOSTILE)
def test_a_quoted_text_is_one_line_without_hidden_characters(text: str) -> None:
    """So a prompt, which writes out what is hidden, leaves it as it is."""
    assert inline(f"x{quote_json(text)}", 10**9) == f"x{quote_json(text)}"


@given(HOSTILE, st.sampled_from(["", ",[]", "|"]))
def test_a_plain_text_is_not_quoted(text: str, special: str) -> None:
    shown = quote_if_needed(text, special)
    assert shown in (text, quote_json(text))
    assert shown != text or not set(special) & set(text)
    assert shown == text or set(text) - set("ab c1") or text != text.strip() or not text


def test_a_malformed_quotation_is_none() -> None:
    assert read_quoted("") is None
    assert read_quoted("plain") is None
    assert read_quoted('"open') is None
    assert read_quoted('"\\x"') is None
    assert read_quoted('"two\nlines"') is None
