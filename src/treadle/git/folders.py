"""What folders hold, read again only if something was made, removed or renamed in them since.

The system notes that in the time of a folder's last change, which no program can set. A folder that was changed just
before it was read is not remembered: another change at the same moment would leave the same time.
"""

import os
import time
from threading import Lock
from typing import Final

import msgspec

_SETTLED: Final = 2_000_000_000
"""Nanoseconds after which a further change has another time on any file system."""
_REMEMBERED: Final = 300_000
"""Files in all the folders that are remembered, which take tens of megabytes."""


class Held(msgspec.Struct, frozen=True):
    """The names in a folder, itself below another one by a prefix; links are no folders."""

    prefix: str
    stamp: tuple[int, ...]
    files: frozenset[str]
    """With the prefix."""
    folders: tuple[str, ...]
    """Without it."""


class _Memory:
    """Threads look at folders at the same time; it is emptied when it is full."""

    def __init__(self) -> None:
        self.known: dict[str, Held] = {}
        self._files = 0
        self._lock = Lock()

    def note(self, folder: str, found: Held) -> None:
        with self._lock:
            before = self.known.get(folder)
            self._files += len(found.files) - (len(before.files) if before else 0)
            if self._files > _REMEMBERED:
                self.known.clear()
                self._files = len(found.files)
            self.known[folder] = found


_memory = _Memory()


def held(folder: str, prefix: str) -> Held:
    """What a folder holds; an `OSError` if it may not be read."""
    state, now = os.lstat(folder), time.time_ns()
    stamp = (state.st_dev, state.st_ino, state.st_mtime_ns, state.st_ctime_ns)
    known = _memory.known.get(folder)
    if known is not None and (known.prefix, known.stamp) == (prefix, stamp):
        return known
    with os.scandir(folder) as entries:
        kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    files = frozenset(prefix + name for name, is_folder in kinds if not is_folder)
    found = Held(prefix, stamp, files, tuple(name for name, is_folder in kinds if is_folder))
    if 0 < state.st_ctime_ns < now - _SETTLED:
        _memory.note(folder, found)
    return found
