"""What may be forgotten: runs that have ended, and the payloads and protocols that no other run refers to."""

import sqlite3
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.store import payloads
from treadle.store.connection import transaction
from treadle.store.owner import is_alive, parse
from treadle.store.references import mentioned
from treadle.store.snapshots import every

_OF_A_RUN: Final = ("events", "snapshots", "outbox", "timers", "inbox", "strays", "runs")


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, forgotten."""

    runs: tuple[str, ...]
    events: int
    payloads: int
    bytes: int
    """What the rows held; the file shrinks by about as much."""
    is_busy: bool
    """Somebody drives a run, whose next event may refer to any payload: all of them were kept."""


def clean(db: sqlite3.Connection, runs: list[str], *, dry: bool) -> Freed:
    """Forget these runs, as far as they have ended and nobody holds them; the others are left alone."""
    with transaction(db):
        db.execute("SAVEPOINT cleaning")
        freed = _forget(db, [run for run in runs if _may_go(db, run)])
        if dry:
            db.execute("ROLLBACK TO cleaning")
    if not dry:
        _shrink(db)
    return freed


def _shrink(db: sqlite3.Connection) -> None:
    """Make the file smaller; as long as somebody reads, its end stays in the journal, and nobody waits for that."""
    db.execute("VACUUM")
    patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
    db.execute("PRAGMA busy_timeout = 0")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.execute(f"PRAGMA busy_timeout = {patience}")


def _may_go(db: sqlite3.Connection, run: str) -> bool:
    row = db.execute("SELECT outcome, owner FROM runs WHERE run = ?", (run,)).fetchone()
    return row is not None and bool(row[0]) and not _is_held(row[1])


def _is_held(text: str) -> bool:
    owner = parse(text)
    return owner is not None and is_alive(owner) is not False


def _forget(db: sqlite3.Connection, runs: list[str]) -> Freed:
    before = _weight(db)
    events = sum(db.execute("SELECT count(*) FROM events WHERE run = ?", (run,)).fetchone()[0] for run in runs)
    for table in _OF_A_RUN:
        db.executemany(f"DELETE FROM {table} WHERE run = ?", ((run,) for run in runs))
    busy = any(_is_held(owner) for (owner,) in db.execute("SELECT owner FROM runs"))
    swept = 0 if busy else _sweep(db)
    return Freed(runs=tuple(runs), events=events, payloads=swept, bytes=before - _weight(db), is_busy=busy)


def _sweep(db: sqlite3.Connection) -> int:
    kept = _reachable(db)
    db.execute("CREATE TEMP TABLE kept (ref TEXT PRIMARY KEY)")
    db.executemany("INSERT INTO kept VALUES (?)", ((ref,) for ref in kept))
    gone = db.execute("DELETE FROM payloads WHERE ref NOT IN (SELECT ref FROM kept)").rowcount
    db.execute("DELETE FROM chunks WHERE ref NOT IN (SELECT ref FROM kept)")
    db.execute("DELETE FROM protocols WHERE digest NOT IN (SELECT ref FROM kept)")
    db.execute("DROP TABLE kept")
    return gone


def _reachable(db: sqlite3.Connection) -> set[str]:
    """Whatever any run mentions, and whatever is mentioned there in turn."""
    found: set[str] = set()
    fresh = {ref for body in _roots(db) for ref in mentioned(body)}
    while fresh:
        found |= fresh
        fresh = {ref for body in _bodies(db, fresh) for ref in mentioned(body)} - found
    return found


def _roots(db: sqlite3.Connection) -> Iterator[bytes]:
    for table in ("events", "outbox", "inbox"):
        for (body,) in db.execute(f"SELECT CAST(body AS BLOB) FROM {table}"):
            yield body
    for run, protocol, settings in db.execute("SELECT run, protocol, settings FROM runs").fetchall():
        yield protocol.encode()
        yield settings.encode()
        for stored in every(db, run):
            yield stored.protocol.encode()
            yield stored.body


def _bodies(db: sqlite3.Connection, refs: set[str]) -> Iterator[bytes]:
    """The payloads behind references; what only looks like one is skipped, damage is refused."""
    for ref in refs:
        if db.execute("SELECT 1 FROM payloads WHERE ref = ?", (ref,)).fetchone():
            yield payloads.read(db, ref)


def _weight(db: sqlite3.Connection) -> int:
    """Bytes in the columns that weigh anything."""
    columns = (("events", "body"), ("snapshots", "state"), ("payloads", "body"), ("chunks", "body"))
    sums = [db.execute(f"SELECT coalesce(sum(length({column})), 0) FROM {table}") for table, column in columns]
    return sum(int(found.fetchone()[0]) for found in sums)
