"""A lane as it lies on the disk, held against a write scope."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from treadle.enclosures.write_scope import Inside, Mark, built_folders, marks, needed_folders
from treadle.errors import PortError
from treadle.protocol.globs import glob_fault, shown

_EVERYTHING: Final = ("**",)
_LONGEST: Final = 100_000


def lane_marks(lane: Path, scope: Iterable[str] | None) -> tuple[Mark, ...]:
    """What to open and to close in a lane; folders of the scope that are not there are made.

    Links are never followed: neither what they lead to nor a folder behind one is opened.
    """
    globs = _EVERYTHING if scope is None else tuple(scope)
    for glob in globs:
        if fault := glob_fault(glob):
            raise PortError(f"the write scope {shown(glob)} {fault[0]}; {fault[1]}", code="box.scope")
    globs = (*globs, *built_folders(_ignored(lane)))
    for folder in needed_folders(globs):
        _make(lane, folder)
    return marks(globs, lambda folder: _look(lane / folder))


def _ignored(lane: Path) -> str:
    try:
        file = os.open(lane / ".gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(file, encoding="utf-8", errors="replace") as opened:
        return opened.read(_LONGEST) if os.path.isfile(file) else ""  # noqa: PTH113 - an open file has no path


def _make(lane: Path, folder: str) -> None:
    """Only the last part may be missing: its parents come first. Where a file or a link is, nothing is made."""
    path = lane.resolve() / folder
    if path.parent.resolve() == path.parent and path.parent.is_dir() and not os.path.lexists(path):
        path.mkdir()


def _look(folder: Path) -> Inside:
    try:
        with os.scandir(folder) as entries:
            found = sorted((one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in entries)
    except OSError:
        return Inside()
    return Inside(
        tuple(name for name, is_folder, _ in found if is_folder),
        tuple(name for name, is_folder, is_link in found if not is_folder and not is_link),
    )
