"""The sources of statements in a memory: Treadle knows the author of each from the token of the activity."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

# Since version 2: the author of each statement (an observation, a relation, an entity), known from the token, and the
# facts to compare a dialogue's statements with. SQLite gives the id of a deleted row to another one, so a trigger
# deletes each source with its statement.
SOURCES: Final = (
    """
    CREATE TABLE sources (
        kind TEXT NOT NULL,
        id INTEGER NOT NULL,
        role TEXT NOT NULL,
        step TEXT NOT NULL,
        run TEXT NOT NULL,
        act TEXT NOT NULL,
        how TEXT NOT NULL,
        claim TEXT NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE facts (session TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (session, key))",
    *(
        f"CREATE TRIGGER {table}_gone AFTER DELETE ON {table} BEGIN"
        f" DELETE FROM sources WHERE kind = '{table}' AND id = old.id; END"
        for table in ("observations", "relations", "entities")
    ),
)
_COLUMNS: Final = "s.role, s.step, s.run, s.act, s.how, s.claim"
_AMONG: Final = "(SELECT value FROM json_each(?))"
_OBSERVATIONS: Final = f"""
    SELECT e.name, o.content, {_COLUMNS} FROM entities e JOIN observations o ON o.entity = e.id
    JOIN sources s ON s.kind = 'observations' AND s.id = o.id WHERE e.space = ? AND e.name IN {_AMONG} ORDER BY o.id
"""
_RELATIONS: Final = f"""
    SELECT r.source, r.source || ' ' || r.type || ' ' || r.target, {_COLUMNS} FROM relations r
    JOIN sources s ON s.kind = 'relations' AND s.id = r.id WHERE r.space = ? AND r.source IN {_AMONG} ORDER BY r.id
"""
_ENTITIES: Final = f"""
    SELECT e.name, e.name || ' is a ' || e.type, {_COLUMNS} FROM entities e
    JOIN sources s ON s.kind = 'entities' AND s.id = e.id WHERE e.space = ? AND e.name IN {_AMONG} ORDER BY e.id
"""


class StatementSource(msgspec.Struct, frozen=True, kw_only=True):
    """The author of a statement, as Treadle knows it; no agent can write it."""

    role: str
    step: str
    run: str
    act: str = ""
    how: str = "said"
    """`said` by an agent, an `accepted` answer of one, or the `task` that Treadle has given."""
    claim: str = ""
    """The fact that contradicts the statement; empty if Treadle knows none."""


class SourcedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a graph, and its author."""

    entity: str
    statement: str
    by: StatementSource


def write_source(db: sqlite3.Connection, kind: str, id_: int, by: StatementSource) -> None:
    """Keep the source of a row; `kind` is its table."""
    row = (kind, id_, by.role, by.step, by.run, by.act, by.how, by.claim)
    db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def read_sources(db: sqlite3.Connection, space: str, entities: Sequence[str]) -> list[SourcedStatement]:
    """Return the statements about some entities that have a source: observations, relations, kinds of entities."""
    rows = [
        row
        for query in (_OBSERVATIONS, _RELATIONS, _ENTITIES)
        for row in db.execute(query, (space, json.dumps(entities))).fetchall()
    ]
    return [SourcedStatement(entity=row[0], statement=row[1], by=source_of(row[2:])) for row in rows]


def source_of(row: Sequence[str]) -> StatementSource:
    """A row of the table of sources, without its key."""
    role, step, run, act, how, claim = row
    return StatementSource(role=role, step=step, run=run, act=act, how=how, claim=claim)
