"""Files that a stranger may have put there: plain files only, no links on the way, bounded, and nothing that waits.

Everything here blocks, if only for a moment; an event loop calls it in a thread.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from treadle.results.faulty import Faulty, faulty
from treadle.results.strict_json import too_large

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR)
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file that is read at all, where no answer's limit holds."""


def look(root: Path, name: str, what: str = "", limit: int = LARGEST) -> bytes | Faulty | None:
    """The contents of a plain file below a folder; None if nothing is there."""
    what = what or name
    try:
        with _parent(root, name) as (folder, last):
            if odd := _odd(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                return faulty(f"{what} is {odd}; write a plain file there")
            return _contents(os.open(last, _FILE, dir_fd=folder), what, limit)
    except OSError as error:
        return None if error.errno in _ABSENT else faulty(_unreadable(what, error))


def mark(root: Path, name: str) -> str:
    """What tells a file from a later version of itself, whatever it is; empty if nothing is there."""
    try:
        with _parent(root, name) as (folder, last):
            about = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        return "" if error.errno in _ABSENT else f"error {error.errno}"
    found = look(root, name)
    if isinstance(found, bytes):
        return f"sha256:{hashlib.sha256(found).hexdigest()}"
    return f"{stat.filemode(about.st_mode)} {about.st_ino} {about.st_size} {about.st_mtime_ns}"


def remove(root: Path, name: str) -> None:
    """Delete a file or link below a folder, if it can be done."""
    with suppress(OSError), _parent(root, name) as (folder, last):
        os.unlink(last, dir_fd=folder)


def replace(root: Path, name: str, data: bytes, mode: int = 0o644) -> None:
    """Put a file there at once and durably, in place of whatever file or link has its name."""
    with _parent(root, name) as (folder, last):
        draft = f".{last}.{os.getpid()}.{os.urandom(4).hex()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(draft, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        os.fsync(folder)


@contextmanager
def _parent(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """The folder that holds a file, reached without following a link below the root; and the file's last name."""
    *folders, last = name.split("/")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, last
    finally:
        os.close(descriptor)


def _contents(descriptor: int, what: str, limit: int) -> bytes | Faulty:
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if odd := _odd(about.st_mode):
            return faulty(f"{what} is {odd}; write a plain file there")
        if about.st_size > limit:
            return too_large(what, about.st_size, limit)
        data = file.read(limit + 1)
    return data if len(data) <= limit else too_large(what, len(data), limit)


def _odd(mode: int) -> str:
    """What stands in the place of a plain file; empty if one does."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "no plain file (a pipe, socket or device)"


def _unreadable(what: str, error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f"{what} is reached through a symbolic link; write a plain file in a plain folder"
    return f"{what} cannot be read: {(error.strerror or str(error)).lower()}"
