"""What an exit carries as far as routing can see, and who says so: the claim itself, or the checks that verify it."""

from collections.abc import Callable

from treadle.kernel.events import Envelope
from treadle.protocol.fields import ListType, RecordType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Field, Graph, Protocol, tag_of

Value = Callable[[str, Field], Routed]
"""(name, field) → the value that routing sees."""


def routed(protocol: Protocol, tag: str) -> dict[str, Field]:
    """The fields of an exit that guards, spawns and maps may look at."""
    exit_ = protocol.exits.get(tag)
    return {name: field for name, field in exit_.fields.items() if field.route} if exit_ else {}


def envelope(protocol: Protocol, key: str, value: Value, derived: bool) -> Envelope:
    """A claim; the fields that checks will derive stay out of it."""
    tag, _, variant = key.partition(".")
    fields = {
        name: value(name, field) for name, field in routed(protocol, tag).items() if not (derived and is_derived(field))
    }
    return Envelope(tag, variant, with_variant(protocol, key, fields))


def derivation(protocol: Protocol, key: str, value: Value) -> dict[str, Routed]:
    """What the checks of an agent's claim compute."""
    fields = {name: value(name, field) for name, field in routed(protocol, tag_of(key)).items() if is_derived(field)}
    return with_variant(protocol, key, fields)


def is_derived(field: Field) -> bool:
    """Whether a field of an agent's exit is computed by the checks of its claim."""
    return field.by not in ("agent", "kernel")


def with_variant(protocol: Protocol, key: str, fields: dict[str, Routed]) -> dict[str, Routed]:
    """The field that refines the routing key says the same as the key."""
    tag, _, variant = key.partition(".")
    exit_ = protocol.exits.get(tag)
    if exit_ and exit_.route_on in fields:
        fields[exit_.route_on] = variant
    return fields


def is_item_list(field: Field) -> bool:
    """Whether routing sees the elements of the list, not only its length."""
    return field.route == "items" and isinstance(bare(parse_type(field.type)), ListType)


def element(protocol: Protocol, field: Field) -> dict[str, Field] | None:
    """The routed fields of a list's records; None if its elements are plain values."""
    inner = bare(parse_type(field.type))
    if not isinstance(inner, ListType) or not isinstance(inner.item, RecordType):
        return None
    record = protocol.types[inner.item.name]
    return {name: part for name, part in record.fields.items() if part.route}


def input_item(protocol: Protocol, graph: Graph, value: Value) -> Item:
    """The input of a graph that is run by itself."""
    name, type_ = graph.input
    inner = bare(parse_type(type_)) if type_ else None
    if not isinstance(inner, RecordType):
        return Item(name, "")
    fields = protocol.types[inner.name].fields
    return Item(name, "", {key: value(key, field) for key, field in fields.items() if field.route})
