"""One limit of a number, such as `< 200 ms`, and what a tool prints that has to keep to it."""

import operator
import re
from collections.abc import Callable
from math import isfinite
from typing import Final, NamedTuple

_UNIT: Final = r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)?"
_NUMBER: Final = r"[-+]?(?:\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|(?:nan|inf(?:inity)?)\b)"
_SIGNS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "≤": operator.le,
    "at most": operator.le,
    "max": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "≥": operator.ge,
    "at least": operator.ge,
    "min": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
}
_SIGN: Final = "|".join(sorted(map(re.escape, _SIGNS), key=len, reverse=True))
_LIMIT: Final = re.compile(
    rf"(?:[A-Za-z]\w*\s*(?=[<>=≤≥]))?(?P<sign>{_SIGN})\s*(?P<value>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>{_UNIT})?"
    r"(?:\s*\([^()]*\))?",
    re.IGNORECASE,
)
_TIMES: Final = {
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
_SIZES: Final = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_FAMILIES: Final[tuple[dict[str, float], ...]] = (_TIMES, _SIZES, {"%": 1, "percent": 1})
"""Units that measure the same."""


class Printed(NamedTuple):
    """A number that a tool has printed."""

    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()


class Limit(NamedTuple):
    """What a number has to be; a limit without a sign says nothing, for more may be better."""

    sign: str
    value: float
    unit: str

    def is_met_by(self, one: Printed) -> bool | None:
        """Whether a number keeps to it; None if the two cannot be compared."""
        factor = _factor(one.unit, self.unit)
        if factor is None or not isfinite(one.value) or one.value < 0:
            return None
        return _SIGNS[self.sign](one.value * factor, self.value)


def limit_of(text: str) -> Limit | None:
    """The limit that a text is, also with what it is a limit of: `p95 < 200 ms`; None if it is none, or two."""
    match = _LIMIT.fullmatch(text.strip())
    return Limit(match["sign"].lower(), _value(match["value"]), match["unit"] or "") if match else None


def printed(id_: str, output: str, limit: Limit | None) -> list[Printed]:
    """The numbers that a tool has printed for a threshold: `PERF-01: 187 ms`.

    In a line with more words, such as `PERF-01 (search): p95 187 ms of 200`, it is the first that has a fitting unit.
    """
    lines = re.finditer(rf"(?<![\w-]){re.escape(id_)}(?![\w-])(?P<rest>.*)", output, re.IGNORECASE)
    read = (_alone(match["rest"]) or _first(match["rest"], limit) for match in lines)
    return [one for one in read if one]


def _alone(rest: str) -> Printed | None:
    """A number, with a unit or without, and nothing else."""
    match = re.fullmatch(rf"\s*[:=]?\s*(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})?[\s.,;]*", rest, re.IGNORECASE)
    return Printed(_value(match["value"]), match["unit"] or "") if match else None


def _first(rest: str, limit: Limit | None) -> Printed | None:
    pairs = re.finditer(rf"(?<![\w.])(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})", rest, re.IGNORECASE)
    found = (Printed(_value(match["value"]), match["unit"]) for match in pairs)
    return next((one for one in found if limit and limit.unit and _factor(one.unit, limit.unit) is not None), None)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _factor(unit: str, wanted: str) -> float | None:
    """What turns a number of a unit into one of another; None if the two do not measure the same."""
    if unit == wanted:
        return 1.0
    return next((family[unit] / family[wanted] for family in _FAMILIES if {unit, wanted} <= family.keys()), None)
