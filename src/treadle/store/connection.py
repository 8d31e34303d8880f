"""Connections to the store, and what its failures mean to a person."""

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
    """A connection that commits only when told so, and then durably; one for reading leaves every byte as it is."""
    if path.exists() and not path.is_file():
        raise PortError(f"{path} is no file, but the store has to be there; move it away", code="store.foreign")
    mode = _for_reading(path) if reading else "rwc" if create else "rw"
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


def _for_reading(path: Path) -> str:
    """A folder that nobody here can write to has no room for SQLite's own files; without a journal it needs none."""
    is_still = not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    return "ro&immutable=1" if is_still else "ro"


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
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
    """Everything that is read inside was true at one moment, whatever others write meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextmanager
def spoken(path: Path) -> Iterator[None]:
    """Failures of SQLite, told as what they mean and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(path, error) from error


def explained(
    path: Path, error: sqlite3.Error, meanings: Mapping[int, str] | None = None, what: str = "store"
) -> PortError:
    """What went wrong with the store, or with another file of this kind, for a person."""
    number = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    said = (meanings or _MEANINGS).get(number)
    if said is None:
        return PortError(f"{path}: the {what} failed: {error}", code="store.failed")
    is_passing = number in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)
    return PortError(f"{path}: {said.format(file=path.name)}", retryable=is_passing, code=_CODES[number])


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
