"""A protocol as one SVG drawing: a panel per graph, what the signs mean below.

Plain SVG without scripts or anything fetched; the colours follow the reader's light or dark mode.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from treadle.protocol.drawing.layout import Box, Link, Path, Point, layout
from treadle.protocol.drawing.letters import width, wrap
from treadle.protocol.drawing.picture import Edge, Node, Part, Picture, picture
from treadle.protocol.drawing.shapes import SMALL, SMALL_LINE, box_of, draw, n, path, safe, words
from treadle.protocol.model import Protocol

MARGIN = 24.0
HEADING = 34.0
NARROWEST = 560.0
BROAD = 1500.0
"""Interruptions are drawn beside the work they interrupt while this lasts."""
HEAD = 16.0
LABEL_WIDEST = 210.0

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
    inner = max([NARROWEST, *(panel.size.width for panel in panels)])
    title = f"{protocol.name}: {protocol.title}" if protocol.title else protocol.name
    body, y = words(title, MARGIN, MARGIN + 14, "title"), MARGIN + HEADING
    for row in _side_by_side([panel.size for panel in panels], inner):
        height = max(panels[place].size.height for place in row)
        x = MARGIN
        for place in row:
            across = inner + MARGIN - x if place == row[-1] else panels[place].size.width
            body += _framed(panels[place], Point(x, y), Box(across, height))
            x += across + MARGIN
        y += height + MARGIN
    legend, height = _legend(pictures, inner)
    body += f'<g transform="translate({n(MARGIN)} {n(y)})">{legend}</g>\n'
    return _document(title, Box(inner + 2 * MARGIN, y + height + MARGIN / 2), body)


def _document(title: str, size: Box, body: str) -> str:
    dark = STYLE.format(**DARK).strip()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{n(size.width)}" height="{n(size.height)}" '
        f'viewBox="0 0 {n(size.width)} {n(size.height)}">\n<title>{safe(title)}</title>\n'
        f"<style>{STYLE.format(**LIGHT)}@media (prefers-color-scheme:dark){{\n{dark}\n}}</style>\n<defs>\n"
        + "".join(map(_tip, TIPS))
        + f'</defs>\n<rect class="paper" width="100%" height="100%"/>\n{body}</svg>\n'
    )


def _tip(style: str) -> str:
    return (
        f'<marker id="tip-{style}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip-{style}" d="M0 0L10 5L0 10z"/></marker>\n'
    )


def _side_by_side(sizes: list[Box], across: float) -> list[list[int]]:
    """Things in rows, as many in each as fit, by their numbers."""
    rows: list[list[int]] = []
    for place, size in enumerate(sizes):
        used = sum(sizes[it].width + 2 * MARGIN for it in rows[-1]) if rows else across
        if used + size.width > across:
            rows.append([])
        rows[-1].append(place)
    return rows


def _framed(panel: Panel, at: Point, size: Box) -> str:
    frame = f'<rect class="panel" width="{n(size.width)}" height="{n(size.height)}" rx="8"/>'
    head = words(panel.title, MARGIN, 26, "head")
    return f'<g transform="translate({n(at.x)} {n(at.y)})">{frame}{head}\n{panel.body}</g>\n'


def _panel(drawn: Picture) -> Panel:
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
    across = max(across - MARGIN, 2 * MARGIN + width(drawn.title, HEAD), NARROWEST if drawn.notes else 0)
    for line in _noted(drawn, across):
        body += words(line, MARGIN, y, "note")
        y += SMALL_LINE
    return Panel(drawn.title, Box(across, y), body)


def _drawing(part: Part) -> tuple[Box, str]:
    links = [Link(edge.source, edge.target, _label_box(edge)) for edge in part.edges]
    plan = layout({node.id: box_of(node) for node in part.nodes}, links, part.first)
    edges = list(zip(part.edges, plan.paths, strict=True))
    lines = "".join(_line(edge, path) for edge, path in edges)
    labels = "".join(_label(edge, path.label) for edge, path in edges)
    return plan.size, lines + labels + "".join(draw(node, plan.boxes[node.id]) for node in part.nodes)


def _noted(drawn: Picture, across: float) -> list[str]:
    return [line for note in drawn.notes for line in wrap(note, SMALL, across - 2 * MARGIN)]


def _label_lines(edge: Edge) -> list[tuple[str, str]]:
    """The lines of an edge's label, each with its look."""
    found = []
    for label in edge.labels:
        for look, texts in (("exit", label.exits), ("more", label.more)):
            found += [(look, line) for text in texts for line in wrap(text, SMALL, LABEL_WIDEST)]
    return found


def _label_box(edge: Edge) -> Box:
    lines = _label_lines(edge)
    if not lines:
        return Box(0, 0)
    return Box(max(width(line, SMALL) for _, line in lines) + 8, len(lines) * SMALL_LINE + 4)


def _label(edge: Edge, at: Point) -> str:
    box = _label_box(edge)
    if not box.width:
        return ""
    x, y = at.x - box.width / 2, at.y - box.height / 2
    back = f'<rect class="back" x="{n(x)}" y="{n(y)}" width="{n(box.width)}" height="{n(box.height)}"/>'
    lines = enumerate(_label_lines(edge))
    return back + "".join(words(line, at.x, y + 13 + place * SMALL_LINE, look) for place, (look, line) in lines) + "\n"


def _line(edge: Edge, its: Path) -> str:
    look = "" if edge.style == "plain" else f" {edge.style}"
    return f'<path class="link{look}" d="{path(its.points)}" marker-end="url(#tip-{edge.style})"/>\n'


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


def _legend(pictures: list[Picture], inner: float) -> tuple[str, float]:
    """A sample of each sign that the drawing uses, in as many lines as they need."""
    body, x, y = "", 0.0, 24.0
    for across, sample in _samples(pictures):
        if x and x + across > inner:
            x, y = 0.0, y + 48
        body += f'<g transform="translate({n(x)} {n(y)})">{sample}</g>'
        x += across + MARGIN
    return body, y + 36


def _samples(pictures: list[Picture]) -> Iterator[tuple[float, str]]:
    kinds = {node.kind for drawn in pictures for part in drawn.parts for node in part.nodes}
    styles = {edge.style for drawn in pictures for part in drawn.parts for edge in part.edges}
    for kind, meaning in KINDS.items():
        if kind in kinds:
            node = Node(id="", kind=kind, title=meaning)
            yield box_of(node).width, draw(node, Point(box_of(node).width / 2, 0))
    for style, meaning in STYLES.items():
        if style in styles:
            line = f'<path class="link {style}" d="M0 0H44" marker-end="url(#tip-{style})"/>'
            yield 52 + width(meaning, SMALL), line + words(meaning, 52, 4, "note")
