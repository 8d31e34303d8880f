"""The shape of `memory.db`: a file of its own, so that agents that write much never keep a run's log waiting."""

import sqlite3
from pathlib import Path
from typing import Final

from treadle.errors import PortError
from treadle.store.connection import connect, transaction

FILE: Final = "memory.db"
APPLICATION: Final = 0x5452454D
"""Marks the file as ours (`TREM`)."""
VERSION: Final = 1

# The index holds texts in lower case as Python and JavaScript make them, which is not SQLite's way: `case_sensitive`
# keeps SQLite from folding them once more. It has no copy of the texts; what leaves it is told what it had put there.
# A seat is an agent's place in a dialogue while its activity lasts, by the mark of its token.
_SHAPE: Final = """
    CREATE TABLE entities (id INTEGER PRIMARY KEY, space TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL);
    CREATE INDEX entity_names ON entities (space, name);
    CREATE TABLE observations (
        id INTEGER PRIMARY KEY,
        entity INTEGER NOT NULL,
        at INTEGER NOT NULL,
        mark BLOB NOT NULL,
        content TEXT NOT NULL
    );
    CREATE INDEX observation_marks ON observations (entity, mark);
    CREATE TABLE relations (
        id INTEGER PRIMARY KEY,
        space TEXT NOT NULL,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        type TEXT NOT NULL
    );
    CREATE INDEX relation_sources ON relations (space, source, target);
    CREATE INDEX relation_targets ON relations (space, target);
    CREATE VIRTUAL TABLE words USING fts5(
        text, type, content='', columnsize=0, tokenize='trigram case_sensitive 1'
    );
    CREATE VIRTUAL TABLE trigrams USING fts5vocab('words', 'row');
    CREATE TABLE seats (
        mark TEXT PRIMARY KEY,
        run TEXT NOT NULL,
        session TEXT NOT NULL,
        act TEXT NOT NULL,
        step TEXT NOT NULL,
        agent TEXT NOT NULL,
        round TEXT NOT NULL,
        phase TEXT NOT NULL,
        n INTEGER NOT NULL,
        open INTEGER NOT NULL
    );
    CREATE INDEX seats_of ON seats (session, step, n);
    CREATE TABLE heard (session TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (session, key)) WITHOUT ROWID
"""


def opened(path: Path) -> sqlite3.Connection:
    """A connection to a memory, which is made if it is not there yet."""
    db = connect(path, create=True)
    try:
        _shape(db, path)
        db.execute("PRAGMA synchronous = NORMAL")  # `store.Memory` puts it on the disk soon after
    except BaseException:
        db.close()
        raise
    return db


def _shape(db: sqlite3.Connection, path: Path) -> None:
    if _version(db, path) == VERSION:
        return
    with transaction(db):
        if _version(db, path) == VERSION:  # another process was quicker
            return
        for statement in _SHAPE.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")


def _version(db: sqlite3.Connection, path: Path) -> int:
    seen = int(db.execute("PRAGMA user_version").fetchone()[0])
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    if not ours and (seen or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]):
        raise PortError(
            f"{path} is an SQLite file that was not made by treadle; move it away, and try again", code="store.foreign"
        )
    if seen > VERSION:
        raise PortError(
            f"{path} has version {seen}, this treadle knows {VERSION} at most; upgrade treadle", code="store.newer"
        )
    return seen
