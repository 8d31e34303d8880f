"""Reading a run back: its log held against the chain, folded from the last snapshot."""

import sqlite3
from collections import deque
from typing import Final

import msgspec

from treadle.errors import ReplayDivergence
from treadle.kernel.replay import GENESIS, Row, fold, link, unbroken
from treadle.kernel.state import State
from treadle.protocol.model import Protocol
from treadle.store.records import Run

ROW: Final = "CAST(body AS BLOB), CAST(chain AS BLOB)"
"""The columns of a row of the log; as bytes, whatever somebody has made of them by hand."""

_STRIDE: Final = 500


class History(msgspec.Struct, frozen=True):
    """Where a run stands: everything needed to go on."""

    protocol: Protocol
    state: State
    chain: bytes
    since_snapshot: int


def read(db: sqlite3.Connection, run: Run, protocol: Protocol, state: State) -> History:
    """Fold what came after a state. The whole log is held against its chain on the way."""
    rows = db.execute(f"SELECT {ROW} FROM events WHERE run = ? ORDER BY seq", (run.id,))
    before, last = _checked(rows, state.seq)
    tail: list[Row] = list(unbroken(rows, before, last))
    if before + len(tail) != run.seq:
        raise ReplayDivergence(
            f"run {run.id}: {run.seq} events were recorded, {before + len(tail)} are in the store",
            code="log.incomplete",
        )
    state = fold(protocol, tail, state)
    if state.seq != run.seq:
        raise ReplayDivergence(
            f"run {run.id}: its log gives {state.seq} turns, {run.seq} were recorded", code="log.incomplete"
        )
    return History(protocol, state, tail[-1][1] if tail else last, len(tail))


def _checked(rows: sqlite3.Cursor, count: int) -> tuple[int, bytes]:
    """Hold rows against the chain, in strides, for a long log consists of little else; how many there were."""
    seen, last = 0, GENESIS
    while seen < count and (stride := rows.fetchmany(min(_STRIDE, count - seen))):
        bodies, chains = zip(*stride, strict=True)
        if tuple(map(link, (last, *chains), bodies)) != chains:
            deque(unbroken(stride, seen, last), maxlen=0)  # says which one it is
        seen, last = seen + len(stride), chains[-1]
    return seen, last
