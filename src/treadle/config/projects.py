"""The projects of a user by name: a small file beside the user's settings, one line for each."""

import fcntl
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from treadle.config.project import MARKS, Project
from treadle.config.settings import read_file, user_file
from treadle.errors import TreadleError, writing
from treadle.protocol.findings import suggest

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_FILE: Final = "projects.toml"


class Projects:
    """Names and folders, read anew on each use: other programs may add some."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.path = user_file(environ).with_name(_FILE)

    def all(self) -> dict[str, Path]:
        """Name → folder, in the order of the file."""
        text = read_file(self.path, str(self.path))
        try:
            entries = tomllib.loads(text or "")
        except (ValueError, RecursionError) as error:
            raise TreadleError(
                f'{self.path}: this is not TOML ({error}); a line is NAME = "/FOLDER"', code="project.registry"
            ) from None
        for name, folder in entries.items():
            if not NAME.fullmatch(name) or not isinstance(folder, str) or not Path(folder).is_absolute():
                raise TreadleError(
                    f'{self.path}: {name!a} is no project; a line is NAME = "/FOLDER"', code="project.registry"
                )
        return {name: Path(str(folder)) for name, folder in entries.items()}

    def distinct(self) -> list[str]:
        """Return the names; of a folder with several names, only the first."""
        folders: dict[Path, str] = {}
        for name, folder in self.all().items():
            folders.setdefault(folder.resolve(), name)
        return list(folders.values())

    def project(self, name: str) -> Project:
        """Return the project of a name; raise an error if there is none, or its folder is gone."""
        known = self.all()
        if name not in known:
            raise _unknown_project(name, known)
        if not any((known[name] / mark).exists() for mark in MARKS):
            raise TreadleError(
                f"{known[name]}, the folder of {name}, is not a project any more; `treadle projects remove {name}`",
                code="project.gone",
            )
        return Project(known[name])

    def name_of(self, project: Project) -> str:
        """Return the registered name of a project, else its folder's name."""
        root = project.root.resolve()
        return next((name for name, folder in self.all().items() if folder.resolve() == root), "") or project.root.name

    def add(self, name: str, project: Project) -> None:
        """Register a project; a name that another folder has is refused."""
        if not NAME.fullmatch(name):
            raise TreadleError(
                f"{name[:60]!a} cannot be a project's name: letters, digits, - _ and . only, 60 at most",
                code="project.name",
            )
        with self._held():
            known = self.all()
            taken = next((own for own in known if own.lower() == name.lower()), "")
            if taken and known[taken].resolve() != project.root.resolve():
                raise TreadleError(
                    f"{taken} is {known[taken]} already; choose another --name, or `treadle projects remove {taken}`",
                    code="project.name",
                )
            self._write({own: folder for own, folder in known.items() if own != taken} | {name: project.root.resolve()})

    def remove(self, name: str) -> Path:
        """Forget a project; nothing of its folder is touched."""
        with self._held():
            known = self.all()
            if name not in known:
                raise _unknown_project(name, known)
            self._write({own: folder for own, folder in known.items() if own != name})
            return known[name]

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the lock of the file: only one process at a time reads it and writes it again."""
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, known: Mapping[str, Path]) -> None:
        lines = [f"{_key(name)} = {_quoted(str(folder))}\n" for name, folder in known.items()]
        draft = self.path.with_suffix(f".{os.getpid()}")
        with writing(self.path):
            draft.write_text("".join(lines), encoding="utf-8")
            draft.replace(self.path)


def _unknown_project(name: str, known: Mapping[str, Path]) -> TreadleError:
    hint = suggest(name, known) or (f"choose from {', '.join(known)}" if known else "there are none yet")
    return TreadleError(
        f"there is no project '{name[:60]}'; {hint}; `treadle projects add` registers one", code="project.unknown"
    )


def _key(name: str) -> str:
    return f'"{name}"' if "." in name else name


def _quoted(text: str) -> str:
    if any(not char.isprintable() for char in text):
        raise TreadleError(
            f"{text!a} has characters that cannot be written down; rename the folder", code="project.name"
        )
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
