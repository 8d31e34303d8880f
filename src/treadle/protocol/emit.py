"""YAML text from plain data, readable and exact: small values on one line, the rest in blocks, quotes where needed."""

import re
from collections.abc import Iterator
from typing import Final

from treadle.protocol.reading.scalars import resolve, written

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

WIDTH: Final = 118
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+-]+)*")
_SIMPLE_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def emit(data: dict[str, Plain]) -> str:
    """A document; a mapping of mappings is a block, and so is what does not fit into a line."""
    return "\n".join(_mapping(data, 0)) + "\n"


def _mapping(data: dict[str, Plain], indent: int) -> Iterator[str]:
    for key, value in data.items():
        head = " " * indent + _text(key) + ":"
        line = f"{head} {_flow(value)}"
        if _fits(line, value):
            yield line
        elif isinstance(value, dict):
            yield head
            yield from _mapping(value, indent + 2)
        elif isinstance(value, list):
            yield head
            for item in value:
                yield from _item(item, indent + 2)


def _fits(line: str, value: Plain) -> bool:
    if not value or not isinstance(value, dict | list):
        return True
    nested = isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values())
    return len(line) <= WIDTH and not nested


def _item(value: Plain, indent: int) -> Iterator[str]:
    line = " " * indent + "- " + _flow(value)
    if len(line) <= WIDTH or not isinstance(value, dict) or not value:
        yield line
        return
    lines = list(_mapping(value, indent + 2))
    yield " " * indent + "- " + lines[0].lstrip(" ")
    yield from lines[1:]


def _flow(value: Plain) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return _text(value) if isinstance(value, str) else written(value)


def _text(text: str) -> str:
    """Plain where nobody can misread it, else in double quotes."""
    if len(text) <= 60 and _PLAIN.fullmatch(text) and resolve(text) == text:
        return text
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\U{ord(letter):08x}"
