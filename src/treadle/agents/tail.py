"""The end of an output that never ends: read as it grows, bounded in memory, cleaned for people."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from treadle.results.strict_json import MAX_ANSWER

MAX_READ: Final = 1 << 20
MAX_LINE: Final = 500
AROUND: Final = 64_000
"""Bytes of the last output besides an answer that may stand there."""
MAX_FINAL: Final = MAX_ANSWER + AROUND

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Tail:
    """Reads what is added to a file, also when the file is put aside and begun anew; what is thrown away is missed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def read(self) -> bytes:
        """What has come since the last time, or the first part of it."""
        data = b""
        while len(data) < MAX_READ:
            if self._file < 0 and (file := open_regular(self._path)) is not None:
                self._file = file
            if self._file < 0:
                break
            more = os.read(self._file, MAX_READ - len(data))
            data += more
            if not more and not self._put_aside():
                break
        return data

    def close(self) -> None:
        """Give the file back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _put_aside(self) -> bool:
        """Whether the file that was read to its end is no longer the one that grows; then the next is begun."""
        try:
            now = os.lstat(self._path)
        except OSError:
            return False
        if os.path.samestat(now, os.fstat(self._file)):
            return False
        self.close()
        return stat.S_ISREG(now.st_mode)


def open_regular(path: Path) -> int | None:
    """A file to read from; None if there is none, or something that only looks like one (a link, a pipe)."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def end_of(path: Path, limit: int = MAX_FINAL) -> bytes:
    """The last bytes of a log: of the growing file, and of the one put aside if that is not enough."""
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
    """Bytes of any kind as text; what is no UTF-8 is marked as such."""
    return data.decode("utf-8", "replace")


def escaped(data: bytes) -> str:
    """Bytes of any kind as text from which they can be had again: what is no UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def last_line(data: bytes) -> str:
    """The last line with something on it, without what steers a terminal."""
    text = text_of(data[-4 * MAX_LINE :])
    lines = [_UNSEEN.sub("", _ESCAPES.sub("", line)).strip() for line in re.split(r"[\r\n]+", text)]
    return next((line[:MAX_LINE] for line in reversed(lines) if line), "")
