"""Takes the keys that an agent was lent out of what it has left: in its lane, and in the files that are kept of it.

Its program must have ended. The conversation's own home stays as it is: it is the agent's, and holds its login anyway.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.config.redaction import Redaction
from treadle.ports import Work
from treadle.results import prepare

_GIT: Final = ".git"
_LARGEST: Final = 64 * 1024 * 1024
_OPENING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def cleanse(work: Work, redaction: Redaction) -> list[str]:
    """Replace every value by its name; what was found where in the lane, in words. Blocks for a moment."""
    if not redaction.names:
        return []
    since = _written(work.home / prepare.FILE)  # once, before its first round; what was checked out is older
    found = [(path, names) for path in _files(work.lane) if (names := _without(path, redaction, since))]
    for path in (*_files(work.out), *_files(work.home / "agent")):
        _without(path, redaction, 0)
    return [f"{path.relative_to(work.lane)} held the value of {', '.join(names)}" for path, names in found]


def _written(path: Path) -> int:
    try:
        return path.lstat().st_ctime_ns
    except OSError:
        return 0


def _files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder, without those of its git."""
    for parent, folders, files in os.walk(folder):
        if Path(parent) == folder and _GIT in folders:
            folders.remove(_GIT)
        yield from (Path(parent, name) for name in files)


def _without(path: Path, redaction: Redaction, since: int) -> list[str]:
    """Whose values a file held; files that were not touched since are not read."""
    with suppress(OSError):
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode) or state.st_ctime_ns < since or state.st_size > _LARGEST:
            return []
        with os.fdopen(os.open(path, _OPENING), "rb") as file:
            data = file.read()
        if names := redaction.named_in(data):
            _put(path, redaction.data(data), stat.S_IMODE(state.st_mode))
        return names
    return []


def _put(path: Path, data: bytes, mode: int) -> None:
    """A new file in its place: the old one may have another name elsewhere, where it is none of ours."""
    draft = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)
    draft.replace(path)
