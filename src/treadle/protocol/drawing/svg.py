"""A protocol as one SVG drawing: a panel per graph, what the signs mean below.

Plain SVG without scripts or anything fetched; the colours follow the reader's light or dark mode.
"""

from typing import NamedTuple

from treadle.protocol.drawing.layout import Box, Link, Path, Point, layout
from treadle.protocol.drawing.legend import legend
from treadle.protocol.drawing.letters import width, wrap
from treadle.protocol.drawing.paint import stylesheet, tips
from treadle.protocol.drawing.picture import Edge, Part, Picture, picture
from treadle.protocol.drawing.shapes import SMALL, SMALL_LINE, box_of, draw, n, path, safe, words
from treadle.protocol.model import Protocol

MARGIN = 24.0
HEADING = 34.0
NARROWEST = 560.0
BROAD = 1500.0
"""Interruptions are drawn beside the work they interrupt while this lasts."""
TITLE, HEAD = 20.0, 16.0
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
    inner = max([NARROWEST, width(title, TITLE), *(panel.size.width for panel in panels)])
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
    noted = min(NARROWEST, max((width(note, SMALL) for note in drawn.notes), default=0.0))
    across = max(across - MARGIN, 2 * MARGIN + max(width(drawn.title, HEAD), noted))
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
