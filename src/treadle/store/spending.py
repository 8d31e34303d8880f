"""What all runs of a project have used since a moment, read from the ends of their logs."""

import sqlite3

import msgspec

from treadle.kernel.events import Usage


class _Spent(msgspec.Struct):
    """What of an event counts here."""

    ts: int = 0
    usage: Usage = Usage()


def spent_since(db: sqlite3.Connection, since: int) -> Usage:
    """Added up over all events from that moment on, in milliseconds since the epoch."""
    total = Usage()
    for (run,) in db.execute("SELECT run FROM runs WHERE changed >= ?", (since,)).fetchall():
        for (body,) in db.execute("SELECT CAST(body AS BLOB) FROM events WHERE run = ? ORDER BY seq DESC", (run,)):
            event = msgspec.json.decode(body, type=_Spent)
            if event.ts < since:
                break
            total = total.plus(event.usage)
    return total
