"""A project's files as detection sees them: small ones, inside the folder, and none that cannot be read."""

import shutil
import tomllib
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

_MAX_FILE: Final = 500_000
_MAX_FILES: Final = 200


class Folder(msgspec.Struct, frozen=True):
    """A folder with a project, or with nothing yet."""

    root: Path
    variables: Mapping[str, str] = {}
    """The environment's variables, for what is outside of the folder: programs on the PATH, an active environment."""

    def first(self, *names: str) -> str:
        """The first of some names that is there; empty if none is."""
        return next((name for name in names if self._inside(self.root / name)), "")

    def has(self, name: str) -> bool:
        return bool(self.first(name))

    def program(self, name: str) -> bool | None:
        """Whether the PATH has a program; None if no PATH is known."""
        path = self.variables.get("PATH", "")
        return shutil.which(name, path=path) is not None if path else None

    def any_file(self, *patterns: str) -> str:
        """A file that fits one of some patterns, as a path below the root; empty if none does."""
        return next(iter(self.files(*patterns)), "")

    def files(self, *patterns: str) -> list[str]:
        """Some files that fit patterns, in order; nothing in hidden folders or in those of dependencies."""
        found: list[str] = []
        for pattern in patterns:
            matches = (path.relative_to(self.root) for path in self.root.glob(pattern))
            wanted = (path for path in matches if not any(_is_foreign(part) for part in path.parts))
            found += (path.as_posix() for path in islice(wanted, _MAX_FILES))
        return sorted(found)[:_MAX_FILES]

    def text(self, name: str) -> str:
        """A file's text; empty if it is missing, too large, or not text."""
        path = self.root / name
        try:
            if not self._inside(path) or not path.is_file() or path.stat().st_size > _MAX_FILE:
                return ""
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def toml(self, name: str) -> dict[str, Any]:
        """A TOML file; empty if it is not one."""
        try:
            return tomllib.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object; empty if the file holds none."""
        try:
            value = msgspec.json.decode(self.text(name) or "{}")
        except (msgspec.DecodeError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def _inside(self, path: Path) -> bool:
        try:
            return path.exists() and path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):
            return False


def table(value: object, *path: str) -> dict[str, Any]:
    """What lies below some keys of a parsed file, if it is a table; else an empty one."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_foreign(part: str) -> bool:
    return part.startswith(".") or part in ("node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__")
