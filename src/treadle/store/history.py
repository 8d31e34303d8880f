"""Reading a run back: its log held against the chain, folded from the last snapshot."""

import sqlite3
import zlib
from collections import deque
from hashlib import sha256
from itertools import islice

import msgspec

from treadle.errors import ReplayDivergence
from treadle.kernel.replay import GENESIS, Row, fold, unbroken
from treadle.kernel.state import State, load_state
from treadle.protocol.model import Protocol
from treadle.store.records import Run


class History(msgspec.Struct, frozen=True):
    """Where a run stands: everything needed to go on."""

    protocol: Protocol
    state: State
    chain: bytes
    since_snapshot: int


class Snapshot(msgspec.Struct, frozen=True):
    """A state that was written down, and the digest of the protocol it belongs to."""

    state: State
    protocol: str


def newest_snapshot(db: sqlite3.Connection, run: str) -> Snapshot | None:
    """The last state that was written down; damage is refused, never skipped."""
    query = "SELECT seq, protocol, state, hash FROM snapshots WHERE run = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(query, (run,)).fetchone()
    if row is None:
        return None
    try:
        body = zlib.decompress(row[2])
    except zlib.error:
        body = b""
    if sha256(body).digest() != row[3]:
        raise ReplayDivergence(
            f"run {run}: the snapshot at event {row[0]} is damaged; restore a backup of .treadle/local"
        )
    return Snapshot(load_state(body), row[1])


def read(db: sqlite3.Connection, run: Run, protocol: Protocol, state: State) -> History:
    """Fold what came after a state. The whole log is held against its chain on the way."""
    rows = unbroken(db.execute("SELECT body, chain FROM events WHERE run = ? ORDER BY seq", (run.id,)))
    since = state.seq
    before = deque(islice(rows, since), maxlen=1)
    tail: list[Row] = list(rows)
    if since + len(tail) != run.seq:
        raise ReplayDivergence(f"run {run.id}: {run.seq} events were recorded, {since + len(tail)} are in the store")
    state = fold(protocol, tail, state)
    if state.seq != run.seq:
        raise ReplayDivergence(f"run {run.id}: its log gives {state.seq} turns, {run.seq} were recorded")
    last = tail[-1] if tail else before[0] if before else (b"", GENESIS)
    return History(protocol, state, last[1], len(tail))
