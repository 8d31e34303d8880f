"""Example answers, made from the types of an exit: short, well-formed, and plainly not real."""

import json
from collections.abc import Mapping
from typing import Final

from treadle.protocol.answers.schema import TAG
from treadle.protocol.fields import (
    BareType,
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarName,
    ScalarType,
    asked,
)
from treadle.protocol.items import Json
from treadle.protocol.model import Field, Protocol

_SCALARS: Final[dict[ScalarName, Json]] = {"text": "…", "int": 1, "number": 1.5, "bool": True}
_DEPTH: Final = 4


def example(protocol: Protocol, exit_name: str, called: str = "") -> str:
    """An answer by this exit, or by another name of it, on one line, with the fields that it must have."""
    fields = _fields(protocol, protocol.exits[exit_name].fields, "", 0)
    return json.dumps({"exit": {TAG: called or exit_name, **fields}}, ensure_ascii=False)


def _fields(protocol: Protocol, fields: Mapping[str, Field], key: str, depth: int) -> dict[str, Json]:
    return {
        name: f"{name}-1" if name == key and expr == ScalarType("text") else _value(protocol, expr, name, depth)
        for name, _, expr in asked(fields)
        if not isinstance(expr, OptionalType)
    }


def _value(protocol: Protocol, expr: BareType, field: str, depth: int) -> Json:
    match expr:
        case ScalarType(name="path"):
            return f"path/to/{field}"
        case ScalarType(name=name):
            return _SCALARS[name]
        case EnumType(values=values):
            return values[0]
        case ListType(item=item):
            return [] if depth >= _DEPTH else [_value(protocol, item, field, depth + 1)]
        case RecordType(name=name):
            record = protocol.types[name]
            return _fields(protocol, record.fields, record.key, depth + 1) if depth < _DEPTH * 2 else {}
