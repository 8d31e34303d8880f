# ruff: noqa: PTH105, PTH123 - `pathlib` would double the time the keeper takes to start
"""What a keeper does once its program has started: relay what it says, adopt what it leaves, end all of it.

Only the standard library and `processes`: somebody waits until the keeper has said who it is.
"""

import errno
import os
import select
import signal
import time
from contextlib import suppress

from treadle.agents.processes import Process, descendants, look, send, send_all

QUIET = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)
"""What does not concern a keeper."""
USUAL = (*QUIET, signal.SIGTERM, signal.SIGCHLD, signal.SIGXFSZ)
"""The signals that its program takes as every other program does."""

_ROUND = 0.02
_GIVE_UP = 10.0  # for what cannot be ended: of another user, or stuck in the kernel
_CHUNK = 1 << 16
_REST = 64  # a pipe holds less than this many turns can take


def introduce(folder: str) -> None:
    """Write down who keeps the program."""
    myself = look(os.getpid())
    path = f"{folder}/keeper"
    file = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.write(file, f"{os.getpid()} {myself.start if myself else 0}".encode())
    os.close(file)
    os.replace(f"{path}.part", path)


def kill(program: int) -> None:
    """End a program with its group at once."""
    with suppress(OSError):
        os.killpg(program, signal.SIGKILL)


class _Log:
    """One stream of output in two files, of which the older is thrown away when the younger is full."""

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
    """Looks after a program until nothing of it is left."""

    def __init__(self, folder: str, segment: int, program: int, outputs: dict[str, int]) -> None:
        self.folder, self.program = folder, program
        self.logs = {file: _Log(f"{folder}/{name}", segment) for name, file in outputs.items()}
        self.said = self.logs[outputs["stdout"]]
        self.stop = False
        self.status: int | None = None
        for file in outputs.values():
            os.set_blocking(file, False)
        self.wake = _listen()

    def run(self, grace: float) -> str:
        """How it ended: `stopped`, or `code NUMBER` (negative: the signal that ended it).

        `lost WHY`: it ended well, but its last output, which may be its answer, could not be kept.
        """
        self._reap()  # what ended before anybody listened
        while self.status is None and not self.stop:
            self._turn(None)
        how = "stopped" if self.status is None else f"code {os.waitstatus_to_exitcode(self.status)}"
        self._end_all(grace)
        self._bid_farewell()
        return f"lost {self.said.lost}" if how == "code 0" and self.said.lost else how

    def _turn(self, seconds: float | None) -> None:
        """Wait for output or a signal, and take what has come."""
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
        """Take leave of the dead; whether anybody is left."""
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
        """End everything below: orphans have become children of this process, so nobody is overlooked."""
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
        """What runs in a container does not end with the program that was started here for it."""
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
    """Signals become readable bytes."""
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
