"""Takes runs that have ended out of a project: their files first, so that what fails half-way can be done again."""

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.project import Project
from treadle.engines.containers import remove_containers
from treadle.engines.forgetting import Forgotten, forget_runs
from treadle.errors import PortError, TreadleError
from treadle.memory.dialogue import dialogues_in
from treadle.memory.shape import FILE as MEMORY
from treadle.store.cleaning import Freed
from treadle.store.records import Run
from treadle.store.sqlite import Store

Cleaner = Callable[[Project, str, bool], int]
"""Removes what a run has somewhere (or only looks, if the last argument says so): how many bytes that frees."""


class Cleaned(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, removed."""

    freed: Freed
    files: int
    """Bytes in files."""
    shrunk: int
    """Bytes by which the store has become smaller."""
    forgotten: Forgotten
    """What was in the repository."""
    containers: int = 0
    """Containers that were left."""


def clean(project: Project, store: Store, runs: Sequence[Run], *, dry: bool, branches: bool = False) -> Cleaned:
    """Remove runs that have ended; any other is left alone, whoever asks."""
    refuse_links(project)
    ended = store.clean([run.id for run in runs], dry=True).runs
    known = [run for run in runs if run.id in ended]
    forgotten = asyncio.run(forget_runs(project, store, known, branches=branches, dry=dry))
    containers = asyncio.run(remove_containers(project, known, dry=dry))
    files = sum(cleaner(project, run, dry) for run in ended for cleaner in CLEANERS)
    before = _size(project)
    freed = store.clean(ended, dry=dry)
    shrunk = before - _size(project)
    return Cleaned(freed=freed, files=files, shrunk=shrunk, forgotten=forgotten, containers=containers)


def refuse_links(project: Project) -> None:
    """A `TreadleError` if Treadle's own folder leads out of the project."""
    if project.own.is_symlink() or project.local.is_symlink():
        text = f"{project.local} is a link; Treadle removes only what is inside the project: remove the link"
        raise TreadleError(text, code="file.link")


def _size(project: Project) -> int:
    """The store's bytes, those that are still in its journal included."""
    files = (project.store, project.store.with_name(f"{project.store.name}-wal"))
    return sum(path.stat().st_size for path in files if path.exists())


def activity_folders(project: Project, run: str, dry: bool) -> int:
    """The folders of a run's activities: prompts, bundles, answers, output."""
    return _remove(project.runs, run, dry)


def dialogues(project: Project, run: str, dry: bool) -> int:
    """What the agents of a run have said to each other; its bytes are used again, not given back."""
    path = project.local / MEMORY
    if not dry and path.is_file():
        with dialogues_in(path) as found:
            found.forget(run)
    return 0


CLEANERS: Final[tuple[Cleaner, ...]] = (activity_folders, dialogues)
"""Everything that has files of a run."""


def _remove(parent: Path, name: str, dry: bool) -> int:
    folder = parent / name
    if name in ("", ".", "..") or "/" in name or parent.is_symlink() or folder.is_symlink() or not folder.is_dir():
        return 0
    count = 0
    for root, folders, names in os.walk(folder):
        if not dry:
            for inner in (Path(root) / one for one in folders):
                if not inner.is_symlink():
                    inner.chmod(0o700)  # an agent may have locked it
        count += sum((Path(root) / one).lstat().st_size for one in names)
    if not dry:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise PortError(
                f"{folder} cannot be removed: {error.strerror}; check the permissions", code="file.unwritable"
            ) from None
    return count
