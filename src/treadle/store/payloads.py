"""Payloads by content: written once however often they are put, in chunks if they are large, checked when read."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from treadle.errors import PortError
from treadle.ports import Payloads
from treadle.protocol.items import Json, canonical

CHUNK: Final = 64 * 1024
_TEXT: Final = "text:"
_CHUNKS: Final = "SELECT CAST(body AS BLOB) FROM chunks WHERE ref = ? ORDER BY n"


class SqlitePayloads(Payloads):
    """Payloads, buffered in memory until the next transaction writes them, so that a payload costs no fsync of
    its own.
    """

    def __init__(self, reader: sqlite3.Connection) -> None:
        self._reader = reader
        self._buffered: dict[str, bytes] = {}
        self._in_flight: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, value: Json) -> str:
        """Keep a value; it is durable no later than the next event that is appended."""
        body = canonical(value)
        ref = f"sha256:{hashlib.sha256(body).hexdigest()}"
        with self._lock:
            self._buffered[ref] = body
        return ref

    def get(self, ref: str) -> Json:
        """Return the value behind a reference."""
        if ref.startswith(_TEXT):
            return ref.removeprefix(_TEXT)
        with self._lock:
            body = self._buffered.get(ref) or self._in_flight.get(ref)
        value: Json = json.loads(read(self._reader, ref) if body is None else body)
        return value

    @contextmanager
    def writing(self) -> Iterator[dict[str, bytes]]:
        """Yield the buffered payloads to the transaction inside this context; if it fails, the next one gets them.

        They stay readable here until the transaction has ended.
        """
        with self._lock:
            taken, self._buffered = self._buffered, {}
            self._in_flight |= taken
        try:
            yield taken
        except BaseException:
            with self._lock:
                self._buffered |= taken
            raise
        with self._lock:
            for ref in taken:
                self._in_flight.pop(ref, None)


def write(db: sqlite3.Connection, bodies: dict[str, bytes]) -> None:
    """Store payloads that are not there yet."""
    for ref, body in bodies.items():
        whole = body if len(body) <= CHUNK else None
        added = db.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?, ?)", (ref, len(body), whole)).rowcount
        if added and whole is None:
            pieces = ((ref, at // CHUNK, body[at : at + CHUNK]) for at in range(0, len(body), CHUNK))
            db.executemany("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)", pieces)


def read(db: sqlite3.Connection, ref: str) -> bytes:
    """Return the bytes of a payload; raise a `PortError` if they are missing or damaged."""
    row = db.execute("SELECT CAST(body AS BLOB) FROM payloads WHERE ref = ?", (ref,)).fetchone()
    if row is None:
        raise PortError(
            f"payload {ref} is missing from the store; restore a backup of .treadle/local", code="store.incomplete"
        )
    body: bytes | None = row[0]
    if body is None:
        body = b"".join(piece for (piece,) in db.execute(_CHUNKS, (ref,)))
    if f"sha256:{hashlib.sha256(body).hexdigest()}" != ref:
        raise PortError(
            f"payload {ref} is damaged in the store; restore a backup of .treadle/local", code="store.damaged"
        )
    return body
