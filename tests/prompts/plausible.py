"""Plausible values of a protocol's types: every text says what it is, so that it can be found again in a prompt."""

from collections.abc import Mapping

from treadle.protocol.fields import BareType, EnumType, ListType, RecordType, ScalarType, bare, parse_type
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol

DEPTH = 4


def payload(protocol: Protocol, exit_name: str, text: str = "") -> dict[str, Json]:
    """The payload of an exit with all its fields, computed ones too; `text` replaces what its texts say."""
    return fields(protocol, protocol.exits[exit_name].fields, exit_name, text)


def fields(
    protocol: Protocol, declared: Mapping[str, Field], at: str, text: str = "", depth: int = 0
) -> dict[str, Json]:
    return {
        name: value(protocol, bare(parse_type(field.type)), f"{at}.{name}", text, depth)
        for name, field in declared.items()
    }


def value(protocol: Protocol, expr: BareType, at: str, text: str = "", depth: int = 0) -> Json:
    match expr:
        case ScalarType(name="path"):
            return f"src/{at.rpartition('.')[2]}"
        case ScalarType(name="text"):
            return text or f"the {at}"
        case ScalarType(name="bool"):
            return True
        case ScalarType():
            return 3
        case EnumType(values=values):
            return values[-1]
        case ListType(item=item):
            return [] if depth > DEPTH else [value(protocol, item, f"{at}.{n}", text, depth + 1) for n in range(2)]
        case RecordType(name=name):
            return fields(protocol, protocol.types[name].fields, at, text, depth + 1) if depth <= DEPTH else {}
