"""Random values fit the protocol's types."""

from random import Random

from treadle.protocol.items import Item
from treadle.protocol.load import load
from treadle.protocol.model import Field
from treadle.simulate.values import Values


def some(field: Field, protocol: str = "dptr", modest: bool = False) -> list[object]:
    values = Values(load(protocol), Random(5))
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
