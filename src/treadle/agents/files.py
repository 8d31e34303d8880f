"""The outputs of agents: read as they grow, from their ends, and cleaned for people."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from treadle.results.intake import MAX_ANSWER

MAX_READ: Final = 1 << 20
MAX_LINE: Final = 500
AROUND: Final = 64_000
"""Bytes of the final output allowed around an answer."""
MAX_FINAL: Final = MAX_ANSWER + AROUND

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Tail:
    """Reads the data appended to a file, across rotations; data in a file that was already deleted is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def read(self) -> bytes:
        """Return the data since the last call, up to `MAX_READ` bytes."""
        data = b""
        while len(data) < MAX_READ:
            if self._file < 0 and (file := open_regular(self._path)) is not None:
                self._file = file
            if self._file < 0:
                break
            more = os.read(self._file, MAX_READ - len(data))
            data += more
            # Read the file to its end before looking for a new one under its name: a rotated file keeps its data as
            # long as it is open here, while the new one can be opened only once the old one is let go.
            if not more and not self._was_rotated():
                break
        return data

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _was_rotated(self) -> bool:
        """Whether the file was rotated after it was read to its end; if so, the next read opens the new one."""
        try:
            now = os.lstat(self._path)
        except OSError:
            return False
        if os.path.samestat(now, os.fstat(self._file)):
            return False
        self.close()
        return stat.S_ISREG(now.st_mode)


def open_regular(path: Path) -> int | None:
    """Open a file for reading; None if it is missing or not a regular file (a link, a pipe)."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def end_of(path: Path, limit: int = MAX_FINAL) -> bytes:
    """Return the last bytes of a log: from the growing file, and from the rotated one if that is not enough."""
    young = _end(path, limit)
    return (_end(path.with_name(f"{path.name}.old"), limit - len(young)) if len(young) < limit else b"") + young


def _end(path: Path, limit: int) -> bytes:
    file = open_regular(path)
    if file is None:
        return b""
    try:
        return os.pread(file, limit, max(0, os.fstat(file).st_size - limit))
    finally:
        os.close(file)


def text_of(data: bytes) -> str:
    """Decode bytes to text; invalid UTF-8 becomes replacement characters."""
    return data.decode("utf-8", "replace")


def escaped(data: bytes) -> str:
    """Decode bytes to text reversibly: invalid UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def last_line(data: bytes) -> str:
    """Return the last line that is not blank, without terminal control sequences."""
    text = text_of(data[-4 * MAX_LINE :])
    lines = [_UNSEEN.sub("", _ESCAPES.sub("", line)).strip() for line in re.split(r"[\r\n]+", text)]
    return next((line[:MAX_LINE] for line in reversed(lines) if line), "")
