# ruff: noqa: PTH110, PTH123, PTH208 - `pathlib` would double the time the keeper takes to start
"""Processes as the kernel shows them under /proc; only the standard library, because the keeper imports it too.

A pid alone proves nothing, it may have been given away again: a process is known by its pid and its start time.
"""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

MAX_ENVIRON = 4_000_000


def lacks(system: object = os, table: str = "/proc/self/stat") -> str:
    """Why programs cannot be looked after here; empty if they can."""
    if hasattr(system, "pidfd_open") and os.path.exists(table):
        return ""
    return f"agents that are programs need Linux, with /proc mounted; this is {sys.platform}"


class Process(NamedTuple):
    """One process, for as long as it lives."""

    pid: int
    parent: int
    start: int
    """In ticks since the machine was started."""


def look(pid: int) -> Process | None:
    """The living process with this pid; a zombie does not live."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name stands in brackets and may itself hold brackets and spaces.
    state, parent, *rest = text[text.rindex(b")") + 2 :].split()
    return None if state in {b"Z", b"X"} else Process(pid, int(parent), int(rest[17]))


def lives(process: Process) -> bool:
    """Whether exactly this process still lives."""
    now = look(process.pid)
    return now is not None and now.start == process.start


def everyone() -> Iterator[Process]:
    """All living processes."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := look(int(name))):
            yield process


def descendants(root: int) -> list[Process]:
    """The children of a process, their children, and so on."""
    children: dict[int, list[Process]] = {}
    for process in everyone():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    parents = [root]
    while parents:
        below = children.pop(parents.pop(), [])
        found += below
        parents += [process.pid for process in below]
    return found


def holding(variable: str) -> list[Process]:
    """The processes that were started with `NAME=value` in their environment: never this one or one it comes from."""
    wanted = variable.encode()
    mine = set(_line_of(os.getpid()))
    return [it for it in everyone() if it.pid not in mine and wanted in _environ(it.pid) and lives(it)]


def holds(process: Process, variable: str) -> bool:
    """Whether this process was started with `NAME=value` in its environment."""
    return variable.encode() in _environ(process.pid) and lives(process)


def send(process: Process, number: int) -> None:
    """Send a signal to exactly this process; nothing happens if it is gone, even if its pid is used again."""
    with suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            # The handle names one process for ever: it is the right one if the start time is right after opening it.
            if lives(process):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def send_all(found: Iterable[Process], number: int) -> None:
    """Send a signal to each of them."""
    for process in found:
        send(process, number)


def _environ(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read(MAX_ENVIRON).split(b"\0")
    except OSError:  # of another user, or gone
        return []


def _line_of(pid: int) -> Iterator[int]:
    """A process and all it descends from."""
    while pid:
        yield pid
        process = look(pid)
        pid = process.parent if process else 0
