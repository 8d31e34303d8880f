"""Random values of the protocol's types, as routing sees them."""

from random import Random
from typing import Final

from treadle.protocol.fields import EnumType, ListType, OptionalType, RecordType, ScalarType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Field, Protocol
from treadle.simulate.claims import element, is_item_list

_WIDTHS: Final = (0, 1, 1, 1, 2, 2, 3)
_ODD_KEYS: Final = ("a/b", "", "ключ", "k0", "..", "k0~2")
"""Keys that must not confuse anybody: unsafe in paths, empty, doubled, looking like a restarted one."""


class Values:
    """A source of values; a modest one makes no more children than it must."""

    def __init__(self, protocol: Protocol, random: Random) -> None:
        self._protocol = protocol
        self._random = random
        self.modest = False

    def of(self, _name: str, field: Field) -> Routed:
        """A value for a field."""
        return self._value(field, ())

    def _value(self, field: Field, siblings: tuple[str, ...]) -> Routed:
        expr = parse_type(field.type)
        if isinstance(expr, OptionalType) and self._random.random() < 0.2:
            return None
        inner = bare(expr)
        if is_item_list(field):
            return self._items(field, siblings)
        match inner:
            case EnumType(values):
                return self._random.choice(values)
            case ScalarType("bool"):
                return self._random.random() < 0.5
            case ScalarType("int" | "number"):
                return self._random.choice(_WIDTHS)
            case ListType():
                return self._random.choice(_WIDTHS)
            case RecordType():
                return True
        return self._random.choice(("one", "two"))

    def _items(self, field: Field, siblings: tuple[str, ...]) -> tuple[Item | str, ...]:
        fields = element(self._protocol, field)
        if fields is None:
            return self._texts(siblings)
        keys = self._keys()
        items = []
        for at, key in enumerate(keys):
            before = keys[:at] if self._random.random() < 0.9 else keys
            values = {name: self._value(part, before) for name, part in fields.items()}
            items.append(Item(key, f"text:{key}", values))
        return tuple(items)

    def _keys(self) -> tuple[str, ...]:
        width = min(self._random.choice(_WIDTHS), 1) if self.modest else self._random.choice(_WIDTHS)
        odd = self._random.random() < 0.1
        return tuple(self._random.choice(_ODD_KEYS) if odd else f"k{at}" for at in range(width))

    def _texts(self, siblings: tuple[str, ...]) -> tuple[str, ...]:
        """Names of other items: mostly of earlier ones, sometimes of none that exists."""
        known = [key for key in siblings if self._random.random() < 0.4]
        return (*known, "nobody") if self._random.random() < 0.03 else tuple(known)
