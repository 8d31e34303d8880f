"""Records the files that Treadle wrote into the user's checkout, to recognise later changes by other hands.

It serves files in a foreign format, which cannot contain a seal.
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from treadle.results.intake import read_file, replace_file

FILE: Final = "placed.json"
KEPT: Final = "kept"
"""The folder, beside the record, for foreign content found in the place of our files."""


class PlacedFiles:
    """Stores, across processes, the digest of each file when Treadle last wrote it."""

    def __init__(self, local: Path) -> None:
        self._local = local
        self._marks: dict[str, list[str]] | None = None

    def is_ours(self, path: str, data: bytes) -> bool:
        """Whether a file is the last version that Treadle wrote, or was about to write."""
        return _digest(data) in self._known().get(path, ())

    def paths(self) -> list[str]:
        """Return all paths ever written."""
        return sorted(self._known())

    def note(self, path: str, data: bytes) -> None:
        """Record a file before writing it, so that a kill in between does not make it look like a user's change."""
        before, mark = self._known().get(path, []), _digest(data)
        if before[:1] != [mark]:
            marks = {**self._known(), path: [mark, *before[:1]]}
            self._local.mkdir(parents=True, exist_ok=True)
            replace_file(self._local, FILE, msgspec.json.encode(marks, order="sorted"))
            self._marks = marks

    def keep(self, path: str, data: bytes) -> Path:
        """Save foreign content found in the place of a file, and return its new path."""
        name = f"{path}~{_digest(data)[:12]}"
        goal = self._local / KEPT / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        replace_file(goal.parent, goal.name, data)
        return goal

    def _known(self) -> dict[str, list[str]]:
        if self._marks is None:
            data = read_file(self._local, FILE) if self._local.is_dir() else None
            try:
                self._marks = msgspec.json.decode(data, type=dict[str, list[str]]) if isinstance(data, bytes) else {}
            except msgspec.DecodeError:
                self._marks = {}
        return self._marks


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
