"""Reads the content of a value, and makes copies of it with other contents.

It calls no method of the value's class, because the class may lie about its attributes: it reads slots and dictionaries
directly.
"""

from __future__ import annotations

import random
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

# Wrong values: far ones, which no test can expect, and near ones, which a check of their size cannot tell apart.

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def far(value: Any, draw: random.Random) -> Any:
    """Return a random value of the same kind, which no test can expect."""
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
    """Return some other values of the same kind and about the same size; none if there are too few.

    One of them is so far off that a comparison with a tolerance, or by a remainder, does not accept it.
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
        return [type(value)(parts.values()) for parts in _part_by_part(dict(enumerate(value)), draw)]
    if isinstance(value, dict):
        return _part_by_part(value, draw)
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
    return [*(text[:at] + _other_sign(text[at], draw) + text[at + 1 :] for at in places), _all_other_signs(text, draw)]


def _all_other_signs(text: str, draw: random.Random) -> str:
    return "".join(_other_sign(one, draw) for one in text)


def _other_sign(sign: str, draw: random.Random) -> str:
    """Return another letter or digit of the same kind; not the same letter in another case."""
    kind = "0123456789" if sign in "0123456789" else _LETTERS.upper() if sign.isupper() else _LETTERS
    return draw.choice([one for one in kind if one.lower() != sign.lower()])


def _part_by_part(value: dict[Any, Any], draw: random.Random) -> list[Any]:
    """Return copies with another value in one place, for some places in turn, and one with other values everywhere.

    An honest comparison may ignore a part, as versions ignore their build. It cannot ignore all of them.
    """
    others = {key: found for key, one in value.items() if (found := near(one, draw))}
    places = draw.sample(list(others), min(_PLACES, len(others)))
    found = [{**value, key: one} for key in places for one in (draw.choice(others[key]), others[key][-1])]
    return [*found, {**value, **{key: some[-1] for key, some in others.items()}}] if found else []


_OWN = type.__dict__["__dict__"].__get__
_MRO = type.__dict__["__mro__"].__get__
_SINGLE = (bool, int, float, complex, str, bytes, bytearray, type(None))
_ROWS = (list, tuple)
_MOST, _WIDEST = 300, 20
_PLACES = 3
_kept: list[Any] = []
"""Copies of classes with `__del__`: a test may count its calls, so the copies live until the process ends."""


def state(value: Any) -> dict[str, Any]:
    """Return the attributes of a value by name, from its dictionary and its slots."""
    found: dict[str, Any] = {}
    for name, slot in _slots(type(value)):
        try:
            found[name] = slot.__get__(value)
        except AttributeError:  # the slot is empty
            continue
    held = _dictionary(value)
    return {**found, **held} if held else found


def altered(value: Any, draw: random.Random, number: int) -> Any:
    """Return a copy with another value in every attribute; None for a value without attributes or way to copy it."""
    slots, holds = dict(_slots(type(value))), state(value)
    try:
        twin = object.__new__(type(value))
    except TypeError:
        return None
    if any("__del__" in _OWN(one) for one in _MRO(type(twin))):
        _kept.append(twin)
    if not holds:
        return None
    for name, old in holds.items():
        if name in slots:
            slots[name].__set__(twin, _other(old, draw, number))
    held = _dictionary(twin)
    if held is not None:
        held.update({name: _other(old, draw, number) for name, old in holds.items() if name not in slots})
    return twin


def differ(one: Any, other: Any) -> bool:
    """Whether two values have different contents; it calls no method of their classes, and gives up after a limit."""
    return _differ(one, other, iter(range(_MOST)))


def _differ(one: Any, other: Any, left: Iterator[int]) -> bool:
    if one is other or next(left, None) is None:
        return False
    if type(one) is not type(other):
        return not (isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other)
    if type(one) in _SINGLE:
        return bool(one != other)
    if type(one) in _ROWS:
        return len(one) != len(other) or any(_differ(*pair, left) for pair in zip(one[:_WIDEST], other))  # noqa: B905
    holds, others = (one, other) if type(one) is dict else (state(one), state(other))
    keys = [key for key in islice(holds, _WIDEST) if type(key) in _SINGLE]
    if len(holds) != len(others) or any(key not in others for key in keys):
        return True
    return any(_differ(holds[key], others[key], left) for key in keys)


def shown(value: Any) -> str:
    """Format a value and its attributes without its own `__repr__`."""
    if type(value) in _SINGLE:
        return repr(value)[:30]
    if type(value) in (list, tuple, dict):
        return "[…]" if type(value) is list else "(…)" if type(value) is tuple else "{…}"
    held = ", ".join(f"{name}={shown(one) if type(one) in _SINGLE else '…'}" for name, one in state(value).items())
    return f"{type(value).__name__}({held[:80]})"


def _slots(kind: type) -> Iterator[tuple[str, Any]]:
    for one in _MRO(kind):
        yield from ((name, held) for name, held in _OWN(one).items() if type(held) is MemberDescriptorType)


def _dictionary(value: Any) -> dict[str, Any] | None:
    for one in _MRO(type(value)):
        held = _OWN(one).get("__dict__")
        if type(held) is GetSetDescriptorType:
            found = held.__get__(value)
            return found if type(found) is dict else None
    return None


def _other(value: Any, draw: random.Random, number: int) -> Any:
    """Return another value for an attribute: of another size, far from it or near it, in turn."""
    if isinstance(value, bool) and number % 2:
        return not value
    if type(value) in _ROWS and number % 3 == 0:
        return type(value)([*value, *far([], draw), *far([], draw)])
    if type(value) in _SINGLE or type(value) in (*_ROWS, dict, set):
        close = near(value, draw) if number % 3 == 1 else []
        return draw.choice(close) if close else far(value, draw)
    return object()
