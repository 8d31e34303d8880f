"""What items of an input wait for: items beside them, or what was done before."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from treadle.protocol.fields import ListType, RecordType, bare, parse_type
from treadle.protocol.items import Json
from treadle.protocol.model import Graph, Protocol

INPUT: Final = "in."
Before = Callable[[str], str | None]
"""What is known of a key that no item has. None: nothing; empty: it is done; else why it is still to be waited for."""


class Order(NamedTuple):
    """A list of a record whose items wait for each other: the field `after` names the keys they wait for."""

    record: str
    field: str
    item: str
    after: str


def orders(protocol: Protocol, graph: Graph) -> Iterator[Order]:
    """The orders that a graph's maps over its own input declare."""
    name = graph.input[1]
    fields = protocol.types[name].fields if name in protocol.types else {}
    for step in graph.steps.values():
        over = step.over.removeprefix(INPUT)
        if step.after and step.over.startswith(INPUT) and over in fields:
            listed = bare(parse_type(fields[over].type))
            if isinstance(listed, ListType) and isinstance(listed.item, RecordType):
                yield Order(name, over, listed.item.name, step.after)


def names(value: Json) -> list[str]:
    """The keys that a field holds: a list of them, one, or none."""
    given = value if isinstance(value, list) else [value]
    return [str(name) for name in given if name is not None]


def among_themselves(protocol: Protocol, value: Json) -> Json:
    """An input whose items wait for nothing but for items that are in it."""
    for order in orders(protocol, protocol.graphs[protocol.root]):
        items = value.get(order.field) if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(items, list):
            value = {**value, order.field: _among(items, protocol.types[order.item].key, order.after)}
    return value


def _among(items: list[Json], key: str, after: str) -> list[Json]:
    known = {str(item.get(key)) for item in items if isinstance(item, dict)}
    found: list[Json] = []
    for item in items:
        waits = item.get(after) if isinstance(item, dict) else None
        left: list[Json] = [name for name in names(waits) if name in known]
        is_cut = isinstance(item, dict) and isinstance(waits, list) and len(left) < len(waits)
        found.append({**item, after: left} if isinstance(item, dict) and is_cut else item)
    return found
