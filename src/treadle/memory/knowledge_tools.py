"""The nine tools of the public knowledge-graph memory server, as data: names, inputs, answers and words are its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.errors import TreadleError
from treadle.memory.store import (
    Entity,
    KnowledgeGraph,
    NewObservations,
    ObservationDeletion,
    Relation,
    Space,
    UnknownEntity,
)
from treadle.protocol.answers.schema import Schema
from treadle.results.tools import ToolReply, ToolSpec

# Validation of arguments: the public server's schemas, and its wording of errors.
#
# In addition, texts must be storable unchanged: no lone surrogates, and not too long.

LARGEST: Final = 1_000_000
"""Bytes of a text, in UTF-8."""
UNREADABLE: Final = "\ufdd0\u2060unreadable\u2060\ufdd0"
"""Stands, in a message that came in, for bytes that are not UTF-8 and for halves of characters."""

_KINDS: Final = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def refusal(tool: str, takes: Schema, arguments: Mapping[str, Any]) -> str:
    """Return the reason why a tool refuses arguments, in the public server's words where it refuses too; empty if it
    accepts.
    """
    if misfits := _misfits(takes, dict(arguments), ""):
        return f"MCP error -32602: Input validation error: Invalid arguments for tool {tool}: " + "\n".join(misfits)
    return "\n".join(_unstorable(takes, dict(arguments), ""))


def _misfits(takes: Schema, value: Any, at: str) -> list[str]:
    wanted = takes["type"]
    if _kind(value) != wanted:
        return [f"Invalid input: expected {wanted}, received {_kind(value)} at {at}"]
    if allowed := takes.get("enum"):
        return [] if value in allowed else [f"Invalid option: expected one of {'|'.join(allowed)} at {at}"]
    return [problem for inner, part, where in _parts(takes, value, at) for problem in _misfits(inner, part, where)]


def _unstorable(takes: Schema, value: Any, at: str) -> list[str]:
    """Return why texts in a value cannot be stored unchanged."""
    if not isinstance(value, str):
        return [each for inner, part, where in _parts(takes, value, at) for each in _unstorable(inner, part, where)]
    if UNREADABLE in value or any("\ud800" <= char <= "\udfff" for char in value if char > "\ud7ff"):
        problem = "it has bytes that are not UTF-8, or half of a character; nothing was changed"
        return [f"{at} cannot be kept as it is: {problem}"]
    size = len(value) if value.isascii() else len(value.encode())
    if size > LARGEST:
        return [f"{at} has {size} bytes, the limit is {LARGEST}; split it, or keep it in a file and remember where"]
    return []


def _parts(takes: Schema, value: Any, at: str) -> list[tuple[Schema, Any, str]]:
    """Return the inner values, each with its schema and its path; fields outside of the schema are ignored."""
    if isinstance(value, list):
        return [(takes["items"], part, f"{at}[{n}]") for n, part in enumerate(value)]
    if not isinstance(value, dict):
        return []
    required = takes.get("required", ())
    return [
        (inner, value.get(name, _ABSENT), f"{at}.{name}" if at else name)
        for name, inner in takes["properties"].items()
        if name in value or name in required
    ]


_ABSENT: Final = object()
"""A missing value."""


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "undefined" if value is _ABSENT else _KINDS.get(type(value), "undefined")


_DIALECT: Final[Schema] = {"$schema": "http://json-schema.org/draft-07/schema#"}


def text_schema(about: str) -> Schema:
    return {"type": "string", "description": about}


def _texts(about: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": about}


def _list(items: Schema, about: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": about} if about else {})


def _object(properties: Mapping[str, Schema]) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties)}
    return schema | ({"required": list(properties)} if properties else {})


def _closed(schema: Schema) -> Schema:
    """As answers are described: nothing that is not named."""
    closed = {name: _closed(value) if isinstance(value, dict) else value for name, value in schema.items()}
    return closed | ({"additionalProperties": False} if schema.get("type") == "object" else {})


ENTITY: Final = _object(
    {
        "name": text_schema("The name of the entity"),
        "entityType": text_schema("The type of the entity"),
        "observations": _texts("An array of observation contents associated with the entity"),
    }
)
RELATION: Final = _object(
    {
        "from": text_schema("The name of the entity where the relation starts"),
        "to": text_schema("The name of the entity where the relation ends"),
        "relationType": text_schema("The type of the relation"),
    }
)
_CONTENTS: Final = _object(
    {
        "entityName": text_schema("The name of the entity to add the observations to"),
        "contents": _texts("An array of observation contents to add"),
    }
)
_DELETION: Final = _object(
    {
        "entityName": text_schema("The name of the entity containing the observations"),
        "observations": _texts("An array of observations to delete"),
    }
)
_ADDED: Final = _object(
    {"entityName": {"type": "string"}, "addedObservations": {"type": "array", "items": {"type": "string"}}}
)
_DONE: Final = _closed(_object({"success": {"type": "boolean"}, "message": {"type": "string"}}))
_GRAPH: Final = _closed(_object({"entities": _list(ENTITY), "relations": _list(RELATION)}))


def _hints(*, reads: bool = False, destroys: bool = False) -> dict[str, bool]:
    return {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": reads or destroys,
        "openWorldHint": False,
    }


def _tool(name: str, about: str, takes: Mapping[str, Schema], gives: Schema, hints: dict[str, bool]) -> ToolSpec:
    title = name.replace("_", " ").title()
    return ToolSpec(name, about, _DIALECT | _object(takes), title=title, gives=_DIALECT | gives, hints=hints)


TOOLS: Final = (
    _tool(
        "create_entities",
        "Create multiple new entities in the knowledge graph",
        {"entities": _list(ENTITY)},
        _closed(_object({"entities": _list(ENTITY)})),
        _hints(),
    ),
    _tool(
        "create_relations",
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice",
        {"relations": _list(RELATION)},
        _closed(_object({"relations": _list(RELATION)})),
        _hints(),
    ),
    _tool(
        "add_observations",
        "Add new observations to existing entities in the knowledge graph",
        {"observations": _list(_CONTENTS)},
        _closed(_object({"results": _list(_ADDED)})),
        _hints(),
    ),
    _tool(
        "delete_entities",
        "Delete multiple entities and their associated relations from the knowledge graph",
        {"entityNames": _texts("An array of entity names to delete")},
        _DONE,
        _hints(destroys=True),
    ),
    _tool(
        "delete_observations",
        "Delete specific observations from entities in the knowledge graph",
        {"deletions": _list(_DELETION)},
        _DONE,
        _hints(destroys=True),
    ),
    _tool(
        "delete_relations",
        "Delete multiple relations from the knowledge graph",
        {"relations": _list(RELATION, "An array of relations to delete")},
        _DONE,
        _hints(destroys=True),
    ),
    _tool("read_graph", "Read the entire knowledge graph", {}, _GRAPH, _hints(reads=True)),
    _tool(
        "search_nodes",
        "Search for nodes in the knowledge graph based on a query",
        {"query": text_schema("The search query to match against entity names, types, and observation content")},
        _GRAPH,
        _hints(reads=True),
    ),
    _tool(
        "open_nodes",
        "Open specific nodes in the knowledge graph by their names",
        {"names": _texts("An array of entity names to retrieve")},
        _GRAPH,
        _hints(reads=True),
    ),
)
_TAKES: Final = {tool.name: tool.takes for tool in TOOLS}


def call(space: Space, name: str, arguments: Mapping[str, Any]) -> ToolReply:
    """Call one of the nine tools on a graph; the reply has structured data, and the same as text in the public server's
    format.
    """
    if wrong := refusal(name, _TAKES[name], arguments):
        return ToolReply(wrong, ok=False)
    match name:
        case "create_entities":
            return _reply(space.create_entities(msgspec.convert(arguments["entities"], list[Entity])), "entities")
        case "create_relations":
            return _reply(space.create_relations(msgspec.convert(arguments["relations"], list[Relation])), "relations")
        case "add_observations":
            added = space.add_observations(msgspec.convert(arguments["observations"], list[NewObservations]))
            if isinstance(added, UnknownEntity):
                return ToolReply(f"Entity with name {added.name} not found", ok=False)
            return _reply(added, "results")
        case "delete_entities":
            space.delete_entities(arguments["entityNames"])
            return _deleted("Entities")
        case "delete_observations":
            space.delete_observations(msgspec.convert(arguments["deletions"], list[ObservationDeletion]))
            return _deleted("Observations")
        case "delete_relations":
            space.delete_relations(msgspec.convert(arguments["relations"], list[Relation]))
            return _deleted("Relations")
        case "read_graph":
            return _reply(space.read_graph())
        case "search_nodes":
            return _reply(space.search_nodes(arguments["query"]))
        case _:
            return _reply(space.open_nodes(arguments["names"]))


def _reply(value: object, key: str = "") -> ToolReply:
    """Return a value as data, below a key if there is one, and as text in the format of `JSON.stringify`."""
    plain = msgspec.json.decode(msgspec.json.encode(value))  # as JSON has it: lists, no tuples
    return ToolReply(json.dumps(plain, indent=2, ensure_ascii=False), data={key: plain} if key else plain)


def _deleted(what: str) -> ToolReply:
    message = f"{what} deleted successfully"
    return ToolReply(message, data={"success": True, "message": message})


# The public server's file: JSON Lines, one entity or relation per line, without a final newline.

_SCHEMAS: Final = {"entity": ENTITY, "relation": RELATION}


def dump_graph(graph: KnowledgeGraph) -> str:
    """Encode a graph as the public server stores it, byte for byte."""
    items = [("entity", item) for item in graph.entities] + [("relation", item) for item in graph.relations]
    plain = ({"type": kind, **msgspec.to_builtins(item)} for kind, item in items)
    return "\n".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in plain)


def load_graph(path: Path) -> KnowledgeGraph:
    """Parse the graph in a file; skip lines of another type, as the public server does; an error names the line."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise TreadleError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}", code="file.unreadable"
        ) from None
    except UnicodeDecodeError as error:
        raise TreadleError(
            f"{path} is not UTF-8 (byte {error.start}); nothing was imported", code="file.encoding"
        ) from None
    entities: list[Entity] = []
    relations: list[Relation] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            item = _item(line, f"{path}:{number}")
            if isinstance(item, Entity):
                entities.append(item)
            elif isinstance(item, Relation):
                relations.append(item)
    if text.strip() and not entities and not relations:
        raise TreadleError(
            f"{path} has no entity and no relation; a line of the public server's file is"
            ' {"type":"entity","name":…,"entityType":…,"observations":[…]}',
            code="memory.import",
        )
    return KnowledgeGraph(tuple(entities), tuple(relations))


def _item(line: str, where: str) -> Entity | Relation | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TreadleError(f"{where} is not JSON ({error}); nothing was imported", code="memory.import") from None
    kind = value.get("type") if isinstance(value, dict) else None
    schema = _SCHEMAS.get(kind) if isinstance(kind, str) else None
    if schema is None:
        return None
    if wrong := _misfits(schema, value, "") or _unstorable(schema, value, ""):
        raise TreadleError(f"{where}: {wrong[0]}; nothing was imported", code="memory.import")
    return msgspec.convert(value, Entity) if kind == "entity" else msgspec.convert(value, Relation)
