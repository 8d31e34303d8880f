"""How this process learns that a program it has started is over: by its handle, not by a thread for each.

Later versions of Python do so by themselves.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Self, TypeVarTuple

_Ts = TypeVarTuple("_Ts")


def mind_children() -> None:
    """From now on; where there are no handles, it stays as it is."""
    if sys.version_info < (3, 12) and _has_handles():
        asyncio.set_child_watcher(_Watcher())


def _has_handles() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


if sys.version_info < (3, 12):

    class _Watcher(asyncio.AbstractChildWatcher):
        """Of any loop, in any thread: it remembers nothing."""

        def add_child_handler(self, pid: int, callback: Callable[[int, int, *_Ts], object], *args: *_Ts) -> None:
            loop, handle = asyncio.get_running_loop(), os.pidfd_open(pid)

            def over() -> None:
                loop.remove_reader(handle)
                os.close(handle)
                callback(pid, _code(pid), *args)

            loop.add_reader(handle, over)

        def remove_child_handler(self, pid: int) -> bool:  # noqa: ARG002 - nobody asks for it
            return False

        def attach_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
            """Each program belongs to the loop that has started it."""

        def close(self) -> None:
            """There is nothing to close."""

        def is_active(self) -> bool:
            return True

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            """There is nothing to close."""


def _code(pid: int) -> int:
    """How it ended; 255, as everywhere in asyncio, if somebody else has asked before."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 255
