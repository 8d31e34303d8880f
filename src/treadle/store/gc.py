"""Garbage collection: delete ended runs, and the payloads and protocols that no other run refers to."""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.store import payloads
from treadle.store.connection import transaction
from treadle.store.history import all_snapshots, mentioned_references
from treadle.store.leases import is_alive, parse_owner

_OF_A_RUN: Final = ("events", "snapshots", "outbox", "timers", "inbox", "strays", "runs")


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """The runs and rows that were deleted, or would be."""

    runs: tuple[str, ...]
    events: int
    payloads: int
    bytes: int
    """The size of the deleted rows; the file shrinks by about as much."""
    is_busy: bool
    """Whether a driver is at work: its next event may refer to any payload, so no payload was deleted."""


def forget_runs(db: sqlite3.Connection, runs: list[str], *, dry: bool) -> Freed:
    """Delete those of the runs that have ended and have no driver; skip the others."""
    with transaction(db):
        db.execute("SAVEPOINT cleaning")
        before = _weight(db)
        gone: list[str] = []
        events = 0
        for run in runs:
            row = db.execute("SELECT outcome, owner FROM runs WHERE run = ?", (run,)).fetchone()
            if row is not None and row[0] and not _is_held(row[1]):
                gone.append(run)
                events += db.execute("SELECT count(*) FROM events WHERE run = ?", (run,)).fetchone()[0]
        for table in _OF_A_RUN:
            db.executemany(f"DELETE FROM {table} WHERE run = ?", ((run,) for run in gone))
        # The payloads of a driver's next event are in its memory, and may be equal to any that is stored here.
        busy = any(_is_held(owner) for (owner,) in db.execute("SELECT owner FROM runs"))
        swept = 0 if busy else _sweep(db)
        freed = Freed(runs=tuple(gone), events=events, payloads=swept, bytes=before - _weight(db), is_busy=busy)
        if dry:
            db.execute("ROLLBACK TO cleaning")
    if not dry:
        db.execute("VACUUM")
        # While another process reads, SQLite cannot truncate the journal; do not wait for it.
        patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
        db.execute("PRAGMA busy_timeout = 0")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute(f"PRAGMA busy_timeout = {patience}")
    return freed


def _is_held(text: str) -> bool:
    owner = parse_owner(text)
    return owner is not None and is_alive(owner) is not False


def _sweep(db: sqlite3.Connection) -> int:
    """Delete the payloads and protocols that no run leads to, directly or through payloads; return their number."""
    kept: set[str] = set()
    fresh = {ref for body in _roots(db) for ref in mentioned_references(body)}
    while fresh:
        kept |= fresh
        # Strings that only look like a reference are skipped; a damaged payload is refused.
        stored = [ref for ref in fresh if db.execute("SELECT 1 FROM payloads WHERE ref = ?", (ref,)).fetchone()]
        fresh = {ref for one in stored for ref in mentioned_references(payloads.read(db, one))} - kept
    db.execute("CREATE TEMP TABLE kept (ref TEXT PRIMARY KEY)")
    db.executemany("INSERT INTO kept VALUES (?)", ((ref,) for ref in kept))
    gone = db.execute("DELETE FROM payloads WHERE ref NOT IN (SELECT ref FROM kept)").rowcount
    db.execute("DELETE FROM chunks WHERE ref NOT IN (SELECT ref FROM kept)")
    db.execute("DELETE FROM protocols WHERE digest NOT IN (SELECT ref FROM kept)")
    db.execute("DROP TABLE kept")
    return gone


def _roots(db: sqlite3.Connection) -> Iterator[bytes]:
    for table in ("events", "outbox", "inbox"):
        for (body,) in db.execute(f"SELECT CAST(body AS BLOB) FROM {table}"):
            yield body
    for run, protocol, settings in db.execute("SELECT run, protocol, settings FROM runs").fetchall():
        yield protocol.encode()
        yield settings.encode()
        for stored in all_snapshots(db, run):
            yield stored.protocol.encode()
            yield stored.body


def _weight(db: sqlite3.Connection) -> int:
    """Return the bytes in the large columns."""
    columns = (("events", "body"), ("snapshots", "state"), ("payloads", "body"), ("chunks", "body"))
    sums = [db.execute(f"SELECT coalesce(sum(length({column})), 0) FROM {table}") for table, column in columns]
    return sum(int(found.fetchone()[0]) for found in sums)
