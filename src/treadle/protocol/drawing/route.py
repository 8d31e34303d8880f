"""From layers and columns to points on paper."""

from typing import NamedTuple

from treadle.protocol.drawing.geometry import Box, Drawing, Path, Point
from treadle.protocol.drawing.lanes import Net
from treadle.protocol.drawing.order import Rows
from treadle.protocol.drawing.place import Columns

LEAST_GAP, MOST_GAP = 24.0, 60.0
"""Between layers: the farther links lead aside there, the more, so that they can be told apart."""
PORT_GAP = 20.0
PORT_INSET = 14.0


def routed(net: Net, rows: Rows, columns: Columns, names: list[str], turned: list[bool]) -> Drawing:
    """Puts boxes on their layers and leads the links through their slots."""
    spans = [(x - size.width / 2, x + size.width / 2) for x, size in zip(columns, net.sizes, strict=True)]
    left = min(low for low, _ in spans)
    paper = _Paper(net, [x - left for x in columns], *_lines(net, rows, columns))
    ports = _ports(paper)
    paths = []
    for place, chain in enumerate(net.chains):
        points = _points(paper, chain, ports[chain[0], place, True], ports[chain[-1], place, False])
        paths.append(Path(tuple(points[::-1] if turned[place] else points), paper.centre(net.labels[place])))
    boxes = {name: paper.centre(place) for place, name in enumerate(names)}
    return Drawing(Box(max(high for _, high in spans) - left, paper.bottoms[-1]), boxes, paths)


class _Paper(NamedTuple):
    """Where everything is: nodes by column, layers by their upper and lower edge."""

    net: Net
    x: Columns
    tops: list[float]
    bottoms: list[float]

    def centre(self, node: int) -> Point:
        level = self.net.level[node]
        return Point(self.x[node], (self.tops[level] + self.bottoms[level]) / 2)


def _lines(net: Net, rows: Rows, x: Columns) -> tuple[list[float], list[float]]:
    tops, bottoms, y = [], [], 0.0
    for row in rows:
        tops.append(y)
        bottoms.append(y + max((net.sizes[node].height for node in row), default=0.0))
        aside = max((abs(x[node] - x[it]) for node in row for it in net.below[node]), default=0.0)
        y = bottoms[-1] + min(LEAST_GAP + aside / 20, MOST_GAP)
    return tops, bottoms


Ports = dict[tuple[int, int, bool], float]
"""Where a link touches a box: by box, link and whether it is the box's lower side."""


def _ports(paper: _Paper) -> Ports:
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for place, chain in enumerate(paper.net.chains):
        sides.setdefault((chain[0], True), []).append((paper.x[chain[1]], place))
        sides.setdefault((chain[-1], False), []).append((paper.x[chain[-2]], place))
    ports: Ports = {}
    for (box, lower), members in sides.items():
        room = max(paper.net.sizes[box].width - 2 * PORT_INSET, 0.0)
        gap = min(PORT_GAP, room / max(len(members) - 1, 1))
        for at, (_, place) in enumerate(sorted(members)):
            ports[box, place, lower] = paper.x[box] + (at - (len(members) - 1) / 2) * gap
    return ports


def _points(paper: _Paper, chain: list[int], start: float, end: float) -> list[Point]:
    """From the upper box's lower side, straight through every slot, to the lower box's upper side."""
    top, *slots, bottom = chain
    levels, sizes = paper.net.level, paper.net.sizes
    points = [Point(start, paper.centre(top).y + sizes[top].height / 2), Point(start, paper.bottoms[levels[top]])]
    for slot in slots:
        points += [Point(paper.x[slot], edge[levels[slot]]) for edge in (paper.tops, paper.bottoms)]
    return [
        *points,
        Point(end, paper.tops[levels[bottom]]),
        Point(end, paper.centre(bottom).y - sizes[bottom].height / 2),
    ]
