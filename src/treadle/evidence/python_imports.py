"""Which files of a tree a Python import may mean, from whatever folder it is looked up."""

from collections.abc import Iterable, Mapping, Sequence

Named = Mapping[str, Sequence[str]]
"""By the last name of a module, the files that may be it."""


def by_name(paths: Iterable[str]) -> Named:
    """Files of Python code, to be found by the names of their modules."""
    found: dict[str, list[str]] = {}
    for path in paths:
        if path.endswith(".py"):
            found.setdefault(_stem(path).rpartition("/")[2], []).append(path)
    return found


def imported_path(module: str | None, level: int, file: str) -> str:
    """What `from ..module import` means in a file, as a path without an ending."""
    above = file.split("/")[:-level] if level else []
    return "/".join([*above, *(module.split(".") if module else [])])


def files_of(path: str, named: Named) -> list[str]:
    """The files that such a path may mean."""
    listed = named.get(path.rpartition("/")[2], ()) if path else ()
    return [one for one in listed if f"/{_stem(one)}".endswith(f"/{path}")]


def _stem(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")
