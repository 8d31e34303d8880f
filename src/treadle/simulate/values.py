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
    """A source of values; a modest one makes no more children than it must, an odd one also what nobody may hand in."""

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
        """A value for a field of a run's input: what is required there is not empty."""
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
        fields = element(self._protocol, field)
        if fields is None:
            return self._texts(siblings)
        keys = self._keys(least)
        items = []
        for at, key in enumerate(keys):
            before = keys if self._strange(0.1) else keys[:at]
            values = {name: self._value(part, before) for name, part in fields.items()}
            items.append(Item(key, f"text:{key}", values))
        return tuple(items)

    def _keys(self, least: int) -> tuple[str, ...]:
        width = min(self._random.choice(_WIDTHS), 1) if self.modest else self._random.choice(_WIDTHS)
        width = max(width, least)
        odd = self._strange(0.1)
        return tuple(self._random.choice(_ODD_KEYS) if odd else f"k{at}" for at in range(width))

    def _texts(self, siblings: tuple[str, ...]) -> tuple[str, ...]:
        """Names of other items: of earlier ones; in an odd world also of none that exists."""
        known = [key for key in siblings if self._random.random() < 0.4]
        return (*known, "nobody") if self._strange(0.03) else tuple(known)

    def _strange(self, chance: float) -> bool:
        """Whether something is made that Treadle itself would refuse."""
        return self._random.random() < chance and self._odd
