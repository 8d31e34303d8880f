"""A protocol as one SVG drawing: a panel per graph, and a legend below.

Plain SVG without scripts or external resources; the colours follow the reader's light or dark mode.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final, NamedTuple

from treadle.protocol.drawing.layout import Box, Link, Path, Point, layout
from treadle.protocol.drawing.picture import GraphPicture, PictureEdge, PictureNode, PicturePart, picture
from treadle.protocol.model import Protocol

# The width of text, near enough for any common sans-serif font, and never too narrow.

_WIDTHS: Final = {
    **dict.fromkeys("ijl'|", 0.30),
    **dict.fromkeys(' .,:;!Ift()[]/\\r-`"', 0.40),
    **dict.fromkeys("acekosvxyz?_*^J", 0.60),
    **dict.fromkeys("wCDGHNOQRUKAX", 0.78),
    **dict.fromkeys("mMW@%&<>=+~#", 0.95),
}


def width(text: str, size: float) -> float:
    """The width of text in a font of this size."""
    return size * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter.isascii():
        return 0.70 if letter.isupper() else 0.64
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.85


def wrap(text: str, size: float, limit: float) -> list[str]:
    """The text in lines of at most this width, broken at spaces; a longer word is broken after a sign, or anywhere."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if width(longer, size) <= limit:
            lines[-1] = longer
            continue
        head, *rest = _cut(word, size, limit)
        lines[-1:] = [lines[-1], head, *rest] if lines[-1] else [head, *rest]
    return lines


def _cut(word: str, size: float, limit: float) -> list[str]:
    pieces = [""]
    for letter in word:
        while width(pieces[-1] + letter, size) > limit and pieces[-1]:
            kept = max(pieces[-1].rfind(sign) for sign in "._-/") + 1 or len(pieces[-1])
            pieces[-1:] = [pieces[-1][:kept], pieces[-1][kept:]]
        pieces[-1] += letter
    return pieces


# The colours of a drawing, in light and in dark mode.

LIGHT: Final = {
    "paper": "#ffffff",
    "panel": "#f6f8fa",
    "rim": "#d0d7de",
    "ink": "#1f2328",
    "faint": "#59636e",
    "agent": "#ffffff",
    "ask": "#fff1d6",
    "effect": "#ddeeff",
    "map": "#ece5fb",
    "signal": "#ffe3e3",
    "line": "#57606a",
    "alarm": "#c0392b",
    "child": "#7353ba",
}
DARK: Final = {
    "paper": "#0d1117",
    "panel": "#151b23",
    "rim": "#3d444d",
    "ink": "#f0f6fc",
    "faint": "#9198a1",
    "agent": "#212830",
    "ask": "#4a3a12",
    "effect": "#12304f",
    "map": "#33265a",
    "signal": "#552226",
    "line": "#9198a1",
    "alarm": "#ff7b72",
    "child": "#b394f4",
}
STYLE: Final = """
text{{font-family:Verdana,"DejaVu Sans",sans-serif;fill:{ink};text-anchor:middle}}
.name{{font-size:13px;font-weight:600}}.small,.more{{font-size:11px;fill:{faint}}}.exit{{font-size:11px}}
.title{{font-size:18px;font-weight:600;text-anchor:start}}.head{{font-size:14px;font-weight:600;text-anchor:start}}
.note{{font-size:11px;fill:{faint};text-anchor:start}}
.paper{{fill:{paper}}}.panel{{fill:{panel};stroke:{rim}}}.back{{fill:{panel}}}
.box{{fill:{agent};stroke:{line};stroke-width:1.2}}.dot{{fill:{ink}}}.ring{{fill:none;stroke:{ink};stroke-width:1.5}}
.ask .box{{fill:{ask}}}.effect .box,.check .box{{fill:{effect}}}.map .box,.group .box{{fill:{map}}}
.group .box{{stroke:{child};stroke-dasharray:4 3}}.signal .box,.resume .box,.any .box{{fill:{signal}}}
.link{{fill:none;stroke:{line};stroke-width:1.3}}.interrupt{{stroke:{alarm};stroke-dasharray:6 4}}
.system{{stroke:{alarm};stroke-dasharray:2 3}}.spawn{{stroke:{child};stroke-dasharray:4 3}}
.tip-plain{{fill:{line}}}.tip-interrupt,.tip-system{{fill:{alarm}}}.tip-spawn{{fill:{child}}}
"""
TIPS: Final = ("plain", "interrupt", "system", "spawn")


def stylesheet() -> str:
    """The style element: light unless the reader's surroundings are dark."""
    light, dark = (STYLE.format(**colours).strip() for colours in (LIGHT, DARK))
    return f"<style>\n{light}\n@media (prefers-color-scheme:dark){{\n{dark}\n}}\n</style>\n"


def tips() -> str:
    """Return the arrowheads, one for each line style: not every viewer lets a marker inherit its line's colour."""
    return "<defs>\n" + "".join(map(_tip, TIPS)) + "</defs>\n"


def _tip(style: str) -> str:
    return (
        f'<marker id="tip-{style}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip-{style}" d="M0 0L10 5L0 10z"/></marker>\n'
    )


# The shapes of a drawing's nodes: each kind of step looks different, also without colour.

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


def lines_of(node: PictureNode) -> tuple[list[str], list[str]]:
    """A node's title and its smaller lines, wrapped."""
    title = wrap(node.title, TITLE * BOLD, WIDEST)
    return title, [part for line in node.lines if line for part in wrap(line, SMALL, WIDEST)]


def box_of(node: PictureNode) -> Box:
    """How much room a node needs."""
    title, small = lines_of(node)
    if node.kind == "start":
        return Box(2 * RING, 2 * RING)
    inner = max([width(line, TITLE * BOLD) for line in title] + [width(line, SMALL) for line in small])
    if node.kind == "end":
        return Box(max(inner, 2 * RING), 2 * RING + TITLE_LINE * len(title))
    sides = {"ask": SLANT, "effect": 10.0, "signal": 10.0, "group": 6.0, "map": 6.0}.get(node.kind, 0.0)
    return Box(inner + 2 * PAD + sides, TITLE_LINE * len(title) + SMALL_LINE * len(small) + 14)


def draw(node: PictureNode, at: Point) -> str:
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
            return _rect(x, y, w, h, 0) + _bar(x + 5, y, y + h) + _bar(x + w - 5, y, y + h)
        case "check":
            return _polygon((x + 8, y), (x + w, y), (x + w, y + h - 8), (x + w - 8, y + h), (x, y + h), (x, y + 8))
        case "map" | "group":
            return _rect(x + 6, y, w - 6, h - 6, 4) + _rect(x, y + 6, w - 6, h - 6, 4)
        case "signal" | "resume" | "any":
            return _rect(x, y, w, h, min(h / 2, 16))
        case _:
            return _rect(x, y, w, h, 8)


def _words(node: PictureNode, box: Box, at: Point) -> str:
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
    """Format a number without needless digits; this keeps a drawing the same on every machine."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "-0" if value <= -0.05 else "0")


def _rect(x: float, y: float, w: float, h: float, r: float) -> str:
    return f'<rect class="box" x="{n(x)}" y="{n(y)}" width="{n(w)}" height="{n(h)}" rx="{n(r)}"/>'


def _polygon(*corners: tuple[float, float]) -> str:
    return f'<polygon class="box" points="{" ".join(f"{n(x)},{n(y)}" for x, y in corners)}"/>'


def _bar(x: float, top: float, bottom: float) -> str:
    return f'<path class="box" d="M{n(x)} {n(top)}V{n(bottom)}"/>'


def _circle(x: float, y: float, r: float, look: str) -> str:
    return f'<circle class="{look}" cx="{n(x)}" cy="{n(y)}" r="{n(r)}"/>'


def path(points: Iterable[Point]) -> str:
    """Return a smooth line through points; every second stretch is straight down or up."""
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


# The legend of a drawing.

GAP = 24.0

KINDS: Final = {
    "agent": "agent",
    "effect": "orchestrator's own work",
    "check": "checks",
    "ask": "asks a person or the parent",
    "map": "a child per item",
    "group": "group of children",
    "signal": "signal that interrupts",
}
STYLES: Final = {"interrupt": "interrupts or goes on after it", "system": "system exit", "spawn": "spawns, waits for"}


def legend(pictures: list[GraphPicture], inner: float) -> tuple[str, float]:
    """A sample of each sign that the drawing uses, in as many lines as they need."""
    body, x, y = "", 0.0, 24.0
    for across, sample in _samples(pictures):
        if x and x + across > inner:
            x, y = 0.0, y + 48
        body += f'<g transform="translate({n(x)} {n(y)})">{sample}</g>'
        x += across + GAP
    return body, y + 36


def _samples(pictures: list[GraphPicture]) -> Iterator[tuple[float, str]]:
    kinds = {node.kind for drawn in pictures for part in drawn.parts for node in part.nodes}
    styles = {edge.style for drawn in pictures for part in drawn.parts for edge in part.edges}
    for kind, meaning in KINDS.items():
        if kind in kinds:
            node = PictureNode(id="", kind=kind, title=meaning)
            yield box_of(node).width, draw(node, Point(box_of(node).width / 2, 0))
    for style, meaning in STYLES.items():
        if style in styles:
            line = f'<path class="link {style}" d="M0 0H44" marker-end="url(#tip-{style})"/>'
            yield 52 + width(meaning, SMALL), line + words(meaning, 52, 4, "note")


MARGIN = 24.0
HEADING = 34.0
NARROWEST = 560.0
BROAD = 1500.0
"""Interruptions are drawn beside the work they interrupt while this lasts."""
PAGE_TITLE, HEAD = 20.0, 16.0
LABEL_WIDEST = 210.0


class Panel(NamedTuple):
    """A drawn graph and its size."""

    title: str
    size: Box
    body: str


def svg(protocol: Protocol, graph: str | None = None) -> str:
    """The drawing of one graph, or of all, one below the other."""
    names = [graph] if graph is not None else list(protocol.graphs)
    pictures = [picture(protocol, name) for name in names]
    panels = [_panel(drawn) for drawn in pictures]
    title = f"{protocol.name}: {protocol.title}" if protocol.title else protocol.name
    inner = max([NARROWEST, width(title, PAGE_TITLE), *(panel.size.width for panel in panels)])
    body, y = words(title, MARGIN, MARGIN + 14, "title"), MARGIN + HEADING
    for row in _side_by_side([panel.size for panel in panels], inner):
        height = max(panels[place].size.height for place in row)
        x = MARGIN
        for place in row:
            across = inner + MARGIN - x if place == row[-1] else panels[place].size.width
            body += _framed(panels[place], Point(x, y), Box(across, height))
            x += across + MARGIN
        y += height + MARGIN
    signs, height = legend(pictures, inner)
    body += f'<g transform="translate({n(MARGIN)} {n(y)})">{signs}</g>\n'
    return _document(title, Box(inner + 2 * MARGIN, y + height + MARGIN / 2), body)


def _document(title: str, size: Box, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{n(size.width)}" height="{n(size.height)}" '
        f'viewBox="0 0 {n(size.width)} {n(size.height)}">\n<title>{safe(title)}</title>\n{stylesheet()}{tips()}'
        f'<rect class="paper" width="100%" height="100%"/>\n{body}</svg>\n'
    )


def _side_by_side(sizes: list[Box], across: float) -> list[list[int]]:
    """Things in rows, by their numbers: each in the first row with room for it."""
    rows: list[list[int]] = []
    for place, size in enumerate(sizes):
        room = across - size.width
        row = next((row for row in rows if sum(sizes[it].width + 2 * MARGIN for it in row) <= room), None)
        if row is None:
            rows.append([place])
        else:
            row.append(place)
    return rows


def _framed(panel: Panel, at: Point, size: Box) -> str:
    frame = f'<rect class="panel" width="{n(size.width)}" height="{n(size.height)}" rx="8"/>'
    head = words(panel.title, MARGIN, 26, "head")
    return f'<g transform="translate({n(at.x)} {n(at.y)})">{frame}{head}\n{panel.body}</g>\n'


def _panel(drawn: GraphPicture) -> Panel:
    drawings = [_drawing(part) for part in drawn.parts]
    widest = max(BROAD, *(size.width for size, _ in drawings))
    body, y, across = "", HEADING + MARGIN / 2, 0.0
    for row in _side_by_side([size for size, _ in drawings], widest):
        x = MARGIN
        for place in row:
            size, inner = drawings[place]
            body += f'<g transform="translate({n(x)} {n(y)})">\n{inner}</g>\n'
            x += size.width + 2 * MARGIN
        across = max(across, x)
        y += max(drawings[place][0].height for place in row) + MARGIN
    noted = min(NARROWEST, max((width(note, SMALL) for note in drawn.notes), default=0.0))
    across = max(across - MARGIN, 2 * MARGIN + max(width(drawn.title, HEAD), noted))
    for line in _noted(drawn, across):
        body += words(line, MARGIN, y, "note")
        y += SMALL_LINE
    return Panel(drawn.title, Box(across, y), body)


def _drawing(part: PicturePart) -> tuple[Box, str]:
    links = [Link(edge.source, edge.target, _label_box(edge)) for edge in part.edges]
    plan = layout({node.id: box_of(node) for node in part.nodes}, links, part.first)
    edges = list(zip(part.edges, plan.paths, strict=True))
    lines = "".join(_edge_line(edge, path) for edge, path in edges)
    labels = "".join(_label(edge, path.label) for edge, path in edges)
    return plan.size, lines + labels + "".join(draw(node, plan.boxes[node.id]) for node in part.nodes)


def _noted(drawn: GraphPicture, across: float) -> list[str]:
    return [line for note in drawn.notes for line in wrap(note, SMALL, across - 2 * MARGIN)]


def _label_lines(edge: PictureEdge) -> list[tuple[str, str]]:
    """The lines of an edge's label, each with its look."""
    found = []
    for label in edge.labels:
        for look, texts in (("exit", label.exits), ("more", label.more)):
            found += [(look, line) for text in texts for line in wrap(text, SMALL, LABEL_WIDEST)]
    return found


def _label_box(edge: PictureEdge) -> Box:
    lines = _label_lines(edge)
    if not lines:
        return Box(0, 0)
    return Box(max(width(line, SMALL) for _, line in lines) + 8, len(lines) * SMALL_LINE + 4)


def _label(edge: PictureEdge, at: Point) -> str:
    box = _label_box(edge)
    if not box.width:
        return ""
    x, y = at.x - box.width / 2, at.y - box.height / 2
    back = f'<rect class="back" x="{n(x)}" y="{n(y)}" width="{n(box.width)}" height="{n(box.height)}"/>'
    lines = enumerate(_label_lines(edge))
    return back + "".join(words(line, at.x, y + 13 + place * SMALL_LINE, look) for place, (look, line) in lines) + "\n"


def _edge_line(edge: PictureEdge, its: Path) -> str:
    look = "" if edge.style == "plain" else f" {edge.style}"
    return f'<path class="link{look}" d="{path(its.points)}" marker-end="url(#tip-{edge.style})"/>\n'
