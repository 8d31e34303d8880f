"""Foreign text stays data: it can neither leave its fence nor make structure where it stands in a sentence."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.prompts.foreign import CLOSE, MARK, OPEN, PERSON, Word, cut, fenced, inline, quoted, visible
from treadle.protocol.items import Json

HOSTILE = st.text(alphabet=st.sampled_from("`~#>-= \t\n\r\x1b\x00\x02\x03\u202e\u2028aé{%}[]<!"), max_size=80)


def lines_inside(text: str) -> tuple[str, list[str]]:
    """The fence of a fenced text, and the lines between its marks."""
    assert text.startswith(OPEN)
    assert text.endswith(CLOSE)
    opening, *inside, closing = text[1:-1].split("\n")
    assert opening.rstrip("`") == "" or opening.endswith((MARK, PERSON))
    fence = opening[: len(opening) - len(opening.lstrip("`"))]
    assert closing == fence
    return fence, inside


@given(HOSTILE)
def test_no_line_inside_ends_the_fence(text: str) -> None:
    fence, inside = lines_inside(fenced(text))
    assert not any(fence in line for line in inside)
    assert not any(mark in "".join(inside) for mark in (OPEN, CLOSE, "\x1b", "\u202e", "\u2028"))


@given(HOSTILE)
def test_every_line_that_people_read_as_quoted_is_marked(text: str) -> None:
    shown = quoted(text)
    assert (shown[:1], shown[-1:]) == (OPEN, CLOSE)
    lines = shown[1:-1].split("\n")
    assert all(line == ">" or line.startswith("> ") for line in lines)
    assert all(char.isprintable() or char == "\t" for line in lines for char in line)


@given(HOSTILE)
def test_inside_of_a_sentence_a_text_makes_no_structure(text: str) -> None:
    shown = inline(text)
    assert "\n" not in shown
    assert "```" not in shown
    assert "~~~" not in shown
    assert not re.match(r"\s*(#{1,6}(\s|$)|>|[-=]+\s*$|<[!a-z])", shown)
    assert shown.isprintable() or "\t" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\r\nb\rc\nd", "a ⏎ b ⏎ c ⏎ d"),
        ("## Ways out", "\\## Ways out"),
        ("#12", "#12"),
        ("```sh", "\\`\\`\\`sh"),
        ("a `b` c", "a `b` c"),
        ("---", "\\---"),
        ("<!-- hidden -->", "\\<!-- hidden -->"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\u202eb\ufeffc\U000e0041d", "a⟨U+202E⟩b⟨U+FEFF⟩c⟨U+E0041⟩d"),
        ("\x7f\x9b", "␡⟨U+009B⟩"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        (None, "none"),
        (True, "true"),
        (2.5, "2.5"),
        (["a", {"b": None}], '["a", {"b": null}]'),
    ],
)
def test_values_are_escaped_inside_a_sentence(text: Json, shown: str) -> None:
    assert inline(text) == shown


def test_a_long_value_is_cut_and_says_so() -> None:
    assert cut("abcdef", 4) == "abcd [cut: 2 more characters]"
    assert inline("x" * 1_000_000).endswith("[cut: 990000 more characters]")
    assert len(fenced("x" * 1_000_000)) < 61_000
    assert "[cut: 940000 more characters]" in fenced("x" * 1_000_000)


def test_a_fence_does_not_grow_without_bounds() -> None:
    text = fenced("`" * 1_000_000)
    assert "⟨60000 × `⟩" in text
    assert len(text) < 200


def test_values_that_are_no_texts_are_fenced_as_json() -> None:
    _, inside = lines_inside(fenced({"why": "```"}))
    assert inside == ["{", '  "why": "```"', "}"]
    assert lines_inside(fenced(None))[1] == ["(nothing)"]


def test_a_persons_words_are_not_called_mere_data() -> None:
    assert PERSON in fenced(Word("do this"))
    assert MARK in fenced("do this")


def test_line_ends_are_those_of_unix() -> None:
    assert visible("a\r\nb\tc") == "a\nb\tc"
