# ruff: noqa: PTH123, SIM105 - what a module of the library imports would double the time the minder takes to start
"""The minder: a small parent process that ends everything a project's command started.

It runs in the command's sandbox, or outside if that is a container, and adopts orphans. It kills all of them when the
command exits or its own standard input closes, so also when Treadle itself is killed. Only the standard library.
"""

import ctypes
import os
import select
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
_AMBIENT, _CLEAR = 47, 4  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_DROP, _MOUNTING = 24, 21  # PR_CAPBSET_DROP, CAP_SYS_ADMIN
_RIGHTS = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_BIND = 0x1000 | 0x4000  # MS_BIND, MS_REC
_MOUNT_SETATTR, _HERE, _RECURSIVE = 442, -100, 0x8000
_PATIENCE = 10.0
_ROUND = 0.01
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


def main(argv: list[str]) -> None:
    """Run a command and kill its leftovers: `STATUS LOOPBACK COUNT PLACE… COUNT FAREWELL… PROGRAM ARGUMENTS…`.

    STATUS is the file descriptor for the outcome; LOOPBACK is `1` to bring up the loopback device. Each PLACE stays
    writable (`+/tmp`) or read-only (`-/home`), parents first; without places, no file becomes read-only. FAREWELL is a
    command that ends processes outside this process tree.
    """
    status, loopback, *words = argv
    places, words = _counted(words)
    farewell, command = _counted(words)
    file = int(status)
    os.set_inheritable(file, False)
    _prctl(_ADOPT, 1)
    if loopback == "1":
        _raise_loopback()
    if places:
        _narrow(places)
    if loopback == "1" or places:
        _prctl(_AMBIENT, _CLEAR)
    try:
        how = _run(command)
    finally:
        _end_all()
        if farewell:
            _run_farewell(farewell)
    try:
        os.write(file, how.encode(errors="replace"))
    except OSError:
        pass  # Treadle has ended


def _counted(words: list[str]) -> "tuple[list[str], list[str]]":
    end = 1 + int(words[0])
    return words[1:end], words[end:]


def _run(command: list[str]) -> str:
    wake = _listen()
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        child = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, 0)],
            setpgroup=0,
            setsigdef=[*_IGNORED, signal.SIGPIPE, signal.SIGCHLD, signal.SIGXFSZ],
            setsigmask=[],
        )
    except (OSError, ValueError) as error:
        return f"missing {error.strerror if isinstance(error, OSError) else error}"
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
        code = _reap(child)
        if code is not None:
            return f"exit {code}"
        if 0 in ready and not os.read(0, 4096):
            return "stopped"


def _listen() -> int:
    """Return a pipe that becomes readable when a child exits."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    return reading


def _reap(wanted: int) -> "int | None":
    """Reap all dead children; return the exit code of the wanted one if it is among them.

    A negative code is the signal that killed it.
    """
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == wanted:
            found = os.waitstatus_to_exitcode(status)


def _end_all() -> None:
    """Kill all children, round after round: orphans become children of this process, so none escapes."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        for child in _children():
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_ROUND)


def _run_farewell(farewell: list[str]) -> None:
    until = time.monotonic() + _PATIENCE
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, nothing, file) for file in (0, 1, 2)]
        child = os.posix_spawnp(farewell[0], farewell, os.environ, file_actions=actions, setsigmask=[])
        while os.waitpid(child, os.WNOHANG)[0] == 0 and time.monotonic() < until:
            time.sleep(_ROUND)
    except OSError:
        pass


def _children() -> "list[int]":
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _raise_loopback() -> None:
    import _socket  # noqa: PLC0415 - only a network of our own needs these two
    import fcntl  # noqa: PLC0415

    try:
        any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        name = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket.fileno(), _GET_FLAGS, name))[1]
        fcntl.ioctl(any_socket.fileno(), _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))
        any_socket.close()
    except OSError:
        pass


def _narrow(places: list[str]) -> None:
    """Make all files read-only except the writable places, for good: the process also drops the right to mount."""
    libc, here = ctypes.CDLL(None, use_errno=True), os.getcwd()  # noqa: PTH109
    for place in places:
        path = os.fsencode(place[1:])
        _must(libc.mount(path, path, None, _BIND, None))
    for place in ("-/", *places):
        read_only = place.startswith("-")
        _must(_set_read_only(libc, os.fsencode(place[1:]), read_only))
        if bool(os.statvfs(place[1:]).f_flag & os.ST_RDONLY) is not read_only:
            raise PermissionError(f"{place[1:]} could not be made {'read-only' if read_only else 'writable'}")
    os.chdir(here)  # into what has been mounted there
    _give_up_mounting(libc)


def _give_up_mounting(libc: ctypes.CDLL) -> None:
    """Drop CAP_SYS_ADMIN from the bounding and inheritable sets, so that root in the sandbox cannot regain it."""
    _must(libc.prctl(_DROP, _MOUNTING, 0, 0, 0))
    header, rights = struct.pack("Ii", _RIGHTS, 0), ctypes.create_string_buffer(24)
    _must(libc.capget(header, rights))
    effective, permitted, _, *more = struct.unpack("6I", rights.raw)
    _must(libc.capset(header, struct.pack("6I", effective, permitted, 0, *more[:2], 0)))


def _set_read_only(libc: ctypes.CDLL, path: bytes, read_only: bool) -> int:
    attributes = struct.pack("4Q", read_only, not read_only, 0, 0)
    return int(libc.syscall(_MOUNT_SETATTR, _HERE, path, _RECURSIVE, attributes, len(attributes)))


def _must(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _prctl(what: int, value: int) -> None:
    try:
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # where there is no such call, the rest works


if __name__ == "__main__":
    main(sys.argv[1:])
