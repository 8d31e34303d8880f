"""What failures of a memory file mean to whoever wanted to remember or to recall something."""

import sqlite3
from pathlib import Path
from typing import Final

from treadle.errors import PortError
from treadle.store.connection import explained

_DAMAGED: Final = (
    "the memory is damaged, and nothing was written to it; copy it, and try `sqlite3 {file} .recover`, or move it away:"
    " then a new one is begun. `treadle memory import` takes an export back"
)
_LOCKED: Final = "the memory cannot be written; make the file and its folder writable, then try again"
_MEANINGS: Final[dict[int, str]] = {
    sqlite3.SQLITE_BUSY: "another process keeps the memory busy; try again when it has ended",
    sqlite3.SQLITE_CANTOPEN: "the memory cannot be opened; is the folder there, and may you write to it?",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_FULL: "the disk is full; nothing of this was remembered. Make room, then try again",
    sqlite3.SQLITE_IOERR: "reading or writing the memory failed; is the disk full, or gone?",
    sqlite3.SQLITE_READONLY: _LOCKED,
    sqlite3.SQLITE_PERM: _LOCKED,
}


def trouble(path: Path, error: sqlite3.Error) -> PortError:
    """What went wrong with a memory."""
    return explained(path, error, _MEANINGS, "memory")
