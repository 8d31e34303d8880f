import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.protocol.arbitrary import PLAIN, WITH_GATES
from treadle.errors import ProtocolError
from treadle.protocol.digest import digest
from treadle.protocol.dump import dump
from treadle.protocol.load import available, load, load_files, starting_folder
from treadle.protocol.model import Protocol, Step

SLOW_TO_MAKE = settings(max_examples=25, suppress_health_check=list(HealthCheck))


@SLOW_TO_MAKE
@given(PLAIN)
def test_a_dumped_protocol_loads_as_itself(protocol: Protocol) -> None:
    again = load_files(dump(protocol))
    assert again == protocol
    assert digest(again) == digest(protocol)


@SLOW_TO_MAKE
@given(WITH_GATES)
def test_what_was_cloned_once_stays_as_it_is(protocol: Protocol) -> None:
    try:
        first = load_files(dump(protocol))
    except ProtocolError:
        assume(False)  # a start or a redirect to a gate with `@back`
        raise
    assert load_files(dump(first)) == first
    assert {"@back"}.isdisjoint(route.to for step in reached(first) for rows in step.routes.values() for route in rows)


def reached(protocol: Protocol) -> list[Step]:
    """The steps that some other step or handler leads to."""
    (graph,) = protocol.graphs.values()
    plain = [step for step in graph.steps.values() if step.kind != "ask"]
    routes = [route for step in plain for rows in step.routes.values() for route in rows]
    names = {route.to for route in routes} | {handler.step for handler in graph.handlers.values()}
    return [graph.steps[name] for name in names if name in graph.steps]


@pytest.mark.parametrize("name", sorted(available()))
def test_built_in_protocols_survive_a_dump(name: str) -> None:
    protocol = load(name)
    again = load_files(dump(protocol))
    assert again == protocol
    assert digest(again) == digest(protocol)


def test_a_dump_is_readable() -> None:
    text = dump(load_files(starting_folder("mine")))["protocol.yaml"]
    assert "      GiveUp: scope\n" not in text
    assert "        gates: {Fixed: commit scope build green tests_unmodified, GiveUp: scope}\n" in text
    assert "          Rejected: {to: fix, charge: rounds, do: [{tier: 1}]}\n" in text
    assert max(map(len, text.splitlines())) < 300


def test_templates_are_files_of_their_own() -> None:
    files = dump(load_files(starting_folder("mine")))
    assert files["templates/fix.jinja"] == starting_folder("mine")["templates/fix.jinja"]
