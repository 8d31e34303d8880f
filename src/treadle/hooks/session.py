"""Sessions: match an agent that Treadle did not start with a person's work.

An agent in the lane of a step belongs to that step. An agent elsewhere belongs to a step if its conversation names the
step's lane, or the folder with its prompt. Treadle leaves all others alone.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.hooks.call import HookCall
from treadle.ports import Work
from treadle.results.channels import BEFORE_FILE
from treadle.results.intake import read_file, replace_file

_MOMENT: Final = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.+Z-]{10,40})"')
_END: Final = rb"(?![\w~-])"
"""The end of a folder's name: `lane-10` does not name `lane-1`."""
_HEAD: Final = 256 * 1024
_PIECE: Final = 1024 * 1024
_MOST: Final = 64 * _PIECE


def start_time(transcript: str) -> float | None:
    """Return the start of a conversation, in seconds since the epoch; None if unknown."""
    found = _MOMENT.search(next(_pieces(transcript, _HEAD), b""))
    try:
        return datetime.fromisoformat(found[1].decode()).timestamp() if found else None
    except (ValueError, OverflowError):
        return None


def names_folder(transcript: str, *folders: Path) -> bool:
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
    """Yield the contents of a plain file, up to a limit."""
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


# Match a session with a person's open work, by the rules at the top of this file.

_NOTE = "hook.json"


class SessionWork(msgspec.Struct, frozen=True):
    """Work that an agent belongs to."""

    work: Work
    is_owed: bool
    """Whether this session must report how the step ended; a session older than the step may not know of it."""


def find_work(call: HookCall, works: Iterable[Work]) -> list[SessionWork]:
    """Find the work that a session belongs to."""
    here = Path(os.path.realpath(call.cwd))
    found = []
    for work in works:
        if here.is_relative_to(os.path.realpath(work.lane)):
            found.append(SessionWork(work, _is_owed(call, work)))
        elif names_folder(call.transcript, work.lane, work.bundle):
            found.append(SessionWork(work, is_owed=_is_told(call, work)))
    return found


def note_session(call: HookCall, work: Work) -> None:
    """Record that a hook made a session go on with a step; without the record the hook is only more patient."""
    try:
        replace_file(work.home, _NOTE, call.session.encode(errors="replace"))
    except (OSError, PortError):
        return


def _is_owed(call: HookCall, work: Work) -> bool:
    """Whether a session in the lane of a step began after the step was handed out, or knows of it."""
    try:
        handed_out = (work.home / BEFORE_FILE).stat().st_mtime
    except OSError:
        return True
    start = start_time(call.transcript)
    return start is None or start >= handed_out or _is_told(call, work)


def _is_told(call: HookCall, work: Work) -> bool:
    """Whether the session knows of exactly this attempt: its conversation names the prompt, or a hook has
    mentioned it.
    """
    noted = read_file(work.home, _NOTE) == call.session.encode(errors="replace") and bool(call.session)
    return noted or names_folder(call.transcript, work.bundle)
