"""Processes, read from /proc. Only the standard library, because the keeper imports this module too.

A pid alone proves nothing, since the kernel reuses it: a process is identified by its pid and its start time.
"""

import errno
import os
import select
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

# ruff: noqa: PTH110, PTH123, PTH208 - `pathlib` would double the time the keeper takes to start


MAX_ENVIRON = 4_000_000


def missing_support(system: object = os, table: str = "/proc/self/stat") -> str:
    """Return why this system cannot supervise programs; empty if it can."""
    if hasattr(system, "pidfd_open") and os.path.exists(table):
        return ""
    return f"agents that are programs need Linux, with /proc mounted; this is {sys.platform}"


class Process(NamedTuple):
    """One process, for as long as it lives."""

    pid: int
    parent: int
    start: int
    """In ticks since the machine was started."""


def find_process(pid: int) -> Process | None:
    """Return the living process with this pid; a zombie does not live."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # The name stands in brackets and may itself hold brackets and spaces.
    state, parent, *rest = text[text.rindex(b")") + 2 :].split()
    return None if state in {b"Z", b"X"} else Process(pid, int(parent), int(rest[17]))


def is_running(process: Process) -> bool:
    """Whether exactly this process still lives."""
    now = find_process(process.pid)
    return now is not None and now.start == process.start


def everyone() -> Iterator[Process]:
    """Yield all living processes."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := find_process(int(name))):
            yield process


def descendants(root: int) -> list[Process]:
    """Return the children of a process, their children, and so on."""
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


def processes_with(variable: str) -> list[Process]:
    """Return the processes with `NAME=value` in their initial environment, except this process and its ancestors."""
    wanted = variable.encode()
    mine = set(_line_of(os.getpid()))
    return [it for it in everyone() if it.pid not in mine and wanted in _environ(it.pid) and is_running(it)]


def has_variable(process: Process, variable: str) -> bool:
    """Whether this process was started with `NAME=value` in its environment."""
    return variable.encode() in _environ(process.pid) and is_running(process)


def send(process: Process, number: int) -> None:
    """Send a signal to exactly this process; nothing happens if it is gone, even if its pid is used again."""
    with suppress(OSError):
        handle = os.pidfd_open(process.pid)
        try:
            # The handle names one process for ever: it is the right one if the start time is right after opening it.
            if is_running(process):
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
    """Yield a process and all its ancestors."""
    while pid:
        yield pid
        process = find_process(pid)
        pid = process.parent if process else 0


# The keeper once its program has started: relay its output, adopt its orphans, end all of them.
#
# Only the standard library: the driver waits until the keeper has written its identity.

# ruff: noqa: PTH105, PTH123 - `pathlib` would double the time the keeper takes to start


QUIET = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
"""Signals that the keeper ignores."""
USUAL = (*QUIET, signal.SIGTERM, signal.SIGCHLD, signal.SIGXFSZ)
"""Signals that the program gets with their default handlers."""

_ROUND = 0.02
_GIVE_UP = 10.0  # for processes that cannot be ended: of another user, or stuck in the kernel
_CHUNK = 1 << 16
_REST = 64  # a pipe holds less than this many turns can take


def introduce(folder: str) -> None:
    """Write the keeper's pid and start time to its folder."""
    myself = find_process(os.getpid())
    path = f"{folder}/keeper"
    file = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.write(file, f"{os.getpid()} {myself.start if myself else 0}".encode())
    os.close(file)
    os.replace(f"{path}.part", path)


def kill(program: int) -> None:
    """End a program with its group at once."""
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)


class _OutputLog:
    """A bounded log of one output stream in two files: when the newer is full, it replaces the older."""

    def __init__(self, path: str, limit: int) -> None:
        self.path, self.limit = path, limit
        self.size, self.file = 0, -1
        self.lost = ""
        """Why its end could not be kept."""
        self._open()

    def write(self, data: bytes) -> None:
        data = data[-2 * self.limit :] if self.limit else b""
        try:
            while data:
                if self.size >= self.limit:
                    self._begin_anew()
                written = os.write(self.file, data[: self.limit - self.size])
                self.size, data, self.lost = self.size + written, data[written:], ""
        except OSError as error:  # a full disk costs output, not the agent
            self.lost = error.strerror or str(error)

    def _begin_anew(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
            os.replace(self.path, f"{self.path}.old")
        self._open()

    def _open(self) -> None:
        self.file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        self.size = 0


class Keeper:
    """Supervises a program until none of its processes is left."""

    def __init__(self, folder: str, segment: int, program: int, outputs: dict[str, int]) -> None:
        self.folder, self.program = folder, program
        self.logs = {file: _OutputLog(f"{folder}/{name}", segment) for name, file in outputs.items()}
        self.stdout = self.logs[outputs["stdout"]]
        self.stop = False
        self.status: int | None = None
        for file in outputs.values():
            os.set_blocking(file, False)
        self.wake = _listen()

    def run(self, grace: float) -> str:
        """Supervise the program and return `stopped` or `code NUMBER` (negative: the signal that ended it).

        `lost WHY`: it ended well, but its last output, which may be its answer, could not be stored.
        """
        self._reap()  # children that ended before the signal handlers were set
        while self.status is None and not self.stop:
            self._turn(None)
        how = "stopped" if self.status is None else f"code {os.waitstatus_to_exitcode(self.status)}"
        self._end_all(grace)
        self._bid_farewell()
        return f"lost {self.stdout.lost}" if how == "code 0" and self.stdout.lost else how

    def _turn(self, seconds: float | None) -> None:
        """Wait for output or a signal, and handle it."""
        ready, _, _ = select.select([self.wake, *self.logs], [], [], seconds)
        for file in ready:
            if file == self.wake:
                self.stop |= signal.SIGTERM in os.read(self.wake, 4096)
            else:
                self._relay(file)
        self._reap()

    def _relay(self, file: int) -> None:
        try:
            data = os.read(file, _CHUNK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return
            data = b""
        if data:
            self.logs[file].write(data)
        else:
            os.close(file)
            del self.logs[file]

    def _reap(self) -> bool:
        """Reap ended children; return whether any child is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.program:
                    self.status = status
        except ChildProcessError:
            return False

    def _end_all(self, grace: float) -> None:
        """End all descendants: orphans have become children of this process, so none is overlooked."""
        asked: set[Process] = set()
        hard = time.monotonic() + grace
        while self._reap() and time.monotonic() < hard + _GIVE_UP:
            found = descendants(os.getpid())
            if time.monotonic() < hard:
                for process in set(found) - asked:
                    send(process, signal.SIGTERM)
                    asked.add(process)
            else:
                send_all(found, signal.SIGKILL)
            self._turn(_ROUND)
        self._drain()

    def _bid_farewell(self) -> None:
        """Run the farewell command: processes in a container do not end with the local program that started them."""
        with suppress(OSError):
            with open(f"{self.folder}.farewell", encoding="utf-8") as file:
                words = file.read().split("\0")
            nothing = os.open(os.devnull, os.O_RDWR)
            actions = [(os.POSIX_SPAWN_DUP2, nothing, at) for at in range(3)]
            child = os.posix_spawn(words[0], words, os.environ, file_actions=actions, setsigmask=[])
            until = time.monotonic() + _GIVE_UP
            while os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() < until:
                time.sleep(_ROUND)

    def _drain(self) -> None:
        for _ in range(_REST):
            if not self.logs:
                return
            self._turn(0)


def _listen() -> int:
    """Turn signals into readable bytes of a pipe."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in QUIET:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return reading
