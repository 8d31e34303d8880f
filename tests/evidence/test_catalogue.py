"""Every name of the vocabulary has its function, and every computed field its computation."""

import pytest

from treadle.evidence.catalogue import CHECKS, POINTLESS_AFTER
from treadle.evidence.derived_fields import DERIVED
from treadle.protocol import vocabulary
from treadle.protocol.load import load

PROTOCOLS = ("v3", "fractal", "dptr", "riper", "waterfall")


def test_checks_are_those_of_the_vocabulary() -> None:
    assert list(CHECKS) == list(vocabulary.CHECKS)
    for first, later in POINTLESS_AFTER.items():
        assert {first, *later} <= CHECKS.keys()


def test_computed_fields_are_those_of_the_vocabulary() -> None:
    assert set(DERIVED) == vocabulary.FIELDS


@pytest.mark.parametrize("name", list(CHECKS))
def test_every_check_has_a_docstring(name: str) -> None:
    assert CHECKS[name].__doc__


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_computed_field_of_an_agents_exit_can_be_computed(name: str) -> None:
    protocol = load(name)
    exits = {
        exit_
        for graph in protocol.graphs.values()
        for step in graph.steps.values()
        if step.kind == "agent"
        for exit_ in step.exits
    }
    computed = {
        field
        for exit_ in exits
        for field, declared in protocol.exits[exit_].fields.items()
        if declared.by not in ("agent", "kernel")
    }
    assert computed
    assert computed <= DERIVED.keys()
