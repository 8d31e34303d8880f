"""The JSON Schema that an agent sees: the exits it may claim, and the fields of each.

It stays inside the subset that the strictest model APIs accept: an object at the top and no union beside it, unions as
`anyOf`, `$ref` only to `#/$defs` and without neighbours, no keyword that limits lengths, ranges or patterns (`validate`
does).
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
    agent_fields,
)
from treadle.protocol.model import Field, Protocol, Step

Schema: TypeAlias = dict[str, Any]
Exits: TypeAlias = Step | Iterable[str]
"""A step, or the names of its exits."""

TAG: Final = "type"
"""The key that names the claimed exit; no exit has a field of this name."""
TOOL: Final = "exit_"
_SCALARS: Final[dict[ScalarName, str]] = {
    "text": "string",
    "path": "string",
    "int": "integer",
    "number": "number",
    "bool": "boolean",
}
_JSON_TYPES: Final = {str: "string", int: "integer", float: "number"}
_PATH_HELP: Final = "A path relative to the root of the repository, with /."


def exit_names(exits: Exits) -> tuple[str, ...]:
    """The names of a step's exits."""
    return exits.exits if isinstance(exits, Step) else tuple(exits)


def schema(protocol: Protocol, exits: Exits, *, strict: bool = False) -> Schema:
    """The schema of an answer: `{"exit": {"type": "TestsReady", …}}`.

    Optional fields may be left out or null; with `strict` they must be there, as null, which some APIs insist on.
    """
    writer = _Writer(protocol, strict)
    claims = []
    for name in exit_names(exits):
        properties, required = writer.properties(protocol.exits[name].fields)
        tag = {TAG: {"type": "string", "const": name}}
        claims.append(_object(tag | properties, [TAG, *required], protocol.exits[name].help))
    union = {"description": "How this step ends: exactly one of these.", "anyOf": claims}
    return writer.root({"exit": union}, required=["exit"])


def tool_schemas(protocol: Protocol, exits: Exits, *, strict: bool = False) -> dict[str, Schema]:
    """One schema per exit, under the name of its tool: `exit_TestsReady`."""
    schemas = {}
    for name in exit_names(exits):
        writer = _Writer(protocol, strict)
        schemas[TOOL + name] = writer.root(
            *writer.properties(protocol.exits[name].fields), help_=protocol.exits[name].help
        )
    return schemas


class _Writer:
    """Writes schemas of one document and gathers the definitions they refer to."""

    def __init__(self, protocol: Protocol, strict: bool) -> None:
        self.protocol, self.strict = protocol, strict
        self.defs: dict[str, Schema] = {}

    def root(self, properties: Mapping[str, Schema], required: list[str], help_: str = "") -> Schema:
        document = _object(properties, required, help_)
        return {**document, "$defs": self.defs} if self.defs else document

    def properties(self, fields: Mapping[str, Field]) -> tuple[dict[str, Schema], list[str]]:
        """The properties that an agent fills in, and which of them it must."""
        properties: dict[str, Schema] = {}
        required = []
        for name, field, expr in agent_fields(fields):
            body = self._type(expr)
            if field.help:
                shape = {"anyOf": [body]} if "$ref" in body else body  # a reference may have no neighbours
                body = {"description": field.help, **{key: shape[key] for key in shape if key != "description"}}
            properties[name] = body
            if self.strict or not isinstance(expr, OptionalType):
                required.append(name)
        return properties, required

    def _type(self, expr: TypeExpr) -> Schema:
        match expr:
            case ScalarType(name="path"):
                return {"type": "string", "description": _PATH_HELP}
            case ScalarType(name=name):
                return {"type": _SCALARS[name]}
            case EnumType(values=values):
                kinds = list(dict.fromkeys(_JSON_TYPES[type(value)] for value in values))
                return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(values)}
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


def _nullable(body: Schema) -> Schema:
    if "$ref" in body:
        return {"anyOf": [body, {"type": "null"}]}
    kinds = body["type"] if isinstance(body["type"], list) else [body["type"]]
    null = {"enum": [*body["enum"], None]} if "enum" in body else {}
    return {**body, "type": [*kinds, "null"], **null}
