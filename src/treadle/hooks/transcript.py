"""What the record of an agent's conversation tells: when it began, and whether it is about a certain folder.

Nothing of it is believed beyond that, or shown to anybody.
"""

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

_MOMENT: Final = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,40})"')
_END: Final = rb"(?![\w~-])"
"""What ends the name of a folder; `lane-1` is not named by `lane-10`."""
_HEAD: Final = 256 * 1024
_PIECE: Final = 1024 * 1024
_MOST: Final = 64 * _PIECE


def began(transcript: str) -> float | None:
    """When a conversation began, in seconds since the epoch; None if nobody can say."""
    found = _MOMENT.search(next(_pieces(transcript, _HEAD), b""))
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp() if found else None
    except (ValueError, OverflowError):
        return None


def names(transcript: str, *folders: Path) -> bool:
    """Whether one of some folders is named in a conversation."""
    wanted = [str(folder).encode(errors="replace") for folder in folders]
    pattern = re.compile(b"(?:" + b"|".join(map(re.escape, wanted)) + b")" + _END)
    longest = max(map(len, wanted), default=0) + 1
    before = b""
    for piece in _pieces(transcript, _PIECE):
        here = before + piece
        if pattern.search(here):
            return True
        before = here[-longest:]
    return False


def _pieces(transcript: str, size: int) -> Iterator[bytes]:
    """The contents of a plain file, as far as anybody would read."""
    try:
        if not stat.S_ISREG(os.stat(transcript).st_mode):  # noqa: PTH116 - it may be no path at all
            return
        descriptor = os.open(transcript, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    with os.fdopen(descriptor, "rb") as file:
        for _ in range(_MOST // size):
            if not (piece := file.read(size)):
                return
            yield piece
