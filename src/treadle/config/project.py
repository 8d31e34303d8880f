"""Where a project is, and where Treadle keeps its files in it."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import TreadleError
from treadle.protocol.paths import PathFault, path_fault

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
    """Return the project around a folder (the current one): the nearest with `.treadle/`, `treadle.toml` or `.git`.

    Outside of a repository only the folder itself counts: other users can write to shared folders above it.
    """
    here = start.absolute() if start else current_folder()
    above = (here, *here.parents)
    is_repository = any(_exists(folder / ".git") for folder in above)
    for folder in above if is_repository else above[:1]:
        if any(_exists(folder / mark) for mark in MARKS):
            return Project(folder)
    return None


def owner_of(folder: Path) -> Project | None:
    """Return the project of the runs that an agent in a folder may belong to: the lane's project, else
    `find_project`.
    """
    for above in (folder, *folder.parents):
        if above.parts[-3:] == _LANES:
            return Project(above.parents[2])
    return find_project(folder)


def project_around(start: Path | None = None) -> Project | None:
    """Like `find_project`, but for a lane return the project that the lane belongs to."""
    project = find_project(start)
    is_lane = project is not None and project.root.parent.parts[-len(_LANES) :] == _LANES
    return Project(project.root.parents[len(_LANES)]) if project and is_lane else project


def open_project(start: Path | None = None) -> Project:
    """Return the project around a folder; without one, raise an error that explains how to start one."""
    project = project_around(start)
    if project is None:
        here = start or current_folder()
        raise TreadleError(f"{here} is not in a project; run `git init`, then `treadle init`", code="project.missing")
    return project


def current_folder() -> Path:
    """Return the current folder; raise an error if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise TreadleError("the current folder no longer exists; change to another one", code="project.gone") from None


def make_local(project: Project) -> Path:
    """Create the project's `.treadle/local/` with a `.gitignore` of its own, and return it."""
    for folder in (project.own, project.local):
        if folder.is_symlink():
            raise TreadleError(
                f"{folder} is a link; Treadle writes only to folders inside the project: remove the link",
                code="file.link",
            )
    try:
        project.local.mkdir(parents=True, exist_ok=True)
        # A new file only: what a person wrote there stays, and a link is not followed.
        with suppress(FileExistsError):
            handle = os.open(project.local / ".gitignore", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as error:
        raise TreadleError(
            f"{project.local} cannot be created: {error.strerror}; check the permissions", code="file.unwritable"
        ) from None
    return project.local


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # an unreadable folder is no project
        return False


# Resolve links in a project's paths.


def link_checker(project: Project) -> PathFault:
    """Return a function that explains why links make a path of the project's checkout unusable."""
    root = Path(os.path.realpath(project.root))

    def fault(path: str) -> str:
        real = Path(os.path.realpath(root / path))
        if real == root / path:
            return ""
        if not real.is_relative_to(root):
            parts = path.split("/")
            folders = ["/".join(parts[: end + 1]) for end in range(len(parts))]
            link = next((one for one in folders if (root / one).is_symlink()), path)
            target = os.path.realpath(root / link)
            return f"leads out of the repository: {link} is a link to {target}; name a folder inside"
        inside = path_fault(real.relative_to(root).as_posix())
        return f"leads through a link to {real.relative_to(root)}, which {inside}" if inside else ""

    return fault
