"""What Treadle has put into the user's checkout itself: by this it knows a file that somebody has changed since.

For files that can bear no seal, because their form is somebody else's.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from treadle.results.files import look, replace

FILE: Final = "placed.json"
KEPT: Final = "kept"
"""The folder, beside that note, for what others have left in the place of a file of ours."""


class Placed:
    """Remembers, across processes, what each file was when it was written last."""

    def __init__(self, local: Path) -> None:
        self._local = local
        self._marks: dict[str, list[str]] | None = None

    def is_ours(self, path: str, data: bytes) -> bool:
        """Whether a file is as Treadle has written it last, or was about to."""
        return _digest(data) in self._known().get(path, ())

    def paths(self) -> list[str]:
        """All that was ever written."""
        return sorted(self._known())

    def note(self, path: str, data: bytes) -> None:
        """A file is going to be written: noted before, so that nobody else is blamed if we are killed in between."""
        before, mark = self._known().get(path, []), _digest(data)
        if before[:1] != [mark]:
            marks = {**self._known(), path: [mark, *before[:1]]}
            self._local.mkdir(parents=True, exist_ok=True)
            replace(self._local, FILE, msgspec.json.encode(marks, order="sorted"))
            self._marks = marks

    def keep(self, path: str, data: bytes) -> Path:
        """Keep what somebody has left in the place of a file; where it is now."""
        name = f"{path}~{_digest(data)[:12]}"
        goal = self._local / KEPT / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        replace(goal.parent, goal.name, data)
        return goal

    def _known(self) -> dict[str, list[str]]:
        if self._marks is None:
            found = look(self._local, FILE) if self._local.is_dir() else None
            try:
                self._marks = msgspec.json.decode(found, type=dict[str, list[str]]) if isinstance(found, bytes) else {}
            except msgspec.DecodeError:
                self._marks = {}
        return self._marks


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
