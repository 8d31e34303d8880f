"""Computes a lane's writable folders and files: every path of some globs, and few others.

Mounts know folders and files, not patterns. A folder in which a pattern may match something new is opened; disallowed
entries in it are closed again, up to a bounded number of mounts. The check on the diff refuses the writes that no mount
can: it always applies.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from treadle.errors import PortError
from treadle.git.files import read_plain_file
from treadle.git.globs import matches, naming
from treadle.protocol.paths import glob_fault, quote_glob

MOST_CLOSED: Final = 120
"""The most closed places inside open ones; each of them is a mount, and a thousand would take seconds."""
MOST_SEEN: Final = 2_000
"""The most folders to list."""
_NEVER: Final = ("!.git", "!.git/**", "!.treadle", "!.treadle/**", "!treadle.toml")
_BUILT: Final = frozenset(
    "build coverage dist htmlcov node_modules out target .cache .eggs .gradle .hypothesis .mypy_cache .next .nyc_output"
    " .pytest_cache .ruff_cache .tox .turbo".split()
)


class Mark(NamedTuple):
    """A place in a lane that is writable, or not, with everything below it."""

    path: str
    """Relative to the lane; empty: the lane itself."""
    writable: bool


class FolderContents(NamedTuple):
    """The entries of a folder by name, without links."""

    folders: Sequence[str] = ()
    files: Sequence[str] = ()


Look = Callable[[str], FolderContents]
"""Lists a folder of the lane."""


def marks(globs: Iterable[str], look: Look) -> tuple[Mark, ...]:
    """Return the places to open and to close, parents first; everything above them is closed."""
    scope = _Scope(globs)
    found: list[Mark] = []
    closed = 0
    waiting = deque([("", False)])
    seen = 0
    while waiting:
        folder, around = waiting.popleft()
        is_open, is_mixed = scope.folder(folder)
        if is_open or closed < MOST_CLOSED:
            closed += around and not is_open
            found += [Mark(folder, is_open)] if is_open != around else []
        else:
            is_open = around
        if not is_mixed or seen >= MOST_SEEN:
            continue
        seen += 1
        inside = look(folder)
        refused = [] if not is_open else [one for one in _below(folder, inside.files) if not scope.allows(one)]
        found += [Mark(one, writable=False) for one in refused[: MOST_CLOSED - closed]]
        closed = min(MOST_CLOSED, closed + len(refused))
        waiting.extend((one, is_open) for one in _below(folder, inside.folders))
    return tuple(sorted(found, key=lambda mark: mark.path.count("/") if mark.path else -1))


def needed_folders(globs: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that must exist to be opened: the leading parts of globs that can only be folders."""
    wanted = [*globs]
    found: dict[str, None] = {}
    for glob in wanted:
        parts = glob.split("/")
        wild = next((at for at, part in enumerate(parts) if _is_wild(part)), len(parts) - 1)
        for end in range(1, wild + 1) if not glob.startswith("!") else ():
            folder = "/".join(parts[:end])
            if matches(folder, (*wanted, *_NEVER)):
                break  # it may become a file
            if not matches(f"{folder}/x", _excluded(wanted)):
                found[folder] = None
    return tuple(found)


def built_folders(ignored: str) -> tuple[str, ...]:
    """Return globs for tools' build folders that a `.gitignore` names: no diff contains them."""
    names = {line.strip().strip("/") for line in ignored.splitlines() if not line.startswith("!")}
    return tuple(f"{name}/**" for name in sorted(names & _BUILT))


def _excluded(globs: Iterable[str]) -> list[str]:
    return [glob[1:] for glob in (*globs, *_NEVER) if glob.startswith("!")]


def _below(folder: str, names: Iterable[str]) -> list[str]:
    return [f"{folder}/{name}" if folder else name for name in names]


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part


class _Scope:
    """Globs, matched with folders instead of files."""

    def __init__(self, globs: Iterable[str]) -> None:
        every = (*globs, *_NEVER)
        self.allows = naming(every)
        self._wanted = [_Glob(glob) for glob in every if not glob.startswith("!")]
        self._excluded = [_Glob(glob) for glob in _excluded(every)]

    def folder(self, path: str) -> tuple[bool, bool]:
        """Whether a new entry may be written in a folder, and whether its contents must be listed."""
        parts = path.split("/") if path else []
        left = [glob.remaining(parts) for glob in self._wanted]
        denied = [glob.remaining(parts) for glob in self._excluded]
        if not any(left) or any(["**"] in one for one in denied):
            return False, False
        # The next part may be new: a file, or a folder with a wildcard name.
        is_open = any(len(rest) == 1 or _is_wild(rest[0]) for one in left for rest in one)
        return is_open, any(denied) or not any(["**"] in one for one in left)


class _Glob:
    """A glob, matched with the parts of a folder's path."""

    def __init__(self, glob: str) -> None:
        # `a**b` goes through folders too; that it may be anything from there on is more than it means, never less.
        parts = glob.removeprefix("./").rstrip("/").split("/")
        deep = next((at for at, part in enumerate(parts) if "**" in part and part != "**"), None)
        self._parts = parts if deep is None else [*parts[:deep], "**", "*"]

    def remaining(self, folder: Sequence[str]) -> list[list[str]]:
        """Return the parts of the glob that may still follow inside a folder; empty if it matches nothing there."""
        states = self._skip_stars({0})
        for name in folder:
            states = self._skip_stars(after for at in states for after in self._advance(at, name))
        return [self._parts[at:] for at in sorted(states)]

    def _advance(self, at: int, name: str) -> list[int]:
        part = self._parts[at]
        if part == "**":
            return [at]
        return [at + 1] if name == part or (_is_wild(part) and matches(name, (part,))) else []

    def _skip_stars(self, states: Iterable[int]) -> set[int]:
        """Add the states after each `**`, which may match no folder at all."""
        found: set[int] = set()
        for state in states:
            at = state
            while at < len(self._parts):
                found.add(at)
                if self._parts[at] != "**":
                    break
                at += 1
        return found


# Applying a write scope to a lane on disk.

_EVERYTHING: Final = ("**",)
_LONGEST: Final = 100_000


def lane_marks(lane: Path, scope: Iterable[str] | None) -> tuple[Mark, ...]:
    """Return the places to open and to close in a lane; missing folders of the scope are created.

    Links are never followed: neither their targets nor folders behind them are opened.
    """
    globs = _EVERYTHING if scope is None else tuple(scope)
    for glob in globs:
        if fault := glob_fault(glob):
            raise PortError(f"the write scope {quote_glob(glob)} {fault[0]}; {fault[1]}", code="box.scope")
    ignored = read_plain_file(lane, ".gitignore", _LONGEST) or b""
    globs = (*globs, *built_folders(ignored.decode(errors="replace")))
    for folder in needed_folders(globs):
        # Only the last part may be missing: its parents come first. Where a file or a link is, nothing is made.
        path = lane.resolve() / folder
        if path.parent.resolve() == path.parent and path.parent.is_dir() and not os.path.lexists(path):
            path.mkdir()
    return marks(globs, lambda folder: _folder_contents(lane / folder))


def _folder_contents(folder: Path) -> FolderContents:
    try:
        with os.scandir(folder) as entries:
            found = sorted((one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in entries)
    except OSError:
        return FolderContents()
    return FolderContents(
        tuple(name for name, is_folder, _ in found if is_folder),
        tuple(name for name, is_folder, is_link in found if not is_folder and not is_link),
    )
