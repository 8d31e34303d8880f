"""The shapes of a drawing's nodes: each kind of step looks different, also without colour."""

from collections.abc import Iterable
from html import escape
from typing import Final

from treadle.protocol.drawing.layout import Box, Point
from treadle.protocol.drawing.letters import width, wrap
from treadle.protocol.drawing.picture import Node

TITLE, SMALL = 13.0, 11.0
BOLD = 1.12
"""How much wider bold text is."""
TITLE_LINE, SMALL_LINE = 18.0, 15.0
WIDEST = 230.0
PAD = 14.0
SLANT = 14.0
"""How far the points of an ask's hexagon stick out."""
RING = 10.0
ROUND: Final = frozenset({"start", "end"})


def safe(text: str) -> str:
    """Text that may stand in XML: escaped, and without characters that XML forbids."""
    allowed = (letter for letter in text if letter in "\t\n\r" or (letter >= " " and letter not in "\ufffe\uffff"))
    return escape("".join(letter for letter in allowed if not "\ud800" <= letter <= "\udfff"))


def lines_of(node: Node) -> tuple[list[str], list[str]]:
    """A node's title and its smaller lines, wrapped."""
    title = wrap(node.title, TITLE * BOLD, WIDEST)
    return title, [part for line in node.lines if line for part in wrap(line, SMALL, WIDEST)]


def box_of(node: Node) -> Box:
    """How much room a node needs."""
    title, small = lines_of(node)
    if node.kind == "start":
        return Box(2 * RING, 2 * RING)
    inner = max([width(line, TITLE * BOLD) for line in title] + [width(line, SMALL) for line in small])
    if node.kind == "end":
        return Box(max(inner, 2 * RING), 2 * RING + TITLE_LINE * len(title))
    sides = {"ask": SLANT, "effect": 10.0, "signal": 10.0, "group": 6.0, "map": 6.0}.get(node.kind, 0.0)
    return Box(inner + 2 * PAD + sides, TITLE_LINE * len(title) + SMALL_LINE * len(small) + 14)


def draw(node: Node, at: Point) -> str:
    """The node as SVG, its centre at this point."""
    box = box_of(node)
    return f'<g class="{node.kind}">{_outline(node.kind, box, at)}{_words(node, box, at)}</g>\n'


def _outline(kind: str, box: Box, at: Point) -> str:
    x, y, w, h = at.x - box.width / 2, at.y - box.height / 2, box.width, box.height
    match kind:
        case "start":
            return _circle(at.x, at.y, RING - 2, "dot")
        case "end":
            top = y + RING
            return _circle(at.x, top, RING, "ring") + _circle(at.x, top, RING - 4, "dot")
        case "ask":
            a, b = x + SLANT, x + w - SLANT
            return _polygon((x, at.y), (a, y), (b, y), (x + w, at.y), (b, y + h), (a, y + h))
        case "effect":
            return _rect(x, y, w, h, 0) + _line(x + 5, y, y + h) + _line(x + w - 5, y, y + h)
        case "check":
            return _polygon((x + 8, y), (x + w, y), (x + w, y + h - 8), (x + w - 8, y + h), (x, y + h), (x, y + 8))
        case "map" | "group":
            return _rect(x + 6, y, w - 6, h - 6, 4) + _rect(x, y + 6, w - 6, h - 6, 4)
        case "signal" | "resume" | "any":
            return _rect(x, y, w, h, min(h / 2, 16))
        case _:
            return _rect(x, y, w, h, 8)


def _words(node: Node, box: Box, at: Point) -> str:
    title, small = lines_of(node)
    if node.kind == "start":
        return ""
    y = at.y - box.height / 2 + (2 * RING if node.kind == "end" else 7)
    x = at.x - (3 if node.kind in ("map", "group") else 0)
    y += 3 if node.kind in ("map", "group") else 0
    found = ""
    for line in title:
        found += words(line, x, y + 13, "name")
        y += TITLE_LINE
    for line in small:
        found += words(line, x, y + 11, "small")
        y += SMALL_LINE
    return found


def words(text: str, x: float, y: float, look: str) -> str:
    """One line of text around or from this point."""
    return f'<text class="{look}" x="{n(x)}" y="{n(y)}">{safe(text)}</text>'


def n(value: float) -> str:
    """A number without needless digits, so that a drawing is the same on every machine."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "-0" if value <= -0.05 else "0")


def _rect(x: float, y: float, w: float, h: float, r: float) -> str:
    return f'<rect class="box" x="{n(x)}" y="{n(y)}" width="{n(w)}" height="{n(h)}" rx="{n(r)}"/>'


def _polygon(*corners: tuple[float, float]) -> str:
    return f'<polygon class="box" points="{" ".join(f"{n(x)},{n(y)}" for x, y in corners)}"/>'


def _line(x: float, top: float, bottom: float) -> str:
    return f'<path class="box" d="M{n(x)} {n(top)}V{n(bottom)}"/>'


def _circle(x: float, y: float, r: float, look: str) -> str:
    return f'<circle class="{look}" cx="{n(x)}" cy="{n(y)}" r="{n(r)}"/>'


def path(points: Iterable[Point]) -> str:
    """A smooth line through points of which every second stretch is straight down or up."""
    first, *rest = points
    text = f"M{n(first.x)} {n(first.y)}"
    last = first
    for place, point in enumerate(rest):
        if max(abs(point.x - last.x), abs(point.y - last.y)) < 0.05:
            continue  # an arrowhead takes its direction from the last stretch, which must have one
        if place % 2 == 0 or abs(point.x - last.x) < 0.05:
            text += f"L{n(point.x)} {n(point.y)}"
        else:
            middle = (last.y + point.y) / 2
            text += f"C{n(last.x)} {n(middle)} {n(point.x)} {n(middle)} {n(point.x)} {n(point.y)}"
        last = point
    return text
