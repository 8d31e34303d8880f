"""What of the user's repository an agent has no reason to change while it works: branches, settings, hooks, files.

An agent without a container has the user's rights, and the user may be at work beside it. So a change proves nothing
against anybody; but whoever reads the evidence is told of it.
"""

import asyncio
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.git.globs import naming
from treadle.git.refs import Refs
from treadle.git.repository import Repository

_REFS: Final = ("refs/heads/", "refs/tags/", "refs/replace/")
_SETTINGS: Final = (
    "HEAD",
    "config",
    "config.worktree",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
)
_OWN: Final = "own "
"""Before the names of the user's files."""
_LISTED: Final = ("ls-files", "--modified", "--others", "--exclude-standard", "-z")
_DIRTY, _NAMED = 5000, 3
_MOST: Final = 1_000_000
_FILES: Final = 500

Seen = Mapping[str, str]


class Bystanders:
    """Looks at what stands around the lanes of a repository."""

    def __init__(self, repository: Repository, refs: Refs, prefix: str) -> None:
        self._repository, self._refs = repository, refs
        self._ours = (f"refs/heads/{prefix}/", "refs/treadle/")
        self.made: set[str] = set()
        """Globs of files of the user's tree that runs write themselves, and whose changes they tell themselves."""

    async def look(self) -> Seen:
        """Refs of the user's, how git works there, and how the project is set up: name → what it is at."""
        refs, files, work = await asyncio.gather(self._branches(), asyncio.to_thread(self._files), self._work())
        return refs | files | work

    async def _branches(self) -> dict[str, str]:
        found = await self._refs.below(*_REFS)
        return {ref: value for ref, value in found.items() if not ref.startswith(self._ours)}

    async def _work(self) -> dict[str, str]:
        """The user's own files that are not as committed, each with what changes whenever it is written.

        By our own git folder: with the user's settings, git would start the user's filters.
        """
        index, root = self._repository.work_folder / "index", self._repository.root
        said = await self._repository.git(*_LISTED, index=index, files=root, ok=(0, 128))
        is_made = naming(self.made)
        listed = set(os.fsdecode(said.out).split("\0")[:-1]) if said.code == 0 else set()
        own = sorted(name for name in listed if not is_made(name))
        return await asyncio.to_thread(_stamped, root, own[:_DIRTY])

    def _files(self) -> dict[str, str]:
        root = self._repository.root
        names = {path: path.relative_to(root) if path.is_relative_to(root) else path for path in self._all()}
        return {str(name): _digest(path) for path, name in names.items()}

    def _all(self) -> Iterator[Path]:
        root, folder = self._repository.root, self._repository.folder
        hooks = (path for path in _below(folder / "hooks") if path.suffix != ".sample")
        settings = (*(folder / name for name in _SETTINGS), root / "treadle.toml")
        yield from (path for path in settings if path.is_file())
        yield from hooks
        yield from _below(root / ".treadle", but="local")


def changed(before: Seen, after: Seen) -> tuple[str, ...]:
    """What is not as it was, a sentence each."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    own = [bare for name in names if name != (bare := name.removeprefix(_OWN)) and bare not in names]
    told = [f"{name} {_how(before, after, name)}" for name in names if not name.startswith(_OWN)]
    return (*told, *([f"the files {_some(own)} were changed"] if own else ()))


def _some(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _stamped(root: Path, names: list[str]) -> dict[str, str]:
    found, told = {}, _told_to()
    for name in names:
        found[f"{_OWN}{name}"] = "gone"
        with suppress(OSError):
            state = os.lstat(root / name)
            is_ours = (state.st_dev, state.st_ino) in told
            found[f"{_OWN}{name}"] = "" if is_ours else f"{state.st_ino} {state.st_size} {state.st_ctime_ns}"
    return found


def _told_to() -> set[tuple[int, int]]:
    """The files that this process itself tells how it goes: `treadle run > log.txt`."""
    found = set()
    for stream in (1, 2):
        with suppress(OSError):
            state = os.fstat(stream)
            found.add((state.st_dev, state.st_ino))
    return found


def _how(before: Seen, after: Seen, name: str) -> str:
    return "was added" if name not in before else "was removed" if name not in after else "was changed"


def _below(folder: Path, but: str = "") -> list[Path]:
    """The files of a folder, not of all too many; links are not followed."""
    found: list[Path] = []
    waiting = [folder]
    while waiting and len(found) < _FILES:
        here = waiting.pop()
        if here.is_symlink() or not here.is_dir():
            continue
        entries = [path for path in sorted(here.iterdir()) if here != folder or path.name != but]
        found += [path for path in entries if path.is_file()]
        waiting += [path for path in entries if path.is_dir()]
    return found[:_FILES]


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(_MOST)).hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
