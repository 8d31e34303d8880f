"""How a step was left, in words."""

import pytest

from treadle.protocol.load import load
from treadle.views.words import exit_words


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ("pass_bdd", "pass"),
        ("pass", "pass"),
        ("failing_measured.none", "failing"),
        ("failing.scope_warning", "failing (scope_warning)"),
        ("needs_human", "needs_human"),
        ("!gate", "refused"),
        ("!gate.protection", "refused"),
        ("!exhausted", "no attempt is left"),
        ("unheard", "unheard"),
    ],
)
def test_people_read_the_names_they_know(left: str, said: str) -> None:
    assert exit_words(load("waterfall"), left) == said


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper"])
def test_an_exit_without_a_familiar_name_keeps_its_own(name: str) -> None:
    protocol = load(name)
    assert [exit_words(protocol, tag) for tag in protocol.exits] == list(protocol.exits)
