"""What an agent answers, on one line, in both spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import Code, is_clean, parse_code, quote_json, unquote_message

NAMES = st.sampled_from(["PC", "NEEDS_CHANGE", "P0C", "ACCEPT", "✅"])
MESSAGES = HOSTILE | HOSTILE.map(quote_json) | HOSTILE.map(quote_json).map(quote_json)


@given(NAMES, HOSTILE)
def test_a_message_that_cannot_stand_in_a_line_comes_back_from_its_quotation(name: str, message: str) -> None:
    quoted = quote_json(message)
    for line in (f"→[{name},{quoted}]", f"→{name}: {quoted}"):
        code = parse_code(line)
        assert code
        assert code.name == name
        assert code.message == message or (is_clean(message) and code.message == quoted)


@given(MESSAGES)
def test_any_text_parses_to_a_code_or_none(text: str) -> None:
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
def test_a_line_parses_to_its_code(line: str, code: Code | None) -> None:
    assert parse_code(line) == code


def test_a_needless_quotation_is_part_of_the_message() -> None:
    assert unquote_message(' "a\\n" ') == "a\n"
    assert unquote_message(' "a" ') == '"a"'
