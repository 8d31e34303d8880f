# ruff: noqa: PTH105, PTH108, PTH123, PTH208 - `pathlib` would double the time the keeper takes to start
"""The small process between Treadle and an agent's program: it outlives Treadle and lets nothing outlive itself.

It holds the lock of the activity for as long as it lives, so there are never two agents on one activity; passes the
program's output on into files of bounded size; adopts what the program leaves behind, ends all of it, and writes down
how the program ended. Only the standard library (and not all of it) and `processes`: it must start quickly.
"""

import errno
import fcntl
import os
import select
import signal
import sys
import time
from contextlib import suppress

from treadle.agents.processes import Process, descendants, look, send, send_all

TAKEN = 75
"""The exit code of a keeper that found another one at work."""
FULL = 74
"""The exit code of a keeper that found no room for its files."""

_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
_PATIENCE = 0.5
_ROUND = 0.02
_GIVE_UP = 10.0  # for what cannot be ended: of another user, or stuck in the kernel
_CHUNK = 1 << 16
_REST = 64  # a pipe holds less than this many turns can take
_RECORD = 4096  # bytes that are set aside for how it ended: a full disk must not keep that from being told
_FULL = (errno.ENOSPC, errno.EDQUOT)
_QUIET = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)


def main(argv: list[str]) -> None:
    """`LOCK FOLDER LANE GRACE SEGMENT PROGRAM ARGUMENTS…`

    `FOLDER.farewell`, if it is there, holds the words of a command that ends what is not below this process.
    """
    try:
        _main(*argv)
    except OSError as error:
        if error.errno in _FULL:  # nothing can be written that would tell
            sys.exit(FULL)
        raise


def _main(lock: str, folder: str, lane: str, grace: str, segment: str, *command: str) -> None:
    mask = os.umask(0o077)
    if not _take(lock):
        sys.exit(TAKEN)
    for name in os.listdir(folder):  # of an earlier session; only whoever holds the lock may do that
        os.unlink(f"{folder}/{name}")
    wake = _listen()
    _adopt_orphans()
    myself = look(os.getpid())
    ending = _reserve(f"{folder}/ended.part")
    _write(f"{folder}/keeper", f"{os.getpid()} {myself.start if myself else 0}")
    keeper = _Keeper(folder, int(segment), wake, mask)
    os.pwrite(ending, keeper.run(list(command), lane, float(grace)).encode()[:_RECORD], 0)
    os.replace(f"{folder}/ended.part", f"{folder}/ended")


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


class _Keeper:
    def __init__(self, folder: str, segment: int, wake: int, mask: int) -> None:
        self.folder, self.segment, self.wake, self.mask = folder, segment, wake, mask
        self.logs: dict[int, _Log] = {}
        self.said: _Log | None = None
        self.stop = False
        self.status: int | None = None
        self.main = 0

    def run(self, command: list[str], lane: str, grace: float) -> str:
        """How it ended: `error WHY`, `stopped`, or `code NUMBER` (negative: the signal that ended it).

        `lost WHY`: it ended well, but its last output, which may be its answer, could not be kept.
        """
        try:
            os.chdir(lane)
            self.main = self._spawn(command)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return f"error {command[0]} could not be started in {lane}: {reason}"
        while self.status is None and not self.stop:
            self._turn(None)
        how = "stopped" if self.status is None else f"code {os.waitstatus_to_exitcode(self.status)}"
        self._end_all(grace)
        self._bid_farewell()
        return f"lost {self.said.lost}" if how == "code 0" and self.said and self.said.lost else how

    def _spawn(self, command: list[str]) -> int:
        pipes = {name: os.pipe() for name in ("stdout", "stderr")}
        actions = [(os.POSIX_SPAWN_DUP2, pipes[name][1], at) for at, name in enumerate(pipes, start=1)]
        try:
            default = [*_QUIET, signal.SIGTERM, signal.SIGCHLD, signal.SIGXFSZ]
            os.umask(self.mask)
            return os.posix_spawn(
                command[0], command, os.environ, file_actions=actions, setpgroup=0, setsigdef=default, setsigmask=[]
            )
        finally:
            os.umask(0o077)
            for name, (reading, writing) in pipes.items():
                os.close(writing)
                os.set_blocking(reading, False)
                self.logs[reading] = _Log(f"{self.folder}/{name}", self.segment)
            self.said = self.logs[pipes["stdout"][0]]

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
                if pid == self.main:
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


def _take(lock: str) -> bool:
    """The activity's lock, which is given back when this process ends, however it ends."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Whoever only asks whether it is taken holds it for a moment.
            if time.monotonic() > until:
                return False
            time.sleep(_ROUND)
        else:
            return True


def _listen() -> int:
    """Signals become readable bytes."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in _QUIET:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return reading


def _adopt_orphans() -> None:
    import ctypes  # noqa: PLC0415 - where there is no such library, the rest works

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)


def _reserve(path: str) -> int:
    """A file with room for a record, which is written later."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    if os.write(file, b" " * _RECORD) < _RECORD:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return file


def _write(path: str, text: str) -> None:
    part = f"{path}.part"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.write(file, text.encode())
    os.close(file)
    os.replace(part, path)
