"""Values of exits as routing sees them, from the claim or from its checks; and random values."""

from collections.abc import Callable
from random import Random
from typing import Final

from treadle.kernel.events import Envelope
from treadle.protocol.fields import EnumType, ListType, OptionalType, RecordType, ScalarType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Field, Graph, Protocol, tag_of

# The fields of an exit as routing sees them, and their source: the claim itself, or the checks that verify it.

Value = Callable[[str, Field], Routed]
"""(name, field) → the value that routing sees."""


def routed_exit_fields(protocol: Protocol, tag: str) -> dict[str, Field]:
    """The fields of an exit that guards, spawns and maps may look at."""
    exit_ = protocol.exits.get(tag)
    return _routed(exit_.fields) if exit_ else {}


def _routed(fields: dict[str, Field]) -> dict[str, Field]:
    return {name: field for name, field in fields.items() if field.route}


def envelope(protocol: Protocol, key: str, value: Value, derived: bool) -> Envelope:
    """A claim; the fields that checks will derive stay out of it."""
    tag, _, variant = key.partition(".")
    fields = {
        name: value(name, field)
        for name, field in routed_exit_fields(protocol, tag).items()
        if not (derived and is_derived(field))
    }
    return Envelope(tag, variant, with_variant(protocol, key, fields))


def derivation(protocol: Protocol, key: str, value: Value) -> dict[str, Routed]:
    """Make the fields that the checks of an agent's claim compute."""
    fields = {
        name: value(name, field)
        for name, field in routed_exit_fields(protocol, tag_of(key)).items()
        if is_derived(field)
    }
    return with_variant(protocol, key, fields)


def is_derived(field: Field) -> bool:
    """Whether a field of an agent's exit is computed by the checks of its claim."""
    return field.by not in ("agent", "kernel")


def with_variant(protocol: Protocol, key: str, fields: dict[str, Routed]) -> dict[str, Routed]:
    """Set the field that refines the routing key to the key's variant."""
    tag, _, variant = key.partition(".")
    exit_ = protocol.exits.get(tag)
    if exit_ and exit_.route_on in fields:
        fields[exit_.route_on] = variant
    return fields


def is_item_list(field: Field) -> bool:
    """Whether routing sees the elements of the list, not only its length."""
    return field.route == "items" and isinstance(bare(parse_type(field.type)), ListType)


def element_fields(protocol: Protocol, field: Field) -> dict[str, Field] | None:
    """The routed fields of a list's records; None if its elements are plain values."""
    inner = bare(parse_type(field.type))
    if not isinstance(inner, ListType) or not isinstance(inner.item, RecordType):
        return None
    return _routed(protocol.types[inner.item.name].fields)


def input_fields(protocol: Protocol, graph: Graph) -> dict[str, Field]:
    """The routed fields of a graph's input."""
    type_ = graph.input[1]
    inner = bare(parse_type(type_)) if type_ else None
    return _routed(protocol.types[inner.name].fields) if isinstance(inner, RecordType) else {}


def input_item(protocol: Protocol, graph: Graph, value: Value) -> Item:
    """The input of a graph that is run by itself."""
    fields = input_fields(protocol, graph)
    return Item(graph.input[0], "", {name: value(name, field) for name, field in fields.items()})


_WIDTHS: Final = (0, 1, 1, 1, 2, 2, 3)
_ODD_KEYS: Final = ("a/b", "", "ключ", "k0", "..", "k0~2")
"""Keys that the kernel must survive: unsafe in paths, empty, doubled, looking like a restarted one."""


class Values:
    """A source of random values; a modest one makes as few children as possible, an odd one also forbidden values."""

    def __init__(self, protocol: Protocol, random: Random, *, odd: bool = False) -> None:
        self._protocol = protocol
        self._random = random
        self._odd = odd
        self._least = 0
        self.modest = False

    def of(self, _name: str, field: Field) -> Routed:
        """A value for a field of an exit."""
        self._least = 0
        return self._value(field, ())

    def given(self, _name: str, field: Field) -> Routed:
        """Make a value for a field of a run's input; required lists are not empty, except in an odd world."""
        self._least = 0 if self._odd else 1
        return self._value(field, ())

    def _value(self, field: Field, siblings: tuple[str, ...]) -> Routed:
        expr = parse_type(field.type)
        optional = isinstance(expr, OptionalType)
        if optional and self._random.random() < 0.2:
            return None
        inner = bare(expr)
        least = 0 if optional else self._least
        if is_item_list(field):
            return self._items(field, siblings, least)
        match inner:
            case EnumType(values):
                return self._random.choice(values)
            case ScalarType("bool"):
                return self._random.random() < 0.5
            case ScalarType("int" | "number"):
                return self._random.choice(_WIDTHS)
            case ListType():
                return max(self._random.choice(_WIDTHS), least)
            case RecordType():
                return True
        return self._random.choice(("one", "two"))

    def _items(self, field: Field, siblings: tuple[str, ...], least: int) -> tuple[Item | str, ...]:
        fields = element_fields(self._protocol, field)
        if fields is None:
            # Names of other items: of earlier ones; in an odd world also of none that exists.
            known = [key for key in siblings if self._random.random() < 0.4]
            return (*known, "nobody") if self._strange(0.03) else tuple(known)
        width = min(self._random.choice(_WIDTHS), 1) if self.modest else self._random.choice(_WIDTHS)
        odd = self._strange(0.1)
        keys = tuple(self._random.choice(_ODD_KEYS) if odd else f"k{at}" for at in range(max(width, least)))
        items = []
        for at, key in enumerate(keys):
            before = keys if self._strange(0.1) else keys[:at]
            values = {name: self._value(part, before) for name, part in fields.items()}
            items.append(Item(key, f"text:{key}", values))
        return tuple(items)

    def _strange(self, chance: float) -> bool:
        """Whether something is made that Treadle itself would refuse."""
        return self._random.random() < chance and self._odd
