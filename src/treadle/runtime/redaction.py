"""Takes the keys lent to an agent out of its files: in its lane, and in the stored files of the activity.

Its program must have ended. The conversation's own home stays as it is: it belongs to the agent and contains its login
anyway.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.config.secrets import Redaction
from treadle.ports import Work
from treadle.results import channels

_GIT: Final = ".git"
_LARGEST: Final = 64 * 1024 * 1024
_OPENING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def redact_files(work: Work, redaction: Redaction) -> list[str]:
    """Replace secret values with their names; return a sentence for each affected file of the lane. Blocking."""
    if not redaction.names:
        return []
    since = 0
    with suppress(OSError):  # written once, before the first round; the lane's checked-out files are older
        since = (work.home / channels.BEFORE_FILE).lstat().st_ctime_ns
    affected = [(path, names) for path in _files(work.lane) if (names := _redact(path, redaction, since))]
    for path in (*_files(work.out), *_files(work.home / "agent")):
        _redact(path, redaction, 0)
    return [f"{path.relative_to(work.lane)} held the value of {', '.join(names)}" for path, names in affected]


def _files(folder: Path) -> Iterator[Path]:
    """Yield the plain files below a folder, without those of git."""
    for parent, folders, files in os.walk(folder):
        if Path(parent) == folder and _GIT in folders:
            folders.remove(_GIT)
        yield from (Path(parent, name) for name in files)


def _redact(path: Path, redaction: Redaction, since: int) -> list[str]:
    """Redact a file and return the names of the secrets in it; files unchanged since `since` are not read."""
    with suppress(OSError):
        state = path.lstat()
        # The change time, because a program can set the modification time of its files.
        if not stat.S_ISREG(state.st_mode) or state.st_ctime_ns < since or state.st_size > _LARGEST:
            return []
        with os.fdopen(os.open(path, _OPENING), "rb") as file:
            data = file.read()
        if names := redaction.named_in(data):
            # A new file takes its place: the old one may have a hard link elsewhere, which is not ours to change.
            draft = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(redaction.data(data))
                os.fchmod(file.fileno(), stat.S_IMODE(state.st_mode))
            draft.replace(path)
        return names
    return []
