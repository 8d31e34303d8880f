"""The search: one substring in any case, over names, types and observations, with an index of trigrams in front."""

import sqlite3
from collections.abc import Iterable
from typing import Final

SHORTEST: Final = 3
"""Characters of a trigram. A shorter query is a prefix of some trigrams: padding follows each indexed text."""
MOST: Final = 16
"""The maximum of trigrams in a query: beyond it SQLite needs longer than the texts it saves us from reading."""
_SKIPPED: Final = "\0"
_INSTEAD: Final = "\ufffd"
"""The substitute for NUL in the index: SQLite drops NUL from its trigrams, and would join the characters around it."""
_END: Final = _INSTEAD * (SHORTEST - 1)
_UNTOLD: Final = frozenset("\ufffe\uffff")
"""Characters that SQLite reads as U+FFFD."""
_MOST_BEGUN: Final = 50
"""Trigrams that a short query may begin; with more of them, looking at every text is as quick."""
_BEGUN: Final = "SELECT term FROM trigrams WHERE term >= ? AND term <= ? LIMIT ?"
_LAST: Final = "\U0010ffff" * SHORTEST
_FORGET: Final = "INSERT INTO words (words, rowid, text, type) VALUES ('delete', ?, ?, ?)"
_INDEXED: Final = """
    WITH hits AS MATERIALIZED (SELECT rowid AS hit FROM words WHERE words MATCH :trigrams)
    SELECT id, name FROM hits JOIN entities ON id = -hit
    UNION ALL SELECT id, type FROM hits JOIN entities ON id = -hit
    UNION ALL SELECT entity, content FROM hits JOIN observations ON id = hit
"""
_SCANNED: Final = """
    SELECT id, name FROM entities WHERE space = :space
    UNION ALL SELECT id, type FROM entities WHERE space = :space
    UNION ALL SELECT entity, content FROM observations WHERE entity IN (SELECT id FROM entities WHERE space = :space)
"""


def add_entity(db: sqlite3.Connection, entity: int, name: str, type_: str) -> None:
    """Index an entity's name and type, under its negated id. Observations use the rowids above zero."""
    db.execute("INSERT INTO words (rowid, text, type) VALUES (?, ?, ?)", (-entity, _put(name), _put(type_)))


def add_observations(db: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Index observations: id and content of each."""
    statement = "INSERT INTO words (rowid, text) VALUES (?, ?)"
    db.executemany(statement, ((id_, _put(content)) for id_, content in rows))


def forget_entity(db: sqlite3.Connection, entity: int, name: str, type_: str) -> None:
    """Undo `add_entity`; requires the same arguments."""
    db.execute(_FORGET, (-entity, _put(name), _put(type_)))


def forget_observations(db: sqlite3.Connection, rows: Iterable[tuple[int, str]]) -> None:
    """Undo `add_observations`; requires the same arguments."""
    db.executemany(_FORGET, ((id_, _put(content), None) for id_, content in rows))


def search_index(db: sqlite3.Connection, query: str) -> set[int] | None:
    """Return the indexed entities that match a query; None if the index cannot answer."""
    if len(kept := _kept(query)) < SHORTEST:
        return _begun(db, kept, query)
    # Never as a phrase: SQLite would put together the places of all its trigrams, which for a long query in a long text
    # that repeats itself takes minutes, and gigabytes.
    return _indexed(db, " AND ", _trigrams(kept), query)


def scan_texts(db: sqlite3.Connection, space: str, query: str) -> set[int]:
    """The entities of a space that a query finds, by looking at every text."""
    return _having(db.execute(_SCANNED, {"space": space}), query)


def _begun(db: sqlite3.Connection, kept: str, query: str) -> set[int] | None:
    """Search for a query that is shorter than a trigram: each occurrence begins one. None if the index cannot
    answer.
    """
    if not kept or not _UNTOLD.isdisjoint(kept):
        return None
    terms = [term for (term,) in db.execute(_BEGUN, (kept, kept + _LAST, _MOST_BEGUN + 1))]
    if len(terms) > _MOST_BEGUN:
        return None
    return _indexed(db, " OR ", terms, query) if terms else set()


def _indexed(db: sqlite3.Connection, joint: str, trigrams: Iterable[str], query: str) -> set[int]:
    asked = joint.join('"' + trigram.replace('"', '""') + '"' for trigram in trigrams)
    return _having(db.execute(_INDEXED, {"trigrams": asked}), query)


def _having(texts: Iterable[tuple[int, str]], query: str) -> set[int]:
    """Return the entities that contain the query in one of their texts."""
    wanted = query.lower()
    hits: set[int] = set()
    for entity, text in texts:
        if entity not in hits and wanted in text.lower():
            hits.add(entity)
    return hits


def _trigrams(text: str) -> list[str]:
    """Return some trigrams from all parts of a text; each match must contain all of them."""
    every = list(dict.fromkeys(text[n : n + SHORTEST] for n in range(len(text) - SHORTEST + 1)))
    return every[:: -(-len(every) // MOST)]


def _put(text: str) -> str:
    return _kept(text) + _END


def _kept(text: str) -> str:
    return text.lower().replace(_SKIPPED, _INSTEAD)
