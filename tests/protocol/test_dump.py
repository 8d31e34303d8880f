"""A protocol as files again, and its digest."""

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.protocol.arbitrary import PLAIN, WITH_GATES
from tests.protocol.loading import MINIMAL, STEP, protocol
from treadle.errors import ProtocolError
from treadle.protocol.digest import digest, plain
from treadle.protocol.dump import dump
from treadle.protocol.load import available, load, load_files, starting_folder
from treadle.protocol.model import Becomes, Limits, Protocol, Step, Thread

SLOW_TO_MAKE = settings(max_examples=25, suppress_health_check=list(HealthCheck))


@SLOW_TO_MAKE
@given(PLAIN)
def test_a_dumped_protocol_loads_as_itself(protocol: Protocol) -> None:
    again = load_files(dump(protocol))
    assert again == protocol
    assert digest(again) == digest(protocol)


@SLOW_TO_MAKE
@given(WITH_GATES)
def test_a_protocol_with_cloned_gates_dumps_and_loads_unchanged(protocol: Protocol) -> None:
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


def changed(base: Protocol, **values: object) -> Protocol:
    return msgspec.structs.replace(base, **values)


def test_a_digest_has_its_algorithm_and_is_stable() -> None:
    # A golden value: runs pin it, so a change here strands every pinned run.
    small = protocol(MINIMAL + STEP)
    assert digest(small) == "sha256:564f9b61ed6b1e6f994e3d965093b48fe6717718b657ae60d66c43602689f02d"


def test_the_order_of_keys_does_not_matter() -> None:
    base = protocol(MINIMAL + STEP)
    assert digest(changed(base, pools={"a": 1, "b": 2})) == digest(changed(base, pools={"b": 2, "a": 1}))


def test_a_default_that_was_written_out_does_not_matter() -> None:
    text = (
        "limits: {depth: 4, wall: 0}\nversion: '1'\n" + MINIMAL + STEP.replace("{role", "{thread: new, prio: 2, role")
    )
    assert digest(protocol(text)) == digest(protocol(MINIMAL + STEP))
    base = protocol(MINIMAL + STEP)
    graph = base.graphs["main"]
    step = msgspec.structs.replace(graph.steps["work"], thread=Thread(), becomes=(Becomes(key="!exhausted"),))
    same = msgspec.structs.replace(graph, steps={"work": step})
    assert digest(changed(base, limits=Limits(), graphs={"main": same})) == digest(base)


def test_every_other_change_alters_the_digest() -> None:
    base = protocol(MINIMAL + STEP)
    others = [
        changed(base, version="2"),
        changed(base, templates={"a.jinja": "x"}),
        changed(base, templates={"a.jinja": "y"}),
        changed(base, limits=Limits(depth=5)),
        protocol(MINIMAL + STEP.replace("@end:Done", "@self")),
        protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: '@end:Done', do: [tier]}")),
        protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: '@end:Done', do: [reset_thread]}")),
    ]
    assert len({digest(one) for one in [base, *others]}) == len(others) + 1


def test_canonical_json_has_tags_and_no_defaults() -> None:
    found = plain(protocol(MINIMAL + STEP.replace("'@end:Done'", "{to: work, do: [tier, {tier: 2}]}")))
    assert found["graphs"]["main"]["steps"]["work"]["routes"]["Fixed"] == [
        {"to": "work", "do": [{"type": "tier"}, {"type": "tier", "by": 2}]}
    ]
    assert "version" in found
    assert "limits" not in found
