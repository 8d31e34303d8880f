"""Values of a protocol's types that could be true: what plays the part of a measurement where nothing is measured."""

from collections.abc import Mapping
from typing import Final

from treadle.protocol.fields import (
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarName,
    ScalarType,
    TypeExpr,
    parse_type,
)
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol

_SCALARS: Final[dict[ScalarName, Json]] = {"text": "x", "path": "src/x.py", "int": 1, "number": 1.0, "bool": True}
_DEPTH: Final = 3


def computed(protocol: Protocol, exit_: str) -> dict[str, Json]:
    """The fields of an exit that nobody asks the agent for."""
    fields = protocol.exits[exit_].fields
    return plausible(protocol, {name: field for name, field in fields.items() if field.by != "agent"})


def plausible(protocol: Protocol, fields: Mapping[str, Field], depth: int = 0) -> dict[str, Json]:
    """A value for each field; lists have one element, optional ones are left out."""
    return {name: _value(protocol, name, parse_type(field.type), depth) for name, field in fields.items()}


def _value(protocol: Protocol, name: str, expr: TypeExpr, depth: int) -> Json:
    match expr:
        case OptionalType():
            return None
        case ScalarType(name="text"):
            return f"{name}-1"
        case ScalarType(name=scalar):
            return _SCALARS[scalar]
        case EnumType(values=values):
            return values[0]
        case ListType(item=item):
            return [] if depth >= _DEPTH else [_value(protocol, name, item, depth + 1)]
        case RecordType(name=record):
            return plausible(protocol, protocol.types[record].fields, depth + 1)
