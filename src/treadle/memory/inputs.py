"""What a tool may be given: the shapes of the public server, and its words for what does not fit.

Beyond those, texts must be ones that can be kept as they are: no lone surrogates, and not too long.
"""

from collections.abc import Mapping
from typing import Any, Final

from treadle.protocol.answers.schema import Schema

LARGEST: Final = 1_000_000
"""Bytes of a text, in UTF-8."""
UNREADABLE: Final = "\ufdd0\u2060unreadable\u2060\ufdd0"
"""Stands, in a message that came in, for bytes that are not UTF-8 and for halves of characters."""

_KINDS: Final = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def refused(tool: str, takes: Schema, given: Mapping[str, Any]) -> str:
    """Why a tool does not take arguments, in the public server's words where it would not either; empty if it does."""
    if misfits := _misfits(takes, dict(given), ""):
        return f"MCP error -32602: Input validation error: Invalid arguments for tool {tool}: " + "\n".join(misfits)
    return "\n".join(_unkept(takes, dict(given), ""))


def problems(takes: Schema, value: Any) -> list[str]:
    """What is wrong with a value."""
    return _misfits(takes, value, "") or _unkept(takes, value, "")


def _misfits(takes: Schema, value: Any, at: str) -> list[str]:
    wanted = takes["type"]
    if _kind(value) != wanted:
        return [f"Invalid input: expected {wanted}, received {_kind(value)} at {at}"]
    if allowed := takes.get("enum"):
        return [] if value in allowed else [f"Invalid option: expected one of {'|'.join(allowed)} at {at}"]
    return [problem for inner, part, where in _parts(takes, value, at) for problem in _misfits(inner, part, where)]


def _unkept(takes: Schema, value: Any, at: str) -> list[str]:
    if isinstance(value, str):
        problem = _unkept_text(value)
        return [f"{at} {problem}"] if problem else []
    return [problem for inner, part, where in _parts(takes, value, at) for problem in _unkept(inner, part, where)]


def _unkept_text(text: str) -> str:
    if UNREADABLE in text or any("\ud800" <= char <= "\udfff" for char in text if char > "\ud7ff"):
        return "cannot be kept as it is: it has bytes that are not UTF-8, or half of a character; nothing was changed"
    size = len(text) if text.isascii() else len(text.encode())
    if size > LARGEST:
        return f"has {size} bytes, the limit is {LARGEST}; split it, or keep it in a file and remember where"
    return ""


def _parts(takes: Schema, value: Any, at: str) -> list[tuple[Schema, Any, str]]:
    """What is inside, each with its schema and the way to it; what the schema does not name is ignored."""
    if isinstance(value, list):
        return [(takes["items"], part, f"{at}[{n}]") for n, part in enumerate(value)]
    if not isinstance(value, dict):
        return []
    required = takes.get("required", ())
    return [
        (inner, value.get(name, _ABSENT), f"{at}.{name}" if at else name)
        for name, inner in takes["properties"].items()
        if name in value or name in required
    ]


class _Absent:
    """What is not there."""


_ABSENT: Final = _Absent()


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "undefined" if value is _ABSENT else _KINDS.get(type(value), "undefined")
