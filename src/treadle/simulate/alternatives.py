"""The values of a field that an exhaustive search must tell apart: those that guards, spawns and maps tell apart."""

from collections.abc import Iterable
from itertools import product
from typing import Final

from treadle.protocol.fields import EnumType, OptionalType, ScalarType, bare, parse_type
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Field, Protocol
from treadle.simulate.claims import element, is_item_list
from treadle.simulate.relevance import Literal, Relevance
from treadle.simulate.scope import Scope

_KEYS: Final = "abcdefgh"


NEW, OFTEN = "new", "often"
"""Two questions: how often one was asked is taken as given, as budgets are (see `explore`)."""


class Alternatives:
    """Small sets of values for one protocol at one scope."""

    def __init__(self, protocol: Protocol, scope: Scope, relevant: Iterable[Relevance]) -> None:
        self._protocol = protocol
        self._scope = scope
        self._compared: dict[str, set[Literal]] = {}
        for part in relevant:
            for field, literals in part.fields.items():
                self._compared.setdefault(field, set()).update(literals)

    def of(self, owner: str, name: str, field: Field, leaf: bool) -> tuple[Routed, ...]:
        """Values of a field of an exit, a record or the input (`owner`); a leaf starts no children."""
        given = self._scope.values.get(f"{owner}.{name}", self._scope.values.get(name))
        if given is not None:
            return given
        if field.route == "asked":
            return (NEW, OFTEN)
        if name not in self._compared:
            return (None,)
        optional = isinstance(parse_type(field.type), OptionalType)
        if is_item_list(field):
            return self._lists(owner, name, field, optional, leaf)
        return (None, *self._scalars(name, field)) if optional else self._scalars(name, field)

    def _scalars(self, name: str, field: Field) -> tuple[Routed, ...]:
        literals = self._compared[name]
        match bare(parse_type(field.type)):
            case EnumType(values):
                return values
            case ScalarType("bool"):
                return (True, False)
            case ScalarType("text" | "path"):
                return (*sorted(value for value in literals if isinstance(value, str)), "other")
        near = {0, 1} | {int(value) + by for value in literals if isinstance(value, int | float) for by in (-1, 0, 1)}
        return tuple(sorted(value for value in near if value >= 0))

    def _lists(self, owner: str, name: str, field: Field, optional: bool, leaf: bool) -> tuple[Routed, ...]:
        if leaf:
            return (None,) if optional else ((),)
        given = self._scope.items.get(f"{owner}.{name}", self._scope.items.get(name))
        widths = given or ((None, *self._scope.widths) if optional else self._scope.widths)
        return tuple(None if width is None else self._list(field, width) for width in widths)

    def _list(self, field: Field, width: int) -> tuple[Item | str, ...]:
        return tuple(self._item(field, key) for key in _KEYS[:width])

    def _item(self, field: Field, key: str) -> Item | str:
        """One element; of its own fields, the last alternative (for a list: the widest)."""
        fields = element(self._protocol, field)
        if fields is None:
            return key
        return Item(key, "", {name: self.of("", name, part, False)[-1] for name, part in fields.items()})

    def combinations(self, owner: str, fields: dict[str, Field], leaf: bool) -> list[dict[str, Routed]]:
        """Every combination of the values of some fields."""
        values = [self.of(owner, name, field, leaf) for name, field in fields.items()]
        return [dict(zip(fields, chosen, strict=True)) for chosen in product(*values)]
