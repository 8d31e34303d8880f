"""The search: one substring in any case, over names, types and observations, with an index of trigrams in front."""

import sqlite3
from collections.abc import Iterable
from typing import Final

SHORTEST: Final = 3
"""Characters; what is shorter has no trigram, and every text is looked at."""
_SKIPPED: Final = "\0"
_INSTEAD: Final = "\ufffd"
"""SQLite leaves NUL out of its trigrams, so that it would not be seen where one is; this stands for it there."""
_FORGET: Final = "INSERT INTO words (words, rowid, text, type) VALUES ('delete', ?, ?, ?)"
_INDEXED: Final = """
    WITH hits AS MATERIALIZED (SELECT rowid AS hit FROM words WHERE words MATCH :phrase)
    SELECT -hit FROM hits WHERE hit < 0
    UNION SELECT entity FROM hits JOIN observations ON id = hit WHERE hit > 0
"""


def add_entity(db: sqlite3.Connection, entity: int, name: str, type_: str) -> None:
    """Have an entity found by its name and its type. Observations have its rowids above zero."""
    db.execute("INSERT INTO words (rowid, text, type) VALUES (?, ?, ?)", (-entity, _kept(name), _kept(type_)))


def add_observations(db: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Have entities found by observations: id and content of each."""
    statement = "INSERT INTO words (rowid, text) VALUES (?, ?)"
    db.executemany(statement, ((id_, _kept(content)) for id_, content in rows))


def forget_entity(db: sqlite3.Connection, entity: int, name: str, type_: str) -> None:
    """The opposite of `add_entity`, with what it was told."""
    db.execute(_FORGET, (-entity, _kept(name), _kept(type_)))


def forget_observations(db: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """The opposite of `add_observations`, with what it was told."""
    db.executemany(_FORGET, ((id_, _kept(content), None) for id_, content in rows))


def found(db: sqlite3.Connection, query: str) -> set[int] | None:
    """The indexed entities that a query finds; None if the index cannot tell."""
    wanted = query.lower()
    if len(wanted) < SHORTEST or _SKIPPED in wanted or _INSTEAD in wanted:
        return None
    phrase = '"' + wanted.replace('"', '""') + '"'
    return {id_ for (id_,) in db.execute(_INDEXED, {"phrase": phrase})}


def scanned(db: sqlite3.Connection, space: str, query: str) -> set[int]:
    """The entities of a space that a query finds, by looking at every text."""
    wanted = query.lower()
    heads = db.execute("SELECT id, name, type FROM entities WHERE space = ?", (space,)).fetchall()
    hits = {id_ for id_, name, type_ in heads if wanted in name.lower() or wanted in type_.lower()}
    texts = db.execute(
        "SELECT entity, content FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = ?)", (space,)
    )
    return hits | {entity for entity, content in texts if entity not in hits and wanted in content.lower()}


def _kept(text: str) -> str:
    return text.lower().replace(_SKIPPED, _INSTEAD)
