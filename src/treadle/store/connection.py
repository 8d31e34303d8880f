"""Connections to the store, and explanations of its failures."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from treadle.errors import PortError

_PATIENCE: Final = 20.0
"""Seconds to wait for another process that is writing."""


def connect(path: Path, *, create: bool = False, reading: bool = False) -> sqlite3.Connection:
    """Open a connection without automatic commits; commits are durable. A connection for reading changes no byte of the
    file.
    """
    if path.exists() and not path.is_file():
        raise PortError(f"{path} is not a file, but the store has to be there; move it away", code="store.foreign")
    mode = "rwc" if create else "rw"
    if reading:
        # In a read-only folder SQLite cannot create its own files; without a journal it needs none.
        is_still = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
        mode = "ro&immutable=1" if is_still else "ro"
    db = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,
        check_same_thread=False,  # a connection is handed to one thread, which need not be the one that opened it
    )
    if reading:
        return db
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA wal_autocheckpoint = 4000")
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run statements as one transaction."""
    # The write lock at once: a reader that becomes a writer later fails at once if another process has written since.
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has rolled back already
            db.execute("ROLLBACK")
        raise


@contextmanager
def glance(db: sqlite3.Connection) -> Iterator[None]:
    """Read inside of this context from one snapshot, unaffected by concurrent writers."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextmanager
def explaining_failures(path: Path) -> Iterator[None]:
    """Turn failures of SQLite into errors that explain the cause and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_failure(path, error) from error


def explain_failure(
    path: Path, error: sqlite3.Error, meanings: Mapping[int, str] | None = None, what: str = "store"
) -> PortError:
    """Return an error that explains a failure of the store, or of another SQLite file."""
    number = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    meaning = (meanings or _MEANINGS).get(number)
    if meaning is None:
        return PortError(f"{path}: the {what} failed: {error}", code="store.failed")
    is_passing = number in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)
    return PortError(f"{path}: {meaning.format(file=path.name)}", retryable=is_passing, code=_CODES[number])


_CODES: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "store.locked",
    sqlite3.SQLITE_CANTOPEN: "store.unopened",
    sqlite3.SQLITE_CORRUPT: "store.damaged",
    sqlite3.SQLITE_NOTADB: "store.damaged",
    sqlite3.SQLITE_FULL: "store.full",
    sqlite3.SQLITE_IOERR: "store.failed",
    sqlite3.SQLITE_READONLY: "store.read_only",
    sqlite3.SQLITE_PERM: "store.read_only",
}
_DAMAGED: Final = (
    "the store is damaged, and nothing was written to it; copy the .treadle/local folder, try "
    "`sqlite3 {file} .recover`, or restore a backup. Finished work is safe: it is in git under refs/treadle/"
)
_LOCKED: Final = "the store cannot be written; make the file and its folder writable, then `treadle resume`"
_MEANINGS: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "another process keeps the store busy; try again when it has ended",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened; is the folder there, and may you write to it?",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "the disk is full; the last event was not stored. Make room, then `treadle resume`",
    sqlite3.SQLITE_IOERR: "reading or writing the store failed; is the disk full, or gone? Then `treadle resume`",
    sqlite3.SQLITE_READONLY: _LOCKED,
    sqlite3.SQLITE_PERM: _LOCKED,
}


# The schema of the store, as an ordered list of migrations; a store records how many it has applied.

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


def store_version(db: sqlite3.Connection) -> int:
    """Return how many migrations a store has seen; raise a `PortError` if it is no store, or one of a later Treadle."""
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
    if store_version(db) == VERSION:
        return
    with transaction(db):
        for number in range(store_version(db), VERSION):  # asked again: another process may have been quicker
            for statement in MIGRATIONS[number].split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
