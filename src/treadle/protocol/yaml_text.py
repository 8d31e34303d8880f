"""YAML text: plain data written readably and exactly, and plain scalars by the YAML 1.2 core schema."""

import math
import re
from collections.abc import Iterator
from typing import Final

# Plain scalars by the YAML 1.2 core schema: `on`, `yes`, `1_000` and `12:30` are text.

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST: Final = 40


def resolve_scalar(text: str) -> Scalar:
    """The value that plain text stands for; a number that is too large or not finite is a `ValueError`."""
    if text in _WORDS:
        return _WORDS[text]
    is_int = bool(_INT.fullmatch(text))
    if not is_int and not _FLOAT.fullmatch(text):
        if _NOT_FINITE.fullmatch(text):
            raise ValueError(text)
        return text
    if len(text) > _LONGEST:  # before it is converted, which takes long for a long text
        raise ValueError(text)
    if is_int:
        number = int(text, 0) if text[1:2] in ("o", "x") else int(text)
        if abs(number) >= 2**63:
            raise ValueError(text)
        return number
    if not math.isfinite(float(text)):
        raise ValueError(text)
    return float(text)


def format_scalar(value: Scalar) -> str:
    """A scalar as YAML writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

WIDTH: Final = 118
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*( [A-Za-z0-9_./+-]+)*")
_SIMPLE_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def emit(data: dict[str, Plain]) -> str:
    """Format a document; a mapping of mappings is a block, and so is a value too long for one line."""
    return "\n".join(_mapping(data, 0)) + "\n"


def _mapping(data: dict[str, Plain], indent: int) -> Iterator[str]:
    for key, value in data.items():
        head = " " * indent + _text(key) + ":"
        line = f"{head} {_flow(value)}"
        nested = isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values())
        if not value or not isinstance(value, dict | list) or (len(line) <= WIDTH and not nested):
            yield line
            continue
        yield head
        if isinstance(value, dict):
            yield from _mapping(value, indent + 2)
        else:
            yield from (line for item in value for line in _item(item, indent + 2))


def _item(value: Plain, indent: int) -> Iterator[str]:
    line = " " * indent + "- " + _flow(value)
    if len(line) <= WIDTH or not isinstance(value, dict) or not value:
        yield line
        return
    first, *rest = _mapping(value, indent + 2)
    yield " " * indent + "- " + first.lstrip(" ")
    yield from rest


def _flow(value: Plain) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return _text(value) if isinstance(value, str) else format_scalar(value)


def _text(text: str) -> str:
    """Format a text: plain if it cannot be misread, else in double quotes."""
    if len(text) <= 60 and _PLAIN.fullmatch(text) and resolve_scalar(text) == text:
        return text
    letters = (
        _SIMPLE_ESCAPES.get(letter) or (letter if letter.isprintable() else f"\\U{ord(letter):08x}") for letter in text
    )
    return '"' + "".join(letters) + '"'
