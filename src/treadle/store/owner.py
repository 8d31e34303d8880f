"""Who drives a run: a process, recognised by host, boot, number and start, so that a dead one never looks alive."""

import os
import socket
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A process, as the store writes it down."""

    host: str
    boot: str
    pid: int
    start: str

    def __str__(self) -> str:
        return "|".join((self.host, self.boot, str(self.pid), self.start))


def me() -> Owner:
    """This process."""
    return Owner(socket.gethostname(), _boot(), os.getpid(), _start(os.getpid()))


def parse(text: str) -> Owner | None:
    """An owner as it was written down; None if nobody was."""
    parts = text.split("|")
    is_one = len(parts) == 4 and parts[2].isascii() and parts[2].isdigit()
    return Owner(parts[0], parts[1], int(parts[2]), parts[3]) if is_one else None


def is_alive(owner: Owner) -> bool | None:
    """Whether a process still runs; None if that cannot be known from here (another machine)."""
    if owner.host != socket.gethostname():
        return None
    return owner.boot == _boot() and _start(owner.pid) == owner.start != ""


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start(pid: int) -> str:
    """When a process began, in the system's own words; empty if it is gone (a zombie is)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return _start_elsewhere(pid) if not Path("/proc/self").exists() else ""
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def _start_elsewhere(pid: int) -> str:
    """Without /proc all that can be told is whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
