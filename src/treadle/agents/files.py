"""Files that agents write: outputs, read as they grow and cleaned for people, and changes that stay inside a lane."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from treadle.errors import PortError
from treadle.protocol.paths import clean_path, path_fault
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


# Changes to the files of a lane; relative paths cannot lead out of it.


class LaneFiles:
    """The files of one lane. Every change is idempotent, except `append`."""

    def __init__(self, lane: Path) -> None:
        self.lane = lane

    def write(self, path: str, text: str) -> None:
        """Replace a file, or make one with the folders above it; it stays executable if it was."""
        self._put(path, text, os.O_TRUNC)

    def append(self, path: str, text: str) -> None:
        """Add to the end of a file."""
        self._put(path, text, os.O_APPEND)

    def rename(self, path: str, to: str) -> None:
        """Give a file another name; nothing happens if that has been done."""
        old, new = self._place(path), self._place(to)
        if not os.path.lexists(old):
            if os.path.lexists(new):
                return
            raise PortError(f"'{path}' cannot be renamed: it does not exist", code="agent.path")
        new.parent.mkdir(parents=True, exist_ok=True)
        old.replace(new)

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""
        self._place(path).unlink(missing_ok=True)

    def make_executable(self, path: str) -> None:
        """Set the executable bits of a file that is there."""
        place = self._place(path)
        if place.is_symlink() or not place.is_file():
            raise PortError(f"'{path}' cannot be made executable: it is not a file", code="agent.path")
        place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o111)

    def _put(self, path: str, text: str, how: int) -> None:
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            place.unlink()
        file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | how, 0o666)
        with os.fdopen(file, "wb") as opened:
            opened.write(text.encode())

    def _place(self, path: str) -> Path:
        if fault := path_fault(path):
            raise PortError(f"the path '{path[:80]}' {fault}", code="agent.path")
        place = self.lane / clean_path(path)
        lane = self.lane.resolve()
        if not place.parent.resolve().is_relative_to(lane):
            raise PortError(f"the path '{path}' leads out of the lane through a link", code="agent.path")
        return place
