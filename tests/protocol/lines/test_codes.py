"""What an agent answers, on one line, in both spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import Code, parse_code, quote_json, render_code, unquote_message

NAMES = st.sampled_from(["PC", "NEEDS_CHANGE", "P0C", "ACCEPT", "✅"])
MESSAGES = HOSTILE | HOSTILE.map(quote_json) | HOSTILE.map(quote_json).map(quote_json)


@given(NAMES, MESSAGES, st.booleans())
def test_what_is_written_comes_back(name: str, message: str, bracketed: bool) -> None:
    code = Code(name, message, bracketed)
    assert len(render_code(code).splitlines()) == 1
    assert parse_code(render_code(code)) == code


@given(MESSAGES)
def test_whatever_is_read_there_is_a_result(text: str) -> None:
    assert isinstance(parse_code(text), Code | None)
    assert isinstance(parse_code(f"→{text}"), Code | None)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("→[PC,the plan, as | written → so]", Code("PC", "the plan, as | written → so")),
        ("→PC: the plan", Code("PC", "the plan", bracketed=False)),
        ("→[PA]", Code("PA")),
        ("→PA", Code("PA", bracketed=False)),
        ("→[NR,list[int] is wrong]", Code("NR", "list[int] is wrong")),
        ('→[NR,"first\\nsecond"]', Code("NR", "first\nsecond")),
        ("→NR: C:\\new\\table", Code("NR", "C:\\new\\table", bracketed=False)),
        ('→NR: "in quotation marks"', Code("NR", '"in quotation marks"', bracketed=False)),
        ("→[,x]", None),
        ("PC: x", None),
        ("→ a b", None),
    ],
)
def test_lines(line: str, code: Code | None) -> None:
    assert parse_code(line) == code


def test_a_message_stands_as_it_is_if_it_can() -> None:
    assert render_code(Code("PC", 'say "yes" | → [no]')) == '→[PC,say "yes" | → [no]]'
    assert render_code(Code("PC", "a\nb", bracketed=False)) == '→PC: "a\\nb"'
    assert unquote_message(' "a\\n" ') == "a\n"
