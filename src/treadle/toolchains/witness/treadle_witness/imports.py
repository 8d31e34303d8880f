# ruff: noqa: PTH112, PTH118, PTH206 - as `sys.path` has them
"""Where the test process imports from: the checkout under test, and never the one that its environment was made for."""

from __future__ import annotations

import os
import sys
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    PathFinder,
    SourceFileLoader,
)
from pathlib import Path
from typing import Any

_HERE = str(Path(__file__).parents[1])


def put_checkout_first(checkout: str, root: str, is_module: bool) -> None:
    """Put the checkout in front of the installed packages, and behind the standard library.

    An environment may have the project installed as a link to the user's own checkout; redirect that link to this one.
    """
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    links = [entry for entry in sys.path if _is_of(entry, root) and not _is_below(entry, checkout)]
    moved = [os.path.join(checkout, os.path.relpath(entry, root)) for entry in [*links, *_take_redirections(root)]]
    sys.path[:] = [entry for entry in sys.path if entry not in (*links, "", checkout)]
    wanted = [entry for entry in dict.fromkeys([*moved, *([checkout] if is_module else [])]) if os.path.isdir(entry)]
    at = next((number for number, entry in enumerate(sys.path) if "site-packages" in entry), len(sys.path))
    sys.path[at:at] = wanted
    for name in ("PYTHONPATH", "PYTHONSAFEPATH"):
        os.environ.pop(name, None)
    if moved:  # programs that the tests start must find the same
        os.environ["PYTHONPATH"] = os.pathsep.join(moved)


def _take_redirections(root: str) -> list[str]:
    """The folders of the user's checkout that finders of editable installs import from; the finders forget them.

    A finder would still find a module there that the checkout under test has no more.
    """
    folders: list[str] = []
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", ""))
        # The first is of setuptools, the second of `editables`, which hatchling and others use.
        for known in (getattr(module, "MAPPING", None), getattr(finder, "_redirections", None)):
            if not isinstance(known, dict):
                continue
            for name, target in list(known.items()):
                folder = _folder_of(str(name), str(target))
                if folder and _is_of(str(target), root):
                    folders.append(folder)
                    del known[name]
    return folders


def _folder_of(name: str, target: str) -> str:
    """The folder from which a path imports a module by its name; empty if the module's file is called otherwise."""
    place = Path(target).parent if Path(target).name == "__init__.py" else Path(target)
    place = place.with_suffix("") if place.suffix == ".py" else place
    parts = name.split(".")
    return str(Path(*place.parts[: -len(parts)])) if list(place.parts[-len(parts) :]) == parts else ""


class FromSource(SourceFileLoader):
    """Loads modules from their sources alone: compiled files in the checkout may differ from the sources."""

    prepared: Any = staticmethod(lambda data, path: data)  # noqa: ARG005
    """Returns the tree or source to compile in the place of a source."""
    began: Any = staticmethod(lambda name, path: None)  # noqa: ARG005
    """A callback for each module before any of its code runs."""

    def source_to_code(self, data: Any, path: Any, *args: Any, **more: Any) -> Any:  # type: ignore[override]
        type(self).began(self.name, path)
        return super().source_to_code(type(self).prepared(data, path), path, *args, **more)

    def path_stats(self, path: str) -> Any:
        raise OSError(f"{path} is not to be compared with a compiled file")


class Hidden:
    """Finds modules of the checkout that hide installed ones of the same name."""

    def __init__(self, checkout: str, root: str, send: Any) -> None:
        self._checkout, self._send = checkout, send
        self._installed = [one for one in sys.path if one and not _is_below(one, checkout) and not _is_of(one, root)]

    def look(self, name: str, path: str) -> None:
        """Report a module that hides another one."""
        if "." not in name and _is_below(path, self._checkout) and self._is_installed(name):
            self._send("hides", name=name, file=os.path.relpath(path, self._checkout))

    def _is_installed(self, name: str) -> bool:
        if name in getattr(sys, "stdlib_module_names", sys.builtin_module_names):
            return True
        spec = PathFinder.find_spec(name, self._installed)
        return spec is not None and spec.origin is not None


def compile_afresh(checkout: str) -> None:
    """Import the modules of the checkout from their sources alone."""
    make = FileFinder.path_hook((ExtensionFileLoader, EXTENSION_SUFFIXES), (FromSource, SOURCE_SUFFIXES))

    def hook(path: str) -> Any:
        if not _is_below(path, checkout):
            raise ImportError("not in the checkout")
        return make(path)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def strangers(checkout: str, root: str) -> list[str]:
    """The modules that came from the user's own checkout instead."""
    modules: dict[str, Any] = dict(sys.modules)
    files = {name: vars(module).get("__file__") for name, module in modules.items() if hasattr(module, "__dict__")}
    return sorted(
        name
        for name, file in files.items()
        if isinstance(file, str) and _is_of(file, root) and not _is_below(file, checkout) and not _is_below(file, _HERE)
    )


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _is_of(path: str, root: str) -> bool:
    """Whether it is a part of a checkout, and not of the environment or the files of Treadle inside of it."""
    if not _is_below(path, root):
        return False
    parts = path[len(root) + 1 :].split(os.sep)
    installed = path.startswith((sys.prefix + os.sep, sys.base_prefix + os.sep)) or "site-packages" in parts
    return not installed and parts[0] != ".treadle"
