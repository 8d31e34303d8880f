"""The parameter line: what a role declares, without what is not known."""

import pytest

from treadle.prompts.parameters import line, parameters, phase
from treadle.protocol.items import Json
from treadle.protocol.load import load
from treadle.protocol.model import Role

DPTR = load("dptr")
CYCLE: dict[str, Json] = {
    "session": "S1",
    "round": 2,
    "id": "TDD₁",
    "phase": "ℜ",
    "design": "d.md",
    "interface": "def a()\ndef b()",
}


def test_the_line_of_a_cycle() -> None:
    found = parameters(DPTR.roles["qa"], CYCLE)
    assert line(found) == '[S:S1,R:2,C:TDD₁,P:ℜ,CTX:design=d.md, interface="def a()\\ndef b()"]'


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"a": 0, "b": False}, "[A:0 false]"),
        ({"a": "", "b": 1}, "[]"),
        ({"a": 1}, "[]"),
        ({"a": 1, "b": None}, "[]"),
        ({"a": "{b}", "b": 2}, "[A:{b} 2]"),
    ],
)
def test_what_is_not_known_is_left_out(known: dict[str, Json], text: str) -> None:
    assert line(parameters(Role(params={"A": "{a} {b}"}), known)) == text


def test_a_role_without_parameters_and_no_role() -> None:
    assert line(parameters(Role(), {})) == line(parameters(None, {})) == "[]"


def test_a_phase_is_called_by_its_symbol() -> None:
    steps = DPTR.graphs["cycle"].steps
    assert phase(DPTR, "red", steps["red"]) == "ℜ"
    assert phase(DPTR, "critic", DPTR.graphs["plan"].steps["critic"])
