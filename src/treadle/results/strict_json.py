"""JSON from a stranger: whatever the bytes are, the result is data; what JSON leaves open is refused."""

import json
from collections import Counter
from typing import Any, Final

from treadle.protocol.answers.problems import quoted
from treadle.results.faulty import Faulty, faulty

MAX_ANSWER: Final = 1_000_000
"""Bytes of an answer, unless the settings say otherwise (`limits.answer`)."""
MAX_DEPTH: Final = 64


def decode(data: bytes, what: str, limit: int = MAX_ANSWER) -> object | Faulty:
    """The value, or why there is none; `what` begins the sentence."""
    if len(data) > limit:
        return too_large(what, len(data), limit)
    text = decode_text(data, what)
    return text if isinstance(text, Faulty) else parse(text, what)


def decode_text(data: bytes, what: str) -> str | Faulty:
    """Bytes as text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return faulty(f"{what} is not UTF-8 (byte {error.start}); write it as UTF-8")


def parse(text: str, what: str) -> object | Faulty:
    """The value of a JSON text."""
    try:
        value: object = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return faulty(f"{what} is not JSON: {error.msg[:1].lower()}{error.msg[1:]} ({where}); check quotes and commas")
    except RecursionError:
        return _too_deep(what)
    except ValueError as error:  # a name twice, NaN, a number of thousands of digits
        return faulty(f"{what} is not acceptable JSON: {error}")
    return _too_deep(what) if _deeper(value, MAX_DEPTH) else value


def too_large(what: str, size: int, limit: int) -> Faulty:
    """A refusal of something that was not read."""
    return faulty(f"{what} has {size} bytes, the limit is {limit}; shorten it")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{quoted(twice)} stands twice in the same object; give it once")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number; write null or leave it out")


def _deeper(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    return [inner for inner in value if isinstance(inner, dict | list)] if isinstance(value, list) else []


def _too_deep(what: str) -> Faulty:
    return faulty(f"{what} is nested more than {MAX_DEPTH} levels deep; flatten it")
