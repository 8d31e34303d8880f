"""What an agent is told, on one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol.lines.test_quoting import HOSTILE
from treadle.protocol.agent_lines import ContextPart, Parameters, render_parameters

NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True)
PARTS = st.builds(ContextPart, NAMES | st.just(""), HOSTILE, st.booleans())
LINES = st.builds(Parameters, st.dictionaries(st.sampled_from("SRCPM"), HOSTILE), st.lists(PARTS).map(tuple))


@given(LINES)
def test_parameters_are_one_line(parameters: Parameters) -> None:
    assert len(render_parameters(parameters).splitlines()) == 1


@given(HOSTILE)
def test_a_value_stands_as_it_is_or_as_a_json_string(value: str) -> None:
    line = render_parameters(Parameters({"S": value}))
    shown = line.removeprefix("[S:").removesuffix("]")
    assert shown == value or json.loads(shown) == value
    assert shown != value or not set(',[]"') & set(value)


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
        ("[S:9,R:1,CTX:revise]", Parameters({"S": "9", "R": "1"}, (ContextPart("", "revise"),))),
        (
            '[S:TDD_1_C2,R:1,C:2,P:ℜᶠᵗ,CTX:design=/d.md, interface="def f(a: list[int], sep: str = \\",\\") -> str"]',
            CYCLE,
        ),
        ('[S:"a,\\nb]",R:0]', Parameters({"S": "a,\nb]", "R": "0"})),
        ('[C:TX,CTX:"a=b"]', Parameters({"C": "TX"}, (ContextPart("", "a=b"),))),
    ],
)
def test_a_line_parses_to_its_parameters(line: str, parameters: Parameters) -> None:
    assert render_parameters(parameters) == line
