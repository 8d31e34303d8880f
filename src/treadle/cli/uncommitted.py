"""What agents will not see: changes in the user's checkout that are in no commit."""

import asyncio
import os
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from treadle.cli.repository import git

_SHOWN: Final = 3
_MOST: Final = 100


def unseen(root: Path, known: Collection[str], made: Collection[str] = ()) -> str:
    """A sentence about what is not committed, besides files that only Treadle reads, or writes; else empty."""
    said = asyncio.run(git(root, "status", "--porcelain", "-z", "--untracked-files=normal"))
    ours = {os.path.relpath(name, root) for name in known if name} | {"treadle.toml"}
    names = [name for name in _names(said.text) if name not in ours and not name.startswith(".treadle/")]
    found = [name for name in names if not _is_made_by_a_run(root, root / name, made)]
    if not said.is_well or not found:
        return ""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"agents see only what is committed, which these are not: {', '.join(found[:_SHOWN])}{more}"


def _is_made_by_a_run(root: Path, path: Path, made: Collection[str]) -> bool:
    """Whether there is nothing but files that runs make, by their places, or as they were made from a log."""
    from treadle.config.project import Project
    from treadle.git.globs import naming
    from treadle.runtime.bank_files import is_foreign
    from treadle.runtime.placed import Placed

    placed, is_made = Placed(Project(root).local), naming(made)
    files = [one for one in islice(path.rglob("*"), _MOST) if not one.is_dir()] if path.is_dir() else [path]

    def is_ours(file: Path) -> bool:
        name = file.relative_to(root).as_posix()
        return is_made(name) or placed.is_ours(name, data := file.read_bytes()) or not is_foreign(data)

    try:
        return bool(files) and len(files) < _MOST and all(map(is_ours, files))
    except OSError:
        return False


def _names(porcelain: str) -> Iterator[str]:
    """The paths of `git status --porcelain -z`; after a rename stands the old name, which is left out."""
    parts = iter(part for part in porcelain.split("\0") if part)
    for part in parts:
        yield part[3:]
        if part[0] in "RC":
            next(parts, None)
