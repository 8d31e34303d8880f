"""Which values a template may rely on inside a test."""

import pytest
from jinja2 import Environment, nodes

from treadle.protocol.checks.presence import failing, holding, is_there, written


def _expression(text: str) -> nodes.Node:
    found = next(iter(Environment(autoescape=True).parse(f"{{% if {text} %}}{{% endif %}}").find_all(nodes.If)), None)
    assert found is not None
    return found.test


@pytest.mark.parametrize(
    ("test", "held", "failed"),
    [
        ("a.b", {"a", "a.b"}, set()),
        ("a['b']", {"a", "a.b"}, set()),
        ("not a", set(), {"a"}),
        ("a and b.c", {"a", "b", "b.c"}, set()),
        ("a or b", set(), set()),
        ("a or a.b", {"a"}, set()),
        ("not a or not b", set(), {"a", "b"}),
        ("a is none", set(), {"a"}),
        ("a is not none", {"a"}, set()),
        ("a == none", set(), {"a"}),
        ("a != none", {"a"}, set()),
        ("a is defined", {"a.is defined"}, set()),
        ("a.b is defined", {"a", "a.b.is defined"}, set()),
        ("a is undefined", set(), {"a.is defined"}),
        ("a is not defined", set(), {"a.is defined"}),
        ("a is string", {"a"}, set()),
        ("a == 1", {"a"}, set()),
        ("a != 1", set(), set()),
        ("a in [1]", {"a"}, set()),
        ("a not in [1]", set(), set()),
        ("a | length", {"a"}, set()),
        ("a > 1 and not b", {"a"}, set()),
        ("f(a)", set(), set()),
    ],
)
def test_what_a_test_says_about_presence(test: str, held: set[str], failed: set[str]) -> None:
    assert set(holding(_expression(test))) == held
    assert set(failing(_expression(test))) == failed


@pytest.mark.parametrize(("text", "shown"), [("a.b['c'].d", "a.b.c.d"), ("a[0].b", ""), ("a() .b", ""), ("a", "a")])
def test_an_expression_as_it_is_written(text: str, shown: str) -> None:
    assert written(_expression(text)) == shown


@pytest.mark.parametrize(
    ("sure", "slot", "field"),
    [({"a"}, True, True), ({"a.is defined"}, True, False), ({"b"}, False, False)],
    ids=["a_value_that_holds", "a_value_that_is_defined", "another_value"],
)
def test_what_is_defined_is_there_if_it_is_a_slot(sure: set[str], slot: bool, field: bool) -> None:
    assert is_there("a", frozenset(sure), slot=True) == slot
    assert is_there("a", frozenset(sure), slot=False) == field
