"""Where a project is, and where Treadle keeps its files in it."""

import os
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import TreadleError

FILE: Final = "treadle.toml"
FOLDER: Final = ".treadle"
MARKS: Final = (FOLDER, FILE, ".git")
"""Any of these makes a folder the root of a project."""


_LANES: Final = (FOLDER, "local", "worktrees")


class Project(msgspec.Struct, frozen=True):
    """A folder with a project in it; its own files are committed, those below `local` are this checkout's alone."""

    root: Path

    @property
    def file(self) -> Path:
        return self.root / FILE

    @property
    def own(self) -> Path:
        return self.root / FOLDER

    @property
    def protocols(self) -> Path:
        return self.own / "protocols"

    @property
    def overlays(self) -> Path:
        return self.own / "overlays"

    @property
    def templates(self) -> Path:
        return self.own / "templates"

    @property
    def rules(self) -> Path:
        return self.root / ".ai" / "step-rules.yaml"

    @property
    def local(self) -> Path:
        return self.own / "local"

    @property
    def store(self) -> Path:
        return self.local / "store.db"

    @property
    def runs(self) -> Path:
        return self.local / "runs"

    @property
    def worktrees(self) -> Path:
        return self.root.joinpath(*_LANES)


def find_project(start: Path | None = None) -> Project | None:
    """The project around a folder (the current one): the nearest that has `.treadle/`, `treadle.toml` or `.git`.

    Outside of a repository only the folder itself can be one: what lies in shared folders above it is anybody's.
    """
    here = start.absolute() if start else current_folder()
    above = (here, *here.parents)
    is_repository = any(_marked(folder / ".git") for folder in above)
    for folder in above if is_repository else above[:1]:
        if any(_marked(folder / mark) for mark in MARKS):
            return Project(folder)
    return None


def owner_of(folder: Path) -> Project | None:
    """The project whose runs an agent in a folder may belong to: that of the lane around it, else `find_project`."""
    for above in (folder, *folder.parents):
        if above.parts[-3:] == _LANES:
            return Project(above.parents[2])
    return find_project(folder)


def project_around(start: Path | None = None) -> Project | None:
    """As `find_project`; but a lane is no project, it is part of the one whose agents work in it."""
    found = find_project(start)
    is_lane = found is not None and found.root.parent.parts[-len(_LANES) :] == _LANES
    return Project(found.root.parents[len(_LANES)]) if found and is_lane else found


def open_project(start: Path | None = None) -> Project:
    """The project around a folder, or an error that says how to begin one."""
    found = project_around(start)
    if found is None:
        here = start or current_folder()
        raise TreadleError(
            f"{here} is not in a project; `git init` makes it a repository, then `treadle init`", code="project.missing"
        )
    return found


def current_folder() -> Path:
    """The folder that commands are given in."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise TreadleError("the current folder is gone; go to one that is there", code="project.gone") from None


def make_local(project: Project) -> Path:
    """The project's `.treadle/local/`, made if need be, which git ignores without being told elsewhere."""
    for folder in (project.own, project.local):
        if folder.is_symlink():
            raise TreadleError(
                f"{folder} is a link; Treadle writes only to folders inside the project: remove the link",
                code="file.link",
            )
    try:
        project.local.mkdir(parents=True, exist_ok=True)
        _ignore_everything(project.local)
    except OSError as error:
        raise TreadleError(
            f"{project.local} cannot be made: {error.strerror}; check the permissions", code="file.unwritable"
        ) from None
    return project.local


def _ignore_everything(folder: Path) -> None:
    try:
        handle = os.open(folder / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        return
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("*\n")


def _marked(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be looked into is nobody's project
        return False
