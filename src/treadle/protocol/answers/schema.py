"""The JSON Schema that an agent sees: which exits there are, and what each must bring.

It stays inside what the strictest model APIs take: an object at the top and no union beside it, unions as `anyOf`,
`$ref` only to `#/$defs` and without neighbours, no keyword that limits lengths, ranges or patterns (`validate` does).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from treadle.protocol.fields import (
    EnumType,
    ListType,
    OptionalType,
    RecordType,
    ScalarName,
    ScalarType,
    TypeExpr,
    asked,
)
from treadle.protocol.model import Exit, Field, Protocol, Step

Schema: TypeAlias = dict[str, Any]
Exits: TypeAlias = Step | Iterable[str]
"""A step, or the names of its exits."""

TAG: Final = "type"
"""Says which exit an answer is; no exit has a field of this name."""
TOOL: Final = "exit_"
_SCALARS: Final[dict[ScalarName, str]] = {
    "text": "string",
    "path": "string",
    "int": "integer",
    "number": "number",
    "bool": "boolean",
}
_PATH_HELP: Final = "A path relative to the root of the repository, with /."


def exit_names(exits: Exits) -> tuple[str, ...]:
    """The names of a step's exits."""
    return exits.exits if isinstance(exits, Step) else tuple(exits)


def schema(protocol: Protocol, exits: Exits, *, strict: bool = False) -> Schema:
    """The schema of an answer: `{"exit": {"type": "TestsReady", …}}`.

    Optional fields may be left out or null; with `strict` they must be there, as null, which some APIs insist on.
    """
    writer = _Writer(protocol, strict)
    union = {"description": "How this step ends: exactly one of these.", "anyOf": writer.exits(exit_names(exits))}
    return writer.root({"exit": union}, required=["exit"])


def tool_schemas(protocol: Protocol, exits: Exits, *, strict: bool = False) -> dict[str, Schema]:
    """One schema per exit, under the name of its tool: `exit_TestsReady`."""
    return {TOOL + name: _tool_schema(protocol, name, strict) for name in exit_names(exits)}


def _tool_schema(protocol: Protocol, name: str, strict: bool) -> Schema:
    writer = _Writer(protocol, strict)
    exit_ = protocol.exits[name]
    properties, required = writer.properties(exit_.fields)
    return writer.root(properties, required, exit_.help)


class _Writer:
    """Writes schemas of one document and gathers the definitions they refer to."""

    def __init__(self, protocol: Protocol, strict: bool) -> None:
        self.protocol, self.strict = protocol, strict
        self.defs: dict[str, Schema] = {}

    def root(self, properties: Mapping[str, Schema], required: list[str], help_: str = "") -> Schema:
        document = _object(properties, required, help_)
        return {**document, "$defs": self.defs} if self.defs else document

    def exits(self, names: Iterable[str]) -> list[Schema]:
        return [self._exit(name, self.protocol.exits[name]) for name in names]

    def _exit(self, name: str, exit_: Exit) -> Schema:
        properties, required = self.properties(exit_.fields)
        tag = {"type": "string", "const": name}
        return _object({TAG: tag, **properties}, [TAG, *required], exit_.help)

    def properties(self, fields: Mapping[str, Field]) -> tuple[dict[str, Schema], list[str]]:
        """The properties that an agent fills in, and which of them it must."""
        known = list(asked(fields))
        properties = {name: self._described(self._type(expr), field.help) for name, field, expr in known}
        return properties, [name for name, _, expr in known if self.strict or not isinstance(expr, OptionalType)]

    def _described(self, body: Schema, help_: str) -> Schema:
        if not help_:
            return body
        return {"description": help_, **({"anyOf": [body]} if "$ref" in body else _without_help(body))}

    def _type(self, expr: TypeExpr) -> Schema:
        match expr:
            case ScalarType(name="path"):
                return {"type": "string", "description": _PATH_HELP}
            case ScalarType(name=name):
                return {"type": _SCALARS[name]}
            case EnumType(values=values):
                return {"type": _enum_type(values), "enum": list(values)}
            case ListType(item=item):
                return {"type": "array", "items": self._type(item)}
            case RecordType(name=name):
                return self._reference(name)
            case OptionalType(inner=inner):
                return _nullable(self._type(inner))

    def _reference(self, name: str) -> Schema:
        if name not in self.defs:
            record = self.protocol.types[name]
            self.defs[name] = {}  # before its fields, which may refer to it
            self.defs[name] = _object(*self.properties(record.fields), record.help)
        return {"$ref": f"#/$defs/{name}"}


def _object(properties: Mapping[str, Schema], required: list[str], help_: str) -> Schema:
    about = {"description": help_} if help_ else {}
    shape = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    return {**about, **shape}


def _enum_type(values: Iterable[str | int | float]) -> str | list[str]:
    names = {str: "string", int: "integer", float: "number"}
    found = list(dict.fromkeys(names[type(value)] for value in values))
    return found[0] if len(found) == 1 else found


def _nullable(body: Schema) -> Schema:
    if "$ref" in body:
        return {"anyOf": [body, {"type": "null"}]}
    kinds = body["type"] if isinstance(body["type"], list) else [body["type"]]
    null = {"enum": [*body["enum"], None]} if "enum" in body else {}
    return {**body, "type": [*kinds, "null"], **null}


def _without_help(body: Schema) -> Schema:
    return {key: value for key, value in body.items() if key != "description"}
