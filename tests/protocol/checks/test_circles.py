"""Templates that lead back to themselves, by whatever statement."""

import pytest

from tests.protocol.checks.planted import bugfix, change, said
from treadle.protocol.check import check
from treadle.protocol.findings import Place
from treadle.protocol.model import Protocol

SHOWN = "{{ fix.Fixed.commit }}"


def with_templates(**texts: str) -> Protocol:
    new = {f"{name}.jinja": text for name, text in texts.items()}
    return change(bugfix(), "", templates={**bugfix().templates, **new})


@pytest.mark.parametrize(
    "statement",
    [
        "{% include 'review.jinja' %}",
        "{% extends 'review.jinja' %}",
        "{% import 'review.jinja' as r %}",
        "{% from 'review.jinja' import r %}",
        "{% include ['review.jinja', 'again.jinja'] ignore missing %}",
        "{% include 'review.jinja' if attempt > 3 else 'again.jinja' %}",
        "{% if attempt > 9 %}{% include 'review.jinja' %}{% endif %}",
        "{% macro m() %}{% include 'review.jinja' %}{% endmacro %}",
    ],
)
def test_a_template_that_leads_to_itself(statement: str) -> None:
    [line] = said(with_templates(review=SHOWN + statement))
    assert line == "15 review.jinja: template leads back to itself: review.jinja → review.jinja (remove it)"


def test_a_circle_is_spelled_out_once_where_it_begins() -> None:
    circle = with_templates(
        review=f"{SHOWN}\n\n{{% include 'b.jinja' %}}",
        b="{% import 'c.jinja' as c %}",
        c="{% include 'review.jinja' %}",
    )
    [finding] = check(circle, Place)
    assert (finding.place.file, finding.place.line, finding.message) == (
        "templates.review.jinja",
        3,
        "template leads back to itself: review.jinja → b.jinja → c.jinja → review.jinja",
    )


def test_the_shortest_way_round_is_told() -> None:
    circle = with_templates(
        review=SHOWN + "{% include 'b.jinja' %}{% include 'c.jinja' %}",
        b="{% include 'c.jinja' %}",
        c="{% include 'review.jinja' %}",
    )
    [line] = said(circle)
    assert "review.jinja → c.jinja → review.jinja" in line


def test_two_circles_are_two_findings() -> None:
    apart = with_templates(review=SHOWN + "{% include 'review.jinja' %}", human="{% include 'human.jinja' %}")
    assert sorted(line.partition(":")[0] for line in said(apart)) == ["15 human.jinja", "15 review.jinja"]


def test_a_template_may_be_included_many_times_by_many() -> None:
    twice = "{% include 'again.jinja' %}" * 2
    assert said(with_templates(review=SHOWN + twice)) == []
