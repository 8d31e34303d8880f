"""The environment that a Python project's code runs in, and which tools it has.

Nothing is started: a module counts as there if its folder lies where that interpreter imports from.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.detect.folder import Folder

_IN_PROJECT: Final = (".venv", "venv", "env", ".env", ".virtualenv")
_RUNNERS: Final = {
    "uv.lock": ("uv run", "uv sync"),
    "poetry.lock": ("poetry run", "poetry install"),
    "pdm.lock": ("pdm run", "pdm install"),
}
_PACKAGES: Final = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")


class PythonEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter as commands name it, and where its modules lie."""

    python: str
    """The words that start it."""
    name: str = ""
    """What speaks for it: a folder or a lock file; empty: the project has no environment of its own."""
    packages: tuple[Path, ...] = ()
    lock: str = ""
    """The text of a lock file, if that is all there is yet."""
    setup: str = ""
    """The command that makes it, if it is not there yet."""

    def has(self, module: str) -> bool | None:
        """Whether a module can be imported; None: nobody can tell."""
        if self.lock:
            return re.search(rf'^name = "{re.escape(module)}"$', self.lock, re.MULTILINE) is not None
        if not self.packages:
            return None
        return any((place / module).is_dir() or (place / f"{module}.py").is_file() for place in self.packages)

    def install(self, module: str) -> str:
        """The command that adds a module, as a person types it at the project's root."""
        if self.python.startswith("{root}/"):
            return f"{self.python.removeprefix('{root}/')} -m pip install {module}"
        tool = self.python.partition(" ")[0]
        adding = {"uv": "uv add --dev", "poetry": "poetry add --group dev", "pdm": "pdm add -d"}
        return f"{adding.get(tool, f'{self.python} -m pip install')} {module}"


def python_environment(folder: Folder) -> PythonEnvironment:
    """The environment in the project, else what its lock file will make, else the active one, else the machine's."""
    for name in _names(folder):
        # A link may lead out of the project: environments are shared, and commands name this one by its place here.
        if (folder.root / name / "pyvenv.cfg").is_file():
            packages = tuple(_packages(folder.root / name))
            return PythonEnvironment(python=f"{{root}}/{name}/bin/python", name=name, packages=packages)
    if lock := folder.first(*_RUNNERS):
        runner, setup = _RUNNERS[lock]
        return PythonEnvironment(python=f"{runner} python", name=lock, lock=folder.text(lock), setup=setup)
    search = folder.variables.get("PATH", "")
    found = shutil.which("python3", path=search) if search else None
    if found is None:
        return PythonEnvironment(python="python3")
    own = Path(found).parent.parent
    active = folder.variables.get("VIRTUAL_ENV") or folder.variables.get("CONDA_PREFIX") or ""
    is_active = bool(active) and own.resolve() == Path(active).resolve() != Path(sys.prefix).resolve()
    prefix = own if (own / "pyvenv.cfg").is_file() else Path(found).resolve().parent.parent
    return PythonEnvironment(python="python3", name=own.name if is_active else "", packages=tuple(_packages(prefix)))


def _names(folder: Folder) -> Iterator[str]:
    """Folders that may hold an environment, the active one first."""
    active = Path(folder.variables.get("VIRTUAL_ENV") or "/")
    if active.is_absolute() and active != folder.root and active.is_relative_to(folder.root):
        yield active.relative_to(folder.root).as_posix()
    yield from _IN_PROJECT


def _packages(prefix: Path) -> Iterator[Path]:
    """The folders that the interpreter of an environment imports from."""
    for pattern in _PACKAGES:
        yield from sorted(path for path in prefix.glob(pattern) if path.is_dir())
    try:
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    said = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in text.splitlines())}
    home = Path(said.get("home", ""))
    if said.get("include-system-site-packages", "").lower() == "true" and home.is_absolute():
        for pattern in _PACKAGES:
            yield from sorted(path for path in home.parent.glob(pattern) if path.is_dir())
