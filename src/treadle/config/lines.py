"""On which line of a TOML file a key is set; the parser of the standard library does not tell.

A statement is the shortest run of lines that is TOML by itself, so the file is taken apart by the same parser that
reads it as a whole. It must have been read as a whole before.
"""

import tomllib
from collections.abc import Iterator
from typing import Final

Path = tuple[str, ...]

_LONGEST: Final = 200
"""Lines of one statement; beyond them the lines of the rest are not told, which keeps the search short."""


def lines_of(text: str) -> dict[Path, int]:
    """Path of each table and each value → the line (from 1) where its statement begins."""
    found: dict[Path, int] = {}
    table: Path = ()
    for number, statement in _statements(text.replace("\r\n", "\n").split("\n")):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = paths[-1]
            found.setdefault(table, number)
        else:
            for path in paths:
                found.setdefault(table + path, number)
    return found


def _statements(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The statements with their first lines; comments and empty lines are none."""
    start = 0
    for end in range(1, len(lines) + 1):
        statement = "\n".join(lines[start:end])
        if end - start > _LONGEST:
            return
        if _is_whole(statement):
            if not all(_is_idle(line) for line in lines[start:end]):
                yield start + 1, statement
            start = end


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except ValueError:
        return False
    return True


def _is_idle(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _paths(value: object, above: Path = ()) -> Iterator[Path]:
    """Every path of a parsed statement, the outer ones first."""
    if isinstance(value, list) and value and isinstance(value[0], dict):  # `[[table]]`
        value = value[0]
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*above, key)
            yield from _paths(inner, (*above, key))
