"""Plain scalars by the YAML 1.2 core schema: `on`, `yes`, `1_000` and `12:30` are text."""

import math
import re
from typing import Final

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


def resolve(text: str) -> Scalar:
    """The value that plain text stands for; a number that is too large or not finite is a `ValueError`."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _finite(float(text) if len(text) <= _LONGEST else math.inf)
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(text)
    return text


def written(value: Scalar) -> str:
    """A scalar as YAML writes it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _integer(text: str) -> int:
    if len(text) > _LONGEST:
        raise ValueError(text)
    number = int(text, 0) if text[1:2] in ("o", "x") else int(text)
    if abs(number) >= 2**63:
        raise ValueError(text)
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number
