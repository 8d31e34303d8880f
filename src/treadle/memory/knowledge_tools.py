"""The nine tools of the public knowledge-graph memory server, as data: names, inputs, answers and words are its own."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from treadle.memory.graph import Contents, Deletion, Entity, Graph, Relation, Unknown
from treadle.memory.inputs import refused
from treadle.memory.store import Space
from treadle.protocol.answers.schema import Schema
from treadle.results.offered import Offered, Said

_DIALECT: Final[Schema] = {"$schema": "http://json-schema.org/draft-07/schema#"}


def _text(about: str) -> Schema:
    return {"type": "string", "description": about}


def _texts(about: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": about}


def _list(items: Schema, about: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": about} if about else {})


def _object(properties: Mapping[str, Schema]) -> Schema:
    found: Schema = {"type": "object", "properties": dict(properties)}
    return found | ({"required": list(properties)} if properties else {})


def _closed(schema: Schema) -> Schema:
    """As answers are described: nothing that is not named."""
    found = {name: _closed(value) if isinstance(value, dict) else value for name, value in schema.items()}
    return found | ({"additionalProperties": False} if schema.get("type") == "object" else {})


ENTITY: Final = _object(
    {
        "name": _text("The name of the entity"),
        "entityType": _text("The type of the entity"),
        "observations": _texts("An array of observation contents associated with the entity"),
    }
)
RELATION: Final = _object(
    {
        "from": _text("The name of the entity where the relation starts"),
        "to": _text("The name of the entity where the relation ends"),
        "relationType": _text("The type of the relation"),
    }
)
_CONTENTS: Final = _object(
    {
        "entityName": _text("The name of the entity to add the observations to"),
        "contents": _texts("An array of observation contents to add"),
    }
)
_DELETION: Final = _object(
    {
        "entityName": _text("The name of the entity containing the observations"),
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


def _tool(name: str, about: str, takes: Mapping[str, Schema], gives: Schema, hints: dict[str, bool]) -> Offered:
    title = name.replace("_", " ").title()
    return Offered(name, about, _DIALECT | _object(takes), title=title, gives=_DIALECT | gives, hints=hints)


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
        {"query": _text("The search query to match against entity names, types, and observation content")},
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


def call(space: Space, name: str, given: Mapping[str, Any]) -> Said:
    """What one of the nine does to a graph; the text is what the structure says, as the public server writes it."""
    if wrong := refused(name, _TAKES[name], given):
        return Said(wrong, ok=False)
    return _CALLS[name](space, given)


def _plain(found: object) -> Any:
    """As JSON has it: lists, no tuples."""
    return msgspec.json.decode(msgspec.json.encode(found))


def _listed(key: str, found: object) -> Said:
    plain = _plain(found)
    return Said(written(plain), data={key: plain})


def _done(what: str) -> Said:
    message = f"{what} deleted successfully"
    return Said(message, data={"success": True, "message": message})


def _graph(found: Graph) -> Said:
    plain = _plain(found)
    return Said(written(plain), data=plain)


def written(plain: Any) -> str:
    """JSON as `JSON.stringify(value, null, 2)` writes it."""
    return json.dumps(plain, indent=2, ensure_ascii=False)


def _create_entities(space: Space, given: Mapping[str, Any]) -> Said:
    return _listed("entities", space.create_entities(msgspec.convert(given["entities"], list[Entity])))


def _create_relations(space: Space, given: Mapping[str, Any]) -> Said:
    return _listed("relations", space.create_relations(msgspec.convert(given["relations"], list[Relation])))


def _add_observations(space: Space, given: Mapping[str, Any]) -> Said:
    found = space.add_observations(msgspec.convert(given["observations"], list[Contents]))
    if isinstance(found, Unknown):
        return Said(f"Entity with name {found.name} not found", ok=False)
    return _listed("results", found)


def _delete_entities(space: Space, given: Mapping[str, Any]) -> Said:
    space.delete_entities(given["entityNames"])
    return _done("Entities")


def _delete_observations(space: Space, given: Mapping[str, Any]) -> Said:
    space.delete_observations(msgspec.convert(given["deletions"], list[Deletion]))
    return _done("Observations")


def _delete_relations(space: Space, given: Mapping[str, Any]) -> Said:
    space.delete_relations(msgspec.convert(given["relations"], list[Relation]))
    return _done("Relations")


_CALLS: Final[Mapping[str, Callable[[Space, Mapping[str, Any]], Said]]] = {
    "create_entities": _create_entities,
    "create_relations": _create_relations,
    "add_observations": _add_observations,
    "delete_entities": _delete_entities,
    "delete_observations": _delete_observations,
    "delete_relations": _delete_relations,
    "read_graph": lambda space, _: _graph(space.read_graph()),
    "search_nodes": lambda space, given: _graph(space.search_nodes(given["query"])),
    "open_nodes": lambda space, given: _graph(space.open_nodes(given["names"])),
}
