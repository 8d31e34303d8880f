"""The shape of the store, as an ordered list of changes; a store knows how many of them it has seen."""

import sqlite3
from typing import Final

from treadle.errors import PortError

APPLICATION: Final = 0x54524541
"""Marks the file as ours (`TREA`)."""

MIGRATIONS: Final = (
    """
    CREATE TABLE runs (
        run TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        protocol TEXT NOT NULL,
        settings TEXT NOT NULL,
        created INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        seq INTEGER NOT NULL DEFAULT 0,
        chain BLOB NOT NULL DEFAULT x'',
        acts INTEGER NOT NULL DEFAULT 0,
        asks INTEGER NOT NULL DEFAULT 0,
        outcome TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL DEFAULT '',
        epoch INTEGER NOT NULL DEFAULT 0,
        lease_until INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE events (
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        body BLOB NOT NULL,
        chain BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX event_ids ON events (run, id);
    CREATE TABLE snapshots (
        run TEXT NOT NULL,
        seq INTEGER NOT NULL,
        protocol TEXT NOT NULL,
        state BLOB NOT NULL,
        hash BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    );
    CREATE TABLE outbox (
        run TEXT NOT NULL,
        id TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (run, id)
    ) WITHOUT ROWID;
    CREATE TABLE timers (
        run TEXT NOT NULL,
        id TEXT NOT NULL,
        due INTEGER NOT NULL,
        PRIMARY KEY (run, id)
    ) WITHOUT ROWID;
    CREATE INDEX timers_due ON timers (due);
    CREATE TABLE inbox (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL,
        id TEXT NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (run, id)
    );
    CREATE TABLE strays (
        n INTEGER PRIMARY KEY,
        run TEXT NOT NULL,
        at INTEGER NOT NULL,
        act TEXT NOT NULL,
        what TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX strays_run ON strays (run, act);
    CREATE TABLE payloads (ref TEXT PRIMARY KEY, size INTEGER NOT NULL, body BLOB) WITHOUT ROWID;
    CREATE TABLE chunks (ref TEXT NOT NULL, n INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (ref, n));
    CREATE TABLE protocols (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
    """,
    """
    CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID
    """,
)

VERSION: Final = len(MIGRATIONS)


def version(db: sqlite3.Connection) -> int:
    """How many of the changes a store has seen; a `PortError` if it is not a store, or one of a later Treadle."""
    seen = int(db.execute("PRAGMA user_version").fetchone()[0])
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    if not ours and (seen or db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]):
        raise PortError("this SQLite file was not made by treadle; move it away, and start again", code="store.foreign")
    if seen > VERSION:
        raise PortError(
            f"the store has version {seen}, this treadle knows {VERSION} at most; "
            "upgrade treadle (nothing has been changed)",
            code="store.newer",
        )
    return seen


def migrate(db: sqlite3.Connection) -> None:
    """Bring a store up to date, all at once or not at all."""
    if version(db) == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version(db), VERSION):  # asked again: another process may have been quicker
            for statement in MIGRATIONS[number].split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise
