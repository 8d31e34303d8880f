"""One writer per run: whoever holds the lease, as long as its process lives. Taking over starts a new epoch."""

import sqlite3

from treadle.errors import PortError
from treadle.store.owner import is_alive, me, parse
from treadle.store.records import Lease


def claim(db: sqlite3.Connection, run: str, now: int, until: int) -> Lease:
    """The lease of a run; a `PortError` that says who has it."""
    row = db.execute("SELECT owner, epoch, lease_until FROM runs WHERE run = ?", (run,)).fetchone()
    if row is None:
        raise PortError(f"there is no run {run}", code="run.unknown")
    text, epoch, lease_until = row
    owner = parse(text)
    alive = is_alive(owner) if owner else False
    if owner and (alive or (alive is None and lease_until > now)):
        where = f"process {owner.pid}" + ("" if alive else f" on {owner.host}")
        raise PortError(
            f"run {run} is driven by {where}; wait until it ends, or end it. "
            "`treadle answer`, `go`, `pause` and `abort` reach it as it is",
            code="run.driven",
        )
    db.execute(
        "UPDATE runs SET owner = ?, epoch = ?, lease_until = ? WHERE run = ?", (str(me()), epoch + 1, until, run)
    )
    return Lease(run, epoch + 1)


def release(db: sqlite3.Connection, lease: Lease) -> None:
    """Gives a lease back, unless somebody has taken it."""
    db.execute("UPDATE runs SET owner = '', lease_until = 0 WHERE run = ? AND epoch = ?", (lease.run, lease.epoch))


def renew(db: sqlite3.Connection, lease: Lease, until: int) -> None:
    """Puts the end of a lease off."""
    db.execute("UPDATE runs SET lease_until = ? WHERE run = ? AND epoch = ?", (until, lease.run, lease.epoch))
