"""Data as TOML: agents' programs are configured by it, and the standard library only reads it."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def toml_text(data: Mapping[str, Any]) -> str:
    """One line for each key; tables are written inline. What TOML has no word for (None) is left out."""
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in data.items() if value is not None)


def _value(value: object) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
        case Mapping():
            pairs = (f"{_key(str(name))} = {_value(one)}" for name, one in value.items() if one is not None)
            return f"{{{', '.join(pairs)}}}"
        case list() | tuple():
            return f"[{', '.join(_value(one) for one in value)}]"
        case _:
            return _quoted(str(value))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """A basic string: as in JSON, but for DEL, and for halves of characters, which no TOML file may have."""
    whole = text.encode(errors="replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")
