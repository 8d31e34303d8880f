"""A small picture of what was measured, on two logarithmic axes, beside the limit: one self-contained SVG."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from treadle.evidence.growth import Growth
from treadle.evidence.scaling_verdict import Line

_WIDTH: Final = 480
_HEIGHT: Final = 300
_EDGE: Final = 44
_COLOURS: Final = ("#1f6feb", "#bf3989", "#1a7f37", "#9a6700")


def plot(title: str, lines: Sequence[Line], bound: Growth) -> str:
    """The lines of one kind, and the limit drawn through the middle of the first."""
    shown = [line for line in lines if line.what == lines[0].what][: len(_COLOURS)] if lines else []
    if not shown:
        return ""
    logs = [[(math.log10(n), math.log10(cost)) for n, cost in line.points] for line in shown]
    limit = _limit(shown[0], bound)
    x, y = _scale(0, logs, _EDGE, _WIDTH - 12), _scale(1, logs, _HEIGHT - _EDGE, 34)
    parts = [_text(12, 18, title, 13), _text(_WIDTH / 2, _HEIGHT - 8, "n", 11), _text(12, 32, shown[0].what, 11)]
    parts += [_tick(x(math.log10(n)), n) for n in _powers(shown)]
    parts.append(_path([(x(a), y(b)) for a, b in limit], "#57606a", "4 3"))
    for at, (line, points) in enumerate(zip(shown, logs, strict=True)):
        parts.append(_path([(x(a), y(b)) for a, b in points], _COLOURS[at], ""))
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.5" fill="{_COLOURS[at]}"/>' for a, b in points]
        parts.append(_text(_EDGE + 8, 50 + 14 * at, f"{line.shape}: n^{line.slope:.2f}", 11, _COLOURS[at]))
    parts.append(_text(_EDGE + 8, 50 + 14 * len(shown), f"limit: {bound.text}", 11, "#57606a"))
    return _picture(title, "".join(parts))


def _picture(title: str, inside: str) -> str:
    field = f'x="{_EDGE}" y="34" width="{_WIDTH - 12 - _EDGE}" height="{_HEIGHT - _EDGE - 34}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" role="img">'
    )
    clip = f'<clipPath id="c"><rect {field}/></clipPath>'
    back = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/><rect {field} fill="none" stroke="#d0d7de"/>'
    return f"{head}<title>{escape(title)}</title>{clip}{back}{inside}</svg>"


def _limit(line: Line, bound: Growth) -> list[tuple[float, float]]:
    n, cost = line.points[len(line.points) // 2]
    moved = math.log10(cost) - bound.log(n) / math.log(10)
    return [(math.log10(size), bound.log(size) / math.log(10) + moved) for size, _ in line.points]


def _scale(axis: int, logs: list[list[tuple[float, float]]], first: float, last: float) -> Callable[[float], float]:
    values = [point[axis] for points in logs for point in points]
    low = min(values)
    high = max(low + 0.5, *values)
    return lambda value: first + (value - low) / (high - low) * (last - first)


def _powers(lines: Sequence[Line]) -> list[int]:
    sizes = [n for line in lines for n, _ in line.points]
    return [10**power for power in range(7) if min(sizes) <= 10**power <= max(sizes)]


def _tick(x: float, n: int) -> str:
    return f'<path d="M{x:.1f} 34V{_HEIGHT - _EDGE}" stroke="#eaeef2"/>{_text(x - 8, _HEIGHT - _EDGE + 14, str(n), 10)}'


def _path(points: list[tuple[float, float]], colour: str, dashes: str) -> str:
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-dasharray="{dashes}" clip-path="url(#c)"/>'


def _text(x: float, y: float, text: str, size: int, colour: str = "#24292f") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
