"""The public server's file: JSON Lines, an entity or a relation each, without a last newline."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.memory.graph import Entity, Graph, Relation
from treadle.memory.inputs import problems
from treadle.memory.knowledge_tools import ENTITY, RELATION

_SCHEMAS: Final = {"entity": ENTITY, "relation": RELATION}


def dumped(graph: Graph) -> str:
    """A graph as the public server stores it, byte for byte."""
    return "\n".join(_lines(graph))


def loaded(path: Path) -> Graph:
    """The graph in a file; lines of another type are left out, as the public server does; an error names the line."""
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
    return Graph(tuple(entities), tuple(relations))


def _lines(graph: Graph) -> Iterator[str]:
    for kind, items in (("entity", graph.entities), ("relation", graph.relations)):
        for item in items:
            plain = {"type": kind, **msgspec.to_builtins(item)}
            yield json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _item(line: str, where: str) -> Entity | Relation | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TreadleError(f"{where} is not JSON ({error}); nothing was imported", code="memory.import") from None
    kind = value.get("type") if isinstance(value, dict) else None
    schema = _SCHEMAS.get(kind) if isinstance(kind, str) else None
    if schema is None:
        return None
    if wrong := problems(schema, value):
        raise TreadleError(f"{where}: {wrong[0]}; nothing was imported", code="memory.import")
    return msgspec.convert(value, Entity) if kind == "entity" else msgspec.convert(value, Relation)
