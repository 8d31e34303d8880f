"""Constants that would make a template enormous, and those that would not."""

import pytest

from tests.protocol.checks.planted import bugfix, put, said

SHOWN = "{{ fix.Fixed.commit }}"


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
def test_what_is_too_much(text: str, expected: str) -> None:
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
def test_what_is_not(text: str) -> None:
    assert faults(text) == []
