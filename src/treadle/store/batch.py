"""What one turn of a driver writes, in one transaction."""

import sqlite3
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.kernel.state import State, dump_state
from treadle.store import payloads
from treadle.store.entry import Entry
from treadle.store.records import Lease, Stray

LEASE: Final = 60_000
"""Milliseconds after which a driver on another machine counts as gone."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a turn, and all that goes with them."""

    entries: Sequence[Entry]
    state: State
    taken: Sequence[int] = ()
    """Rows of the inbox that are dealt with."""
    performed: Sequence[str] = ()
    """Addresses in the outbox that need not be repeated."""
    strays: Sequence[Stray] = ()
    snapshot: bool = False


def write(db: sqlite3.Connection, lease: Lease, batch: Batch, bodies: dict[str, bytes], now: int) -> None:
    """Add a turn to a run's log, unless somebody else has gone on with it."""
    state, run = batch.state, lease.run
    first, chain = (batch.entries[0].seq, batch.entries[-1].chain) if batch.entries else (state.seq + 1, None)
    fenced = db.execute(
        "UPDATE runs SET seq = ?, chain = coalesce(?, chain), acts = ?, asks = ?, outcome = ?, changed = ?, "
        "lease_until = ? WHERE run = ? AND seq = ? AND epoch = ?",
        (
            state.seq,
            chain,
            len(state.acts),
            len(state.asks),
            state.outcome,
            now,
            now + LEASE,
            run,
            first - 1,
            lease.epoch,
        ),
    )
    if fenced.rowcount != 1:
        raise PortError(
            f"another process has taken over run {run}; this one must stop (nothing was written)", code="run.taken_over"
        )
    payloads.write(db, bodies)
    for entry in batch.entries:
        _write_entry(db, run, entry)
    for n in batch.taken:
        db.execute("DELETE FROM inbox WHERE n = ?", (n,))
    for id_ in batch.performed:
        db.execute("DELETE FROM outbox WHERE run = ? AND id = ?", (run, id_))
    for it in batch.strays:
        values = (run, it.at, it.act, it.what, it.detail)
        db.execute("INSERT INTO strays (run, at, act, what, detail) VALUES (?, ?, ?, ?, ?)", values)
    if batch.snapshot:
        body = dump_state(state)
        stored = (run, state.seq, state.protocol, zlib.compress(body, 1), sha256(body).digest())
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", stored)
    if state.outcome:
        db.execute("DELETE FROM timers WHERE run = ?", (run,))


def _write_entry(db: sqlite3.Connection, run: str, entry: Entry) -> None:
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (run, entry.seq, entry.id, entry.body, entry.chain))
    for id_ in entry.closed:
        db.execute("DELETE FROM outbox WHERE run = ? AND id = ?", (run, id_))
    for id_, body in entry.opened:
        db.execute("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", (run, id_, body))
    for id_ in entry.unset:
        db.execute("DELETE FROM timers WHERE run = ? AND id = ?", (run, id_))
    for id_, due in entry.set:
        db.execute("INSERT OR REPLACE INTO timers VALUES (?, ?, ?)", (run, id_, due))
