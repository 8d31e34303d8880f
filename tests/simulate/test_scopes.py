"""Scopes as data."""

import pytest

from treadle.errors import ProtocolError
from treadle.simulate.scope import Scope
from treadle.simulate.scopes import read_scopes


def test_a_scope_is_read_by_name() -> None:
    text = "leaf: {help: no children, depth: 0, attempts: 2}\nloose: {budgets: null, items: {parts: [1, null]}}\n"
    assert read_scopes(text) == {
        "leaf": Scope(name="leaf", help="no children", depth=0, attempts=2),
        "loose": Scope(name="loose", budgets=None, items={"parts": (1, None)}),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- leaf\n", "scopes.yaml:1: scopes are a mapping"),
        ("a: {depht: 1}\n", "scopes.yaml:1: the scope 'a' is not understood"),
        ("a: {}\nb: {depth: deep}\n", "scopes.yaml:2: the scope 'b' is not understood"),
        ("a: {attempts: 0}\n", "the scope 'a' is not understood: attempts is 0, and must be at least 1"),
        ("a: {widths: [-1]}\n", "the scope 'a' is not understood: widths is -1, and must be at least 0"),
    ],
)
def test_a_broken_scope_is_named_with_its_line(text: str, why: str) -> None:
    with pytest.raises(ProtocolError) as error:
        read_scopes(text)
    assert why in str(error.value)
