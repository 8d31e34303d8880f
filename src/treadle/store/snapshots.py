"""States that were written down; damage is refused, never skipped."""

import sqlite3
import zlib
from collections.abc import Iterator
from hashlib import sha256

import msgspec

from treadle.errors import ReplayDivergence


class Stored(msgspec.Struct, frozen=True):
    """A state as it was written down, and the digest of the protocol it belongs to."""

    seq: int
    protocol: str
    body: bytes


def newest(db: sqlite3.Connection, run: str) -> Stored | None:
    """The last state of a run that was written down."""
    return next(_read(db, run, "ORDER BY seq DESC LIMIT 1"), None)


def every(db: sqlite3.Connection, run: str) -> Iterator[Stored]:
    """All states of a run that were written down, in their order."""
    return _read(db, run, "ORDER BY seq")


def _read(db: sqlite3.Connection, run: str, order: str) -> Iterator[Stored]:
    query = f"SELECT seq, protocol, CAST(state AS BLOB), hash FROM snapshots WHERE run = ? {order}"
    for seq, protocol, packed, hash_ in db.execute(query, (run,)):
        try:
            body = zlib.decompress(packed)
        except zlib.error:
            body = b""
        if sha256(body).digest() != hash_:
            raise ReplayDivergence(
                f"run {run}: the snapshot after event {seq} is damaged; restore a backup of .treadle/local",
                code="store.damaged",
            )
        yield Stored(seq, protocol, body)
