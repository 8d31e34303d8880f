"""Whether what was measured keeps a limit. Counted instructions decide first, processor time only where it is clear."""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from treadle.evidence.growth import Growth, excess, slope
from treadle.toolchains.scaling import Measured, Stop

Answer = Literal["fits", "exceeds", "unmeasurable"]

_WAYS: Final[dict[str, tuple[tuple[str, float, float], ...]]] = {
    # what was counted, the excess that is still no sign, and the least cost that says anything
    "time": (("instructions", 0.25, 1.0), ("seconds", 0.4, 5e-5)),
    "space": (("bytes", 0.25, 0.0),),
}
_FEWEST: Final = 4
_LAST: Final = 5
"""The largest sizes count: small ones show the fixed costs."""
_SMALL: Final = 1024.0
"""Bytes that every call may hold."""
_HOPELESS: Final = 20
"""A call that takes this many times as long as the limit allows for is over it, wherever it ends."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Costs of one kind for inputs of one shape."""

    shape: str
    what: str
    points: tuple[tuple[int, float], ...]
    slope: float
    """The exponent of n that the last points follow."""
    excess: float
    """By how much that is more than the limit has."""
    is_over: bool


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A limit, and what became of it."""

    verdict: Answer
    reason: str
    lines: tuple[Line, ...] = ()

    @property
    def worst(self) -> Line | None:
        """The line that the verdict rests on."""
        order = {"instructions": 0, "bytes": 0, "seconds": 1}
        ranked = sorted(self.lines, key=lambda one: (not one.is_over, order.get(one.what, 2), -one.excess))
        return ranked[0] if ranked else None


def judged(limit: str, bound: Growth, measured: Measured) -> Judged:
    """The verdict on one limit (`time` or `space`) of one function."""
    lines = [line for way in _WAYS[limit] for line in _lines(way, bound, measured)]
    stopped = [
        text for way in _WAYS[limit] for stop in measured.stops if (text := _stopped(way[0], stop, bound, measured))
    ]
    if stopped:
        return Judged(verdict="exceeds", reason=stopped[0], lines=tuple(lines))
    if not lines:
        return Judged(verdict="unmeasurable", reason=measured.problem or "there are too few sizes to tell")
    over = Judged(verdict="exceeds", reason="", lines=tuple(lines)).worst
    if over is not None and over.is_over:
        return Judged(verdict="exceeds", reason=_grows(over), lines=tuple(lines))
    if measured.problem:
        return Judged(verdict="unmeasurable", reason=measured.problem, lines=tuple(lines))
    return Judged(verdict="fits", reason=_grows(over) if over else "", lines=tuple(lines))


def _grows(line: Line) -> str:
    return f"{line.what} grow as n^{line.slope:.2f} on {line.shape} inputs up to n = {line.points[-1][0]}"


def _lines(way: tuple[str, float, float], bound: Growth, measured: Measured) -> list[Line]:
    what, tolerance, least = way
    shapes = dict.fromkeys(one.shape for one in measured.points if one.what == what)
    found = []
    for shape in shapes:
        points = _costs(what, shape, measured)
        last = [(n, cost) for n, cost in points if cost >= least][-_LAST:]
        if len(last) >= _FEWEST:
            over = excess(last, bound)
            found.append(
                Line(
                    shape=shape,
                    what=what,
                    points=tuple(points),
                    slope=slope(last),
                    excess=over,
                    is_over=over > tolerance,
                )
            )
    return found


def _costs(what: str, shape: str, measured: Measured) -> list[tuple[int, float]]:
    floor = _SMALL if what == "bytes" else 1e-9
    return [(one.n, max(one.cost, floor)) for one in measured.points if (one.what, one.shape) == (what, shape)]


def _stopped(what: str, stop: Stop, bound: Growth, measured: Measured) -> str:
    """Why a call that did not end is over the limit; empty if it may be within."""
    seconds = _costs("seconds", stop.shape, measured)
    if stop.what != what or what != "seconds" or stop.why != "TooMuch" or not seconds:
        return ""
    n, cost = seconds[-1]
    factor = bound.log(stop.n) - bound.log(n)
    allowed = cost * 2.718281828 ** min(factor, 50.0)
    if allowed * _HOPELESS > stop.after:
        return ""
    return f"n = {stop.n} ({stop.shape} inputs) did not end in {stop.after:.1f} s, and n = {n} took {cost:.6f} s"


def points_of(lines: Sequence[Line]) -> list[dict[str, object]]:
    """The points for a record."""
    return [{"shape": line.shape, "what": line.what, "n": n, "cost": cost} for line in lines for n, cost in line.points]
