"""Values as JSON that keeps their types. The program that repeats a call elsewhere has this text at its end."""

import sys
from typing import Any

_REPRS = {
    "decimal": {"Decimal": "decimal."},
    "fractions": {"Fraction": "fractions."},
    "uuid": {"UUID": "uuid."},
    "pathlib": {"PosixPath": "pathlib.", "PurePosixPath": "pathlib."},
    "datetime": {"date": "", "time": "", "datetime": "", "timedelta": "", "timezone": ""},
}
"""Standard classes whose `repr` is an expression, with what is missing at its beginning."""


def plain(value: Any, room: Any, other: Any = None, depth: int = 0) -> Any:
    """Return a value as JSON; raise ValueError if it is not plain, larger than the room, or too deep.

    `room` is a list of one number. `other` may encode a value that is not plain, or return None.
    """
    room[0] -= 1 + (len(value) // 8 if type(value) in (str, bytes, bytearray) else 0)
    if room[0] < 0 or depth > 50:
        raise ValueError("too large")

    def many(values: Any) -> Any:
        return [plain(one, room, other, depth + 1) for one in values]

    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if -(1 << 53) < value < 1 << 53 else ["i", hex(value)]
    if kind in (float, complex):
        return [kind.__name__, repr(value)]
    if kind in (list, tuple):
        return [kind.__name__, *many(value)]
    if kind in (set, frozenset):
        return [kind.__name__, *sorted(many(value), key=repr)]
    if kind is dict:
        return ["dict", *([*many(pair)] for pair in value.items())]
    if kind in (bytes, bytearray):
        return [kind.__name__, value.hex()]
    if kind is range:
        return ["repr", "builtins", repr(value)]
    for module, names in _REPRS.items():
        if kind.__name__ in names and getattr(sys.modules.get(module), kind.__name__, None) is kind:
            zone = getattr(value, "tzinfo", None)
            if zone is None or type(zone).__name__ == "timezone":
                return ["repr", module, names[kind.__name__] + repr(value)]
    found = other(value, room, depth + 1) if other else None
    if found is None:
        raise ValueError("not plain")
    return found


def plain_or_none(value: Any) -> Any:
    """Return a value as JSON; None if it is not plain."""
    try:
        return plain(value, [1000])
    except ValueError:
        return None


def plain_outcome(what: str, value: Any, args: Any, kwargs: Any) -> Any:
    """Return the outcome of a call as JSON: its result or its exception, and its arguments afterwards."""
    after = [plain_or_none(one) for one in (*args, *kwargs.values())]
    if what == "value":
        try:
            return ["value", plain(value, [1000]), after]
        except ValueError:
            return ["other", type(value).__name__, after]
    name = type(value).__module__ + "." + type(value).__qualname__
    held = vars(BaseException)["args"].__get__(value)  # its class may have something else of that name
    return ["raised", name, [plain_or_none(one) for one in held], after]
