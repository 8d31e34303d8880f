"""Paths as protocols write them: relative to the repository, with `/`, and never out of it."""

from collections.abc import Callable
from typing import Final

_MAX: Final = 1024
_OWN: Final = {".git": ".git", "git~1": ".git", ".treadle": ".treadle"}
"""Folders that are not for agents, also as file systems spell them that ignore case and trailing dots."""

Fault = Callable[[str], str]
"""Why a path cannot be used, as the end of a sentence; empty if it can."""


def path_fault(path: str) -> str:
    """Why a path (or a pattern of paths) cannot be used, as the end of a sentence; empty if it can."""
    if not path.strip():
        return "is empty"
    if len(path) > _MAX:
        return f"has {len(path)} characters, the limit is {_MAX}"
    if not path.isprintable():
        return "holds a control character, or another one that cannot be seen"
    if "\\" in path:
        return "holds a backslash; separate its parts with /"
    if path.startswith("/") or path[1:2] == ":":
        return "is absolute; write it relative to the root of the repository"
    return _part_fault(path.split("/"))


def is_pattern(path: str) -> bool:
    """Whether a path would stand for many, or for none, where it becomes part of a write scope."""
    return "*" in path or "?" in path or path.startswith("!")


def clean_path(path: str) -> str:
    """The shortest way to write a path that has no fault: `./src//a.py` → `src/a.py`."""
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or "."


def path_overlap(one: str, other: str) -> str:
    """How the second of two clean paths takes the first one's place, as the middle of a sentence; empty if it does not.

    The second may lie inside of the first: then the first is what is left of it.
    """
    if one == other:
        return "is the same as"
    return "holds" if other == "." or one.startswith(other + "/") else ""


def _part_fault(parts: list[str]) -> str:
    if parts[0].startswith("~"):
        return "starts with ~; write it relative to the root of the repository"
    if parts[0].startswith("-"):
        return "starts with -, which commands take for an option"
    for part in parts:
        if part == "..":
            return "leaves its directory with ..; write it relative to the root of the repository"
        folder = part.lower().rstrip(". ")
        if folder in _OWN:
            return f"lies inside {_OWN[folder]}, which only the orchestrator touches"
        if part != part.strip():
            return "has a part that starts or ends with a space"
    return ""
