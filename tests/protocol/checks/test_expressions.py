"""What a template cannot compute, by the types of what it is given; and that rendering it fails indeed."""

import pytest
from jinja2 import Environment, nodes

from tests.protocol.checks.planted import bugfix, put, said
from treadle.errors import ProtocolError
from treadle.prompts.templates import render
from treadle.protocol.checks.expressions import expression_text, present_if_false, present_if_true

SHOWN = "{{ fix.Fixed.commit }}"


VARIABLES = {
    "bug": {"id": "b1", "text": "it breaks", "part": "src"},
    "fix": {"Fixed": {"commit": "abc", "note": None}},
    "attempt": 2,
}


FAULTS = [
    ("{% macro one(x) %}{{ one(x) }}{% endmacro %}{{ one(1) }}", "calls the macro 'one' inside of itself"),
    ("{{ loop.index }}", "uses 'loop', which is not declared"),
    ("{{ caller() }}", "uses 'caller', which is not declared"),
    ("{{ bug() }}", "calls a value as if it were a macro"),
    ("{{ bug.id() }}", "calls a value as if it were a macro"),
    ("{{ 'a'() }}", "calls a value as if it were a macro"),
    ("{{ 1 / 0 }}", "divides by zero"),
    ("{{ 1 % 0 }}", "divides by zero"),
    ("{{ attempt // (1 - 1) }}", "divides by zero"),
    ("{{ range(5, 1, 0) | list }}", "counts in steps of zero"),
    ("{{ range() }}", "gives range 0 numbers; it takes one to three"),
    ("{{ range(bug.id) }}", "gives range something that is not a number"),
    ("{{ bug.id - 1 }}", "uses - on a text or a list, not on numbers"),
    ("{{ bug.id + 1 }}", "adds a text and a number"),
    ("{{ -bug.id }}", "uses - on a text, not on a number"),
    ("{{ bug - 1 }}", "uses - on an object, not on numbers"),
    ("{{ bug.id > 1 }}", "uses > between a text and a number"),
    ("{% if attempt <= bug.id %}x{% endif %}", "uses <= between a number and a text"),
    ("{{ bug < bug }}", "uses < between an object and an object"),
    ("{{ [3, 'a'] | sort }}", "takes 'sort' of items that have no order: a number, a text"),
    ("{{ [attempt, bug.id] | max }}", "takes 'max' of items that have no order: a number, a text"),
    ("{{ attempt | length }}", "takes 'length' of a number"),
]


def _template(text: str) -> dict[str, str]:
    return {"review.jinja": SHOWN + text}


@pytest.mark.parametrize(("text", "expected"), FAULTS, ids=[text for text, _ in FAULTS])
def test_an_expression_with_wrong_types_is_named(text: str, expected: str) -> None:
    found = said(put(bugfix(), "templates", "review.jinja", SHOWN + text))
    assert {line.partition("template ")[2].partition(" (")[0] for line in found} == {expected}


@pytest.mark.parametrize("text", [text for text, _ in FAULTS])
def test_an_expression_that_is_named_fails_when_rendered(text: str) -> None:
    with pytest.raises(ProtocolError):
        render(_template(text), "review.jinja", VARIABLES)


@pytest.mark.parametrize(
    "text",
    [
        "{{ attempt - 1 }}{{ attempt > 1 }}{{ -attempt }}{{ 7 // 2 }}{{ range(1, 9, 2) | list }}",
        "{{ bug.id + '!' }}{{ [1] + [2] }}{{ bug.id < 'z' }}{{ bug.id == 1 }}{{ (bug.id | length) > 1 }}",
        "{{ [3, 1] | sort }}{{ ['b', 'a'] | max }}{{ [attempt, 1] | min }}{{ [1, 'a'] | unique | list }}",
        "{% for one in [1] %}{{ loop.index }}{{ loop.cycle('a', 'b') }}{% endfor %}",
        "{% macro box() %}{{ caller() }}{% endmacro %}{% call box() %}x{% endcall %}",
        "{% set one = namespace(n=1) %}{{ one.n + 1 }}{{ joiner(', ')() }}",
    ],
)
def test_a_valid_expression_is_left_alone_and_renders(text: str) -> None:
    assert said(put(bugfix(), "templates", "review.jinja", SHOWN + text)) == []
    assert render(_template(text), "review.jinja", VARIABLES)


# Constants that would make a template enormous, and those that would not.


def faults(text: str) -> list[str]:
    found = said(put(bugfix(), "templates", "review.jinja", SHOWN + text))
    return [line.partition("template ")[2].partition(" (")[0] for line in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ 'x' * 99999999999 }}", "uses * on a text or a list, not on numbers"),
        ("{{ 99999999999 * 'x' }}", "uses * on a text or a list, not on numbers"),
        ("{{ [0] * 10**9 }}", "uses * on a text or a list, not on numbers"),
        ("{{ bug.id * 3 }}", "uses * on a text or a list, not on numbers"),
        ("{{ '%999999999d' % 1 }}", "uses % on a text or a list, not on numbers"),
        ("{{ 10 ** 10 ** 10 }}", "raises a number to an enormous power"),
        ("{{ attempt ** 999 }}", "raises a number to an enormous power"),
        ("{{ 1 ** 999 }}", "raises a number to an enormous power"),
        ("{{ 99999 * 99999 }}", "makes a number beyond 1000000000"),
        ("{% for i in range(10**9) %}{% endfor %}", "counts to 1000000000"),
        ("{% for i in range(0, 10**9, 2) %}{% endfor %}", "counts to 500000000"),
        ("{% for i in range(10**9, 0, -1) %}{% endfor %}", "counts to 1000000000"),
        ("{% for i in range(attempt, 10**9) %}{% endfor %}", "counts to 1000000000"),
        ("{{ range(1000000) | list }}", "counts to 1000000"),
        ("{{ lipsum(n=1000000) }}", "uses 'lipsum', which is not declared"),
        ("{{ bug.id | center(1000000) }}", "uses unknown filter 'center'"),
        ("{{ '%999999999d' | format(1) }}", "uses unknown filter 'format'"),
        (
            "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}",
            "goes round 1000000 times, the loops around it counted",
        ),
    ],
)
def test_an_excessive_computation_is_named(text: str, expected: str) -> None:
    assert faults(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "{{ 3600 * 24 * 365 }}{{ 2 ** 20 }}{{ -1 * attempt }}{{ attempt % 2 }}{{ node.depth * 2 }}",
        "{% for i in range(3) %}{% for j in range(attempt) %}{{ i * j }}{% endfor %}{% endfor %}",
        "{% for i in range(5000000, 5000003) %}{{ i }}{% endfor %}{% for i in range(9, 0) %}{% endfor %}",
        "{% for i in range(1, 9, 2) %}{% endfor %}{{ 2 ** -1 }}",
        "{% for i in range(1000) %}{% endfor %}{% for i in range(1000) %}{% endfor %}",
        "{{ bug.id | truncate(80) }}{{ (bug.id | length) * 2 }}",
    ],
)
def test_a_modest_computation_is_left_alone(text: str) -> None:
    assert faults(text) == []


# Which values a template may rely on inside a test.


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
def test_a_test_implies_the_presence_of_its_names(test: str, held: set[str], failed: set[str]) -> None:
    assert set(present_if_true(_expression(test))) == held
    assert set(present_if_false(_expression(test))) == failed


@pytest.mark.parametrize(("text", "shown"), [("a.b['c'].d", "a.b.c.d"), ("a[0].b", ""), ("a() .b", ""), ("a", "a")])
def test_an_expression_as_it_is_written(text: str, shown: str) -> None:
    assert expression_text(_expression(text)) == shown
