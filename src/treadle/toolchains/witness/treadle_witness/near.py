"""Other values than the right one: far from it, which nobody can expect, and near it, which nobody can tell by size."""

from __future__ import annotations

import random
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def far(value: Any, draw: random.Random) -> Any:
    """A value of the same kind as another one, that nobody can expect."""
    word = f"{draw.getrandbits(96):024x}"
    number = draw.randrange(10**12, 10**15)
    if isinstance(value, (bool, int)):
        return number
    if isinstance(value, (float, complex)):
        return type(value)(number) / 7
    if isinstance(value, bytes):
        return word.encode()
    if isinstance(value, dict):
        return {word: word}
    return type(value)([word]) if isinstance(value, (list, tuple, set)) else word


def near(value: Any, draw: random.Random) -> list[Any]:
    """Some values of the same kind and about the same size, all of them other ones; none if there are too few.

    One of them is so far off that a comparison with a tolerance, or by a remainder, does not take it too.
    """
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float, complex)):
        return _numbers(value, draw)
    if isinstance(value, str):
        return _texts(value, draw)
    if isinstance(value, bytes):
        return [text.encode("latin-1") for text in _texts(value.decode("latin-1"), draw)]
    if isinstance(value, (list, tuple)):
        return _rows(value, draw)
    if isinstance(value, dict) and value:
        key = draw.choice(list(value))
        return [{**value, key: one} for one in near(value[key], draw)]
    return []


def _numbers(value: Any, draw: random.Random) -> list[Any]:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - not a number
        return []
    step = 2 if value == 1 else -1 if value else 3
    found = [value + 1, value + step, value * 2 if value else 2, value * 10 + draw.randrange(11, 99)]
    return [type(value)(one) for one in found if one != value]


def _texts(text: str, draw: random.Random) -> list[str]:
    if not text:
        return [*draw.sample(_LETTERS, 3), "".join(draw.sample(_LETTERS, 8))]
    places = [draw.randrange(len(text)) for _ in range(3)]
    return [*(text[:at] + _other(text[at], draw) + text[at + 1 :] for at in places), _all_others(text, draw)]


def _all_others(text: str, draw: random.Random) -> str:
    return "".join(_other(one, draw) for one in text)


def _other(sign: str, draw: random.Random) -> str:
    """Another sign of the same kind, which is no other way to write this one."""
    kind = "0123456789" if sign in "0123456789" else _LETTERS.upper() if sign.isupper() else _LETTERS
    return draw.choice([one for one in kind if one.lower() != sign.lower()])


def _rows(value: Any, draw: random.Random) -> list[Any]:
    if not value:
        return []
    at = draw.randrange(len(value))
    rows = [[*value[:at], one, *value[at + 1 :]] for one in near(value[at], draw)]
    return [type(value)(row) for row in rows]
