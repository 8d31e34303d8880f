"""What an agent is told, on one line, in both spellings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import LETTERS, ContextPart, Parameters, Spelling, parse_parameters, render_parameters

NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True)
PARTS = st.builds(ContextPart, NAMES | st.just(""), HOSTILE, st.booleans())
LINES = st.builds(
    Parameters, st.dictionaries(st.sampled_from(LETTERS), HOSTILE), st.lists(PARTS).map(tuple), HOSTILE | st.just("")
)
SPELLINGS = st.sampled_from(["colon", "bare"])


def meant(found: Parameters | None) -> tuple[object, ...]:
    """Whatever of it was quoted."""
    assert found is not None
    return found.letters, [(part.key, part.value) for part in found.context], found.agent


@given(LINES, SPELLINGS)
def test_what_is_written_comes_back(parameters: Parameters, spelling: Spelling) -> None:
    line = render_parameters(parameters, spelling)
    assert len(line.splitlines()) == 1
    assert meant(parse_parameters(line)) == meant(parameters)
    found = parse_parameters(line)
    assert found
    assert render_parameters(found, spelling) == line


@given(HOSTILE | st.text(st.sampled_from('[]S:R,CTX"\\= a')))
def test_whatever_is_read_there_is_a_result(text: str) -> None:
    assert isinstance(parse_parameters(f"[S:{text}"), Parameters | None)
    assert isinstance(parse_parameters(text), Parameters | None)


CYCLE = Parameters(
    {"S": "TDD_1_C2", "R": "1", "C": "2", "P": "ℜᶠᵗ"},
    (
        ContextPart("design", "/d.md"),
        ContextPart("interface", 'def f(a: list[int], sep: str = ",") -> str', quoted=True),
    ),
)


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        ("[]", Parameters()),
        ("[CTX:module=/memory-bank/modules/a]", Parameters({}, (ContextPart("module", "/memory-bank/modules/a"),))),
        ("[S:PLAN_1,R:0]", Parameters({"S": "PLAN_1", "R": "0"})),
        ("[SPLAN_1,R0]", Parameters({"S": "PLAN_1", "R": "0"})),
        ("[STDD_1_C2,R:1,C2,P:ℜᶠᵗ]", Parameters({"S": "TDD_1_C2", "R": "1", "C": "2", "P": "ℜᶠᵗ"})),
        ("Ω₃ᴾ[S9,R1,CTX:revise]", Parameters({"S": "9", "R": "1"}, (ContextPart("", "revise"),), "Ω₃ᴾ")),
        (
            '[S:TDD_1_C2,R:1,C:2,P:ℜᶠᵗ,CTX:design=/d.md, interface="def f(a: list[int], sep: str = \\",\\") -> str"]',
            CYCLE,
        ),
        ('[S:"a,\\nb]",R:0]', Parameters({"S": "a,\nb]", "R": "0"})),
        ('[C:TX,CTX:"a=b"]', Parameters({"C": "TX"}, (ContextPart("", "a=b", quoted=True),))),
    ],
)
def test_lines(line: str, parameters: Parameters) -> None:
    assert parse_parameters(line) == parameters


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        (" [ S:a , R:0 ] ", Parameters({"S": "a", "R": "0"})),
        ('[CTX:interface="f(x="1")"]', Parameters({}, (ContextPart("interface", '"f(x="1")"'),))),
        ("[CTX:interface=f(x: list[int])]", Parameters({}, (ContextPart("interface", "f(x: list[int])"),))),
        ("[X:1]", None),
        ("[S:1", None),
        ("[S:1] and more", None),
        ("S:1", None),
        ("", None),
    ],
)
def test_what_others_write(line: str, parameters: Parameters | None) -> None:
    assert parse_parameters(line) == parameters


def test_a_bare_letter_that_could_be_another_has_its_colon() -> None:
    line = Parameters({"S": ":x", "C": "TX", "P": "ℜ"})
    assert render_parameters(line, "bare") == "[S::x,C:TX,Pℜ]"
    assert parse_parameters(render_parameters(line, "bare")) == line
