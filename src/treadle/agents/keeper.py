# ruff: noqa: PTH105, PTH108, PTH208 - `pathlib` would double the time the keeper takes to start
"""The keeper: a small process between Treadle and an agent's program. It outlives Treadle, and no process outlives it.

The keeper locks the activity for as long as it lives, so two agents never work on one activity. It relays the program's
output into files of bounded size, adopts and ends the program's orphans, and records how the program ended. This module
contains only the start: the agent waits for it, so everything else (`processes`, and most of the standard library)
loads while the program is already starting.
"""

import errno
import fcntl
import os
import sys
import time

TAKEN = 75
"""The exit code of a keeper that found another one at work."""
FULL = 74
"""The exit code of a keeper that found no room for its files."""

_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
_PATIENCE = 0.5
_ROUND = 0.02
_RECORD = 4096  # bytes reserved for the record of the end: a full disk must not prevent it
_FULL = (errno.ENOSPC, errno.EDQUOT)


def main(argv: list[str]) -> None:
    """Run `LOCK FOLDER LANE GRACE SEGMENT SIGNALS PROGRAM ARGUMENTS…`; the parent has blocked our signals.

    SIGNALS are the numbers of the signals that the program gets with their default handlers. `FOLDER.farewell`, if it
    exists, contains a command that ends processes elsewhere (in a container).
    """
    try:
        _main(*argv)
    except OSError as error:
        if error.errno in _FULL:  # no record of it can be written
            sys.exit(FULL)
        raise
    sys.stderr.flush()
    os._exit(0)  # there is nothing to tidy up, and the driver waits


def _main(lock: str, folder: str, lane: str, grace: str, segment: str, signals: str, *command: str) -> None:
    mask = os.umask(0o077)
    if not _take(lock):
        sys.exit(TAKEN)
    for name in os.listdir(folder):  # of an earlier session; only the holder of the lock may remove them
        os.unlink(f"{folder}/{name}")
    _adopt_orphans()
    ending = _reserve(f"{folder}/ended.part")
    pipes = {name: os.pipe() for name in ("stdout", "stderr")}
    program, trouble = 0, ""
    try:
        os.chdir(lane)
        program = _spawn(command, [pair[1] for pair in pipes.values()], mask, [int(one) for one in signals.split(",")])
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        trouble = f"error {command[0]} could not be started in {lane}: {reason}"
    os.pwrite(ending, (trouble or _kept(program, pipes, folder, float(grace), int(segment))).encode()[:_RECORD], 0)
    os.replace(f"{folder}/ended.part", f"{folder}/ended")


def _kept(program: int, pipes: dict[str, tuple[int, int]], folder: str, grace: float, segment: int) -> str:
    """Supervise the program and return how it ended; kill it at once if supervision cannot start."""
    from treadle.agents.processes import Keeper, introduce, kill  # noqa: PLC0415 - the program is starting meanwhile

    for _, writing in pipes.values():
        os.close(writing)
    try:
        introduce(folder)
        keeper = Keeper(folder, segment, program, {name: reading for name, (reading, _) in pipes.items()})
    except OSError:
        kill(program)
        raise
    return keeper.run(grace)


def _spawn(command: tuple[str, ...], outputs: list[int], mask: int, signals: list[int]) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, file, at) for at, file in enumerate(outputs, start=1)]
    os.umask(mask)
    try:
        return os.posix_spawn(
            command[0], command, os.environ, file_actions=actions, setpgroup=0, setsigdef=signals, setsigmask=[]
        )
    finally:
        os.umask(0o077)


def _take(lock: str) -> bool:
    """Lock the activity; the lock ends with this process in any case."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A process that only tests the lock holds it for a moment.
            if time.monotonic() > until:
                return False
            time.sleep(_ROUND)
        else:
            return True


def _adopt_orphans() -> None:
    import _ctypes  # noqa: PLC0415 - where there is no such library, the rest works; `ctypes` takes long to load

    try:
        here = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # this program itself
        _ctypes.call_function(_ctypes.dlsym(here, "prctl"), (_ADOPT, 1, 0, 0, 0))
    except (OSError, AttributeError):
        return


def _reserve(path: str) -> int:
    """Create a file with reserved space for a record that is written later."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    if os.write(file, b" " * _RECORD) < _RECORD:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return file
