"""How this process learns that a program it has started is over: by its handle, not by a thread for each."""

import asyncio
import os
import sys


def mind_children() -> None:
    """From now on, as later versions of Python do by themselves; where there are no handles, it stays as it is."""
    if sys.version_info < (3, 12) and _has_handles():
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())


def _has_handles() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True
