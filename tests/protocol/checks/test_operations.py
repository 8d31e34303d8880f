"""What a template cannot compute, by the types of what it is given; and that rendering it fails indeed."""

import pytest

from tests.protocol.checks.planted import bugfix, put, said
from treadle.errors import ProtocolError
from treadle.prompts.render import render

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
    ("{{ range(bug.id) }}", "gives range something that is no number"),
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
def test_what_cannot_be_computed_is_named(text: str, expected: str) -> None:
    found = said(put(bugfix(), "templates", "review.jinja", SHOWN + text))
    assert {line.partition("template ")[2].partition(" (")[0] for line in found} == {expected}


@pytest.mark.parametrize("text", [text for text, _ in FAULTS])
def test_what_is_named_fails_when_it_is_rendered(text: str) -> None:
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
def test_what_can_be_computed_is_left_alone_and_rendered(text: str) -> None:
    assert said(put(bugfix(), "templates", "review.jinja", SHOWN + text)) == []
    assert render(_template(text), "review.jinja", VARIABLES)
