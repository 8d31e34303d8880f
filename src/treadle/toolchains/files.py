"""Files that others wrote: regular ones, of a bounded size, and never through a link."""

import os
import stat
from pathlib import Path
from typing import Final

MAX_FILE: Final = 64_000_000


def read_bytes(path: Path, limit: int = MAX_FILE) -> bytes | None:
    """A file's contents; None if there is none, if it is no plain file, or if it is too large."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return opened.read(limit)


def read_text(path: Path) -> str:
    """A small file's text; empty if there is none."""
    return (read_bytes(path, 1_000_000) or b"").decode(errors="replace")
