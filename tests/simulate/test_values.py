"""Random values fit the protocol's types."""

from random import Random

import pytest

from treadle.protocol.answers.ids import id_fault
from treadle.protocol.answers.soundness import unsound
from treadle.protocol.fields import parse_type, record_of
from treadle.protocol.items import Item, Json, Routed
from treadle.protocol.load import load
from treadle.protocol.model import Field, Protocol
from treadle.simulate.claims import input_item
from treadle.simulate.values import Values


def some(field: Field, protocol: str = "dptr", modest: bool = False, odd: bool = True) -> list[object]:
    values = Values(load(protocol), Random(5), odd=odd)
    values.modest = modest
    return [values.of("x", field) for _ in range(300)]


def test_scalars() -> None:
    assert set(some(Field(type="A | B", route="value"))) == {"A", "B"}
    assert set(some(Field(type="bool?", route="value"))) == {None, True, False}
    assert set(some(Field(type="int", route="value"))) == {0, 1, 2, 3}
    assert set(some(Field(type="text", route="value"))) == {"one", "two"}


def test_of_a_list_or_a_record_routing_sees_the_length_or_that_it_is_there() -> None:
    assert set(some(Field(type="[text]", route="value"))) == {0, 1, 2, 3}
    assert set(some(Field(type="Batch?", route="value"))) == {None, True}


def test_items_nest_and_have_keys() -> None:
    batches = [value for value in some(Field(type="[Batch]", route="items")) if isinstance(value, tuple)]
    items = [item for batch in batches for item in batch if isinstance(item, Item)]
    assert {len(batch) for batch in batches} == {0, 1, 2, 3}
    assert {item.fields["parallel"] for item in items} == {1, 2, 3}
    assert any(item.fields["cycles"] for item in items)
    assert {"a/b", "", "k0"} <= {item.key for item in items}


def test_items_refer_to_each_other_and_sometimes_to_nobody() -> None:
    lists = [value for value in some(Field(type="[Story]", route="items"), "waterfall") if isinstance(value, tuple)]
    stories = [item for stories in lists for item in stories if isinstance(item, Item)]
    blocked = [story.fields["blocked_by"] for story in stories]
    named = {name for names in blocked if isinstance(names, tuple) for name in names}
    assert {"k0", "k1", "nobody"} <= named


def test_a_modest_source_makes_one_child_at_most() -> None:
    lists = some(Field(type="[Batch]", route="items"), modest=True)
    assert max(len(value) for value in lists if isinstance(value, tuple)) == 1


@pytest.mark.parametrize("name", ["v3", "fractal", "dptr", "riper", "waterfall"])
def test_a_run_is_given_what_treadle_would_take(name: str) -> None:
    protocol = load(name)
    graph = protocol.graphs[protocol.root]
    values = Values(protocol, Random(5))
    inputs = [input_item(protocol, graph, values.given) for _ in range(300)]
    for item in inputs:
        problems = unsound(protocol, parse_type(graph.input[1]), plain(protocol, graph.input[1], item))
        assert problems == []


def plain(protocol: Protocol, type_: str, item: Item) -> Json:
    """An item as the value that it was made from; null stands for what routing does not see."""
    record = protocol.types[type_]
    assert id_fault(item.key) == ""
    made: dict[str, Json] = dict.fromkeys(record.fields)
    for name, value in item.fields.items():
        inner = record_of(parse_type(record.fields[name].type))
        made[name] = [plain(protocol, inner, one) if isinstance(one, Item) else one for one in as_list(value)]
    return {**made, record.key: item.key}


def as_list(value: Routed) -> list[Item | str]:
    return list(value) if isinstance(value, tuple) else []


def test_nothing_odd_is_made_unless_it_is_asked_for() -> None:
    lists = [
        value
        for value in some(Field(type="[Story]", route="items"), "waterfall", odd=False)
        if isinstance(value, tuple)
    ]
    for stories in lists:
        keys = [story.key for story in stories]
        assert keys == [f"k{at}" for at in range(len(keys))]
        for at, story in enumerate(stories):
            assert set(as_list(story.fields["blocked_by"])) <= set(keys[:at])
