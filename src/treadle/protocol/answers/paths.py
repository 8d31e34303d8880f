"""Paths as protocols write them: relative to the repository, with `/`, and never out of it."""

from typing import Final

_MAX: Final = 1024


def path_fault(path: str) -> str:
    """Why a path cannot be used, as the end of a sentence; empty if it can."""
    if not path.strip():
        return "is empty"
    if len(path) > _MAX:
        return f"has {len(path)} characters, the limit is {_MAX}"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "holds a control character"
    if "\\" in path:
        return "holds a backslash; separate its parts with /"
    if path.startswith("/") or path[1:2] == ":":
        return "is absolute; write it relative to the root of the repository"
    return _part_fault(path.split("/"))


def clean_path(path: str) -> str:
    """The shortest way to write a path that has no fault: `./src//a.py` → `src/a.py`."""
    return "/".join(part for part in path.split("/") if part not in ("", ".")) or "."


def _part_fault(parts: list[str]) -> str:
    if parts[0].startswith("~"):
        return "starts with ~; write it relative to the root of the repository"
    for part in parts:
        if part == "..":
            return "leaves its directory with ..; write it relative to the root of the repository"
        if part.lower() == ".git":
            return "lies inside .git, which only the orchestrator touches"
        if part != part.strip():
            return "has a part that starts or ends with a space"
    return ""
