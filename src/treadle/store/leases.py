"""One writer per run: the process with the lease, as long as it lives. A takeover starts a new epoch."""

import os
import socket
import sqlite3
from functools import cache
from pathlib import Path
from typing import NamedTuple

from treadle.errors import PortError
from treadle.store.records import Lease, Run

# The driver of a run: a process, identified by host, boot id, pid and start time, so a reused pid never looks alive.


class Owner(NamedTuple):
    """A process, as the store writes it down."""

    host: str
    boot: str
    pid: int
    start: str

    def __str__(self) -> str:
        return "|".join((self.host, self.boot, str(self.pid), self.start))


def this_process() -> Owner:
    """Return the identity of this process."""
    return Owner(socket.gethostname(), _boot_id(), os.getpid(), _start_time(os.getpid()))


def parse_owner(text: str) -> Owner | None:
    """Parse a stored owner; None if the text names no process."""
    parts = text.split("|")
    is_one = len(parts) == 4 and parts[2].isascii() and parts[2].isdigit()
    return Owner(parts[0], parts[1], int(parts[2]), parts[3]) if is_one else None


def is_alive(owner: Owner) -> bool | None:
    """Whether a process still runs; None if that cannot be known from here (another machine)."""
    if owner.host != socket.gethostname():
        return None
    return owner.boot == _boot_id() and _start_time(owner.pid) == owner.start != ""


def driver_of(run: Run) -> int:
    """Return the pid of another process that drives a run, on this machine or another; 0 if there is none.

    A lease of this process does not count: it may be left over from a full disk.
    """
    owner = parse_owner(run.owner)
    return owner.pid if owner and owner != this_process() and is_alive(owner) is not False else 0


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Return when a process began, in the system's own format; empty if it is gone, as a zombie is."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
        # Without /proc nothing more is known than that the process exists.
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
        except PermissionError:
            pass
        return "running"
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def claim_lease(db: sqlite3.Connection, run: str, now: int, until: int) -> Lease:
    """Claim the lease of a run; raise a `PortError` that names its driver if another process has it."""
    row = db.execute("SELECT owner, epoch, lease_until FROM runs WHERE run = ?", (run,)).fetchone()
    if row is None:
        raise PortError(f"there is no run {run}", code="run.unknown")
    text, epoch, lease_until = row
    owner = parse_owner(text)
    # On this machine the process decides, however old its lease: a driver may have been suspended. A process of another
    # machine cannot be seen from here, so only the time of its lease counts.
    alive = is_alive(owner) if owner else False
    if owner and (alive or (alive is None and lease_until > now)):
        where = f"process {owner.pid}" + ("" if alive else f" on {owner.host}")
        raise PortError(
            f"{where} drives run {run}; wait for it, or stop it. "
            "`treadle answer`, `go`, `pause` and `abort` work meanwhile",
            code="run.driven",
        )
    # The new epoch is the fence: a batch of an earlier driver does not match it any more (`write_batch`).
    db.execute(
        "UPDATE runs SET owner = ?, epoch = ?, lease_until = ? WHERE run = ?",
        (str(this_process()), epoch + 1, until, run),
    )
    return Lease(run, epoch + 1)


def release_lease(db: sqlite3.Connection, lease: Lease) -> None:
    """Release a lease, unless another process has claimed it since."""
    db.execute("UPDATE runs SET owner = '', lease_until = 0 WHERE run = ? AND epoch = ?", (lease.run, lease.epoch))


def renew_lease(db: sqlite3.Connection, lease: Lease, until: int) -> None:
    """Extend a lease."""
    db.execute("UPDATE runs SET lease_until = ? WHERE run = ? AND epoch = ?", (until, lease.run, lease.epoch))
