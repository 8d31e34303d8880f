"""Layered layout: places boxes and the links between them, top to bottom, without overlaps.

The classic four steps (Sugiyama): turn some links round until no cycle is left, give every box a layer, order each
layer to minimise crossings, then choose coordinates (Brandes and Köpf). A link that spans layers passes each of them in
a slot of its own, and its label is such a slot, so labels never cover boxes, links or each other. The order of the
input decides everything: the same input gives the same picture.
"""

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# The input and the output of the layout.


class Box(NamedTuple):
    """The size of something drawn."""

    width: float
    height: float


class Point(NamedTuple):
    x: float
    y: float


class Link(NamedTuple):
    """A line from one box to another, with the size of its label."""

    source: str
    target: str
    label: Box = Box(0, 0)


class Path(NamedTuple):
    """Where a link runs: points to pass, every second stretch straight down or up; and its label's centre."""

    points: tuple[Point, ...]
    label: Point


class Drawing(NamedTuple):
    """The centres of the boxes, and the links in input order."""

    size: Box
    boxes: dict[str, Point]
    paths: list[Path]


# The layer of each box.

End = tuple[int, int]
SPAN = 2
"""The least number of layers a link spans: two leave one between its ends for its label."""


def ranks(count: int, ends: Sequence[End], first: int) -> tuple[list[int], list[bool]]:
    """The layer of each box, and which links had to be turned round to point downwards."""
    turned = _turned(count, ends, first)
    down = [(b, a) if back else (a, b) for (a, b), back in zip(ends, turned, strict=True)]
    levels = _longest_path(count, down)
    _tighten(levels, down)
    lowest = min(levels, default=0)
    return [level - lowest for level in levels], turned


def _turned(count: int, ends: Sequence[End], first: int) -> list[bool]:
    """Mark the links that lead back to a box on the way from `first`, found depth-first.

    Boxes that `first` does not reach are drawn below the boxes they lead to: their links into boxes reached earlier are
    turned too, unless that box or this one is only a start or an end.
    """
    leaving: list[list[int]] = [[] for _ in range(count)]
    entered = [0] * count
    for place, (source, target) in enumerate(ends):
        leaving[source].append(place)
        entered[target] += 1
    turned = [False] * len(ends)
    fresh, open_, done = 0, 1, 2
    state = [fresh] * count
    reached_from = [first] * count
    for root in (first, *(box for box in range(count) if not entered[box]), *range(count)):
        if state[root] != fresh:
            continue
        state[root], reached_from[root] = open_, root
        stack = [(root, iter(leaving[root]))]
        while stack:
            box, ways = stack[-1]
            way = next(ways, None)
            if way is None:
                state[box] = done
                stack.pop()
                continue
            target = ends[way][1]
            if state[target] == fresh:
                state[target], reached_from[target] = open_, root
                stack.append((target, iter(leaving[target])))
            else:
                earlier = reached_from[target] != root and entered[box] and leaving[target]
                turned[way] = state[target] == open_ or bool(earlier)
    return turned


def _longest_path(count: int, down: Sequence[End]) -> list[int]:
    levels = [0] * count
    for _ in range(count):
        moved = False
        for source, target in down:
            if levels[target] < levels[source] + SPAN:
                levels[target] = levels[source] + SPAN
                moved = True
        if not moved:
            break
    return levels


def _tighten(levels: list[int], down: Sequence[End]) -> None:
    """Move boxes within their freedom to shorten links."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for source, target in down:
        above.setdefault(target, []).append(source)
        below.setdefault(source, []).append(target)
    for _ in range(len(levels)):
        before = list(levels)
        for box in range(len(levels)):
            ups, downs = above.get(box, []), below.get(box, [])
            if len(downs) > len(ups):
                levels[box] = min(levels[it] for it in downs) - SPAN
            elif len(ups) > len(downs):
                levels[box] = max(levels[it] for it in ups) + SPAN
        if levels == before:
            return


# The layered net: boxes, and a slot in every layer that a link passes.

SLOT = Box(2, 0)


class Net(NamedTuple):
    """Nodes are boxes first, then slots. Every segment leads one layer down."""

    boxes: int
    sizes: list[Box]
    layers: list[list[int]]
    level: list[int]
    above: list[list[int]]
    below: list[list[int]]
    chains: list[list[int]]
    """For each link the nodes it passes, downwards, its two boxes included."""
    labels: list[int]
    """For each link the slot of its label."""


def layered(
    boxes: Sequence[Box], labels: Sequence[Box], ends: Sequence[End], levels: Sequence[int], turned: Sequence[bool]
) -> Net:
    """Cuts links into segments between neighbouring layers."""
    net = Net(len(boxes), list(boxes), [[] for _ in range(max(levels) + 1)], list(levels), [], [], [], [])
    for box, level in enumerate(levels):
        net.layers[level].append(box)
    for (a, b), back in zip(ends, turned, strict=True):
        _add_chain(net, *((b, a) if back else (a, b)))
    _place_labels(net, labels)
    net.above.extend([] for _ in net.sizes)
    net.below.extend([] for _ in net.sizes)
    for chain in net.chains:
        for upper, lower in pairwise(chain):
            net.below[upper].append(lower)
            net.above[lower].append(upper)
    return net


def _add_chain(net: Net, top: int, bottom: int) -> None:
    slots = []
    for level in range(net.level[top] + 1, net.level[bottom]):
        slots.append(len(net.sizes))
        net.layers[level].append(len(net.sizes))
        net.sizes.append(SLOT)
        net.level.append(level)
    net.chains.append([top, *slots, bottom])


def _place_labels(net: Net, labels: Sequence[Box]) -> None:
    """Puts each label into the emptiest of the layers between boxes that its link passes, short links first."""
    filled = [0.0] * len(net.layers)
    chosen: dict[int, int] = {}
    for place in sorted(range(len(net.chains)), key=lambda place: len(net.chains[place])):
        slots = [slot for slot in net.chains[place][1:-1] if net.level[slot] % 2]
        slot = min(slots, key=lambda slot: filled[net.level[slot]])
        chosen[place] = slot
        if labels[place].width:
            net.sizes[slot] = labels[place]
            filled[net.level[slot]] += labels[place].width
    net.labels.extend(chosen[place] for place in range(len(net.chains)))


# The order within each layer, chosen to minimise crossings.

SWEEPS = 24
Rows = list[list[int]]


def ordered(net: Net) -> Rows:
    """The best order found by sweeping down and up over the layers."""
    rows = _initial(net)
    best, least = [list(row) for row in rows], crossings(net, rows)
    for sweep in range(SWEEPS):
        _sweep(net, rows, downwards=sweep % 2 == 0)
        _swap_neighbours(net, rows)
        found = crossings(net, rows)
        if found < least:
            best, least = [list(row) for row in rows], found
        if not least:
            break
    return best


def crossings(net: Net, rows: Rows) -> int:
    """How many pairs of segments cross."""
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: at for at, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = sorted(place[it] for it in net.below[node])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _initial(net: Net) -> Rows:
    """Nodes in the order in which a walk from the top meets them."""
    met: dict[int, None] = {}
    for root in (node for row in net.layers for node in row):
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in met:
                met[node] = None
                stack.extend(reversed(net.below[node]))
    place = {node: at for at, node in enumerate(met)}
    return [sorted(row, key=place.__getitem__) for row in net.layers]


def _sweep(net: Net, rows: Rows, *, downwards: bool) -> None:
    levels = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    for level in levels:
        towards = net.above if downwards else net.below
        place = {node: at for at, node in enumerate(rows[level - 1 if downwards else level + 1])}
        own = {node: at for at, node in enumerate(rows[level])}
        weight = {node: _mean([place[it] for it in towards[node]], own[node]) for node in rows[level]}
        rows[level].sort(key=lambda node: (weight[node], own[node]))


def _mean(places: list[int], otherwise: int) -> float:
    return sum(places) / len(places) if places else float(otherwise)


def _swap_neighbours(net: Net, rows: Rows) -> None:
    """Swaps two nodes side by side wherever that saves crossings."""
    for _ in range(4):
        saved = False
        for level, row in enumerate(rows):
            up = {node: at for at, node in enumerate(rows[level - 1])} if level else {}
            down = {node: at for at, node in enumerate(rows[level + 1])} if level + 1 < len(rows) else {}
            for at in range(len(row) - 1):
                left, right = row[at], row[at + 1]
                kept = _between(net, left, right, up, down)
                if _between(net, right, left, up, down) < kept:
                    row[at], row[at + 1] = right, left
                    saved = True
        if not saved:
            return


def _between(net: Net, left: int, right: int, up: dict[int, int], down: dict[int, int]) -> int:
    return sum(
        place[a] > place[b]
        for ends, place in ((net.above, up), (net.below, down))
        for a in ends[left]
        for b in ends[right]
    )


# Columns: Brandes and Köpf's method, the average of four alignments, each as straight and as narrow as it can be.

GAP = 22.0
"""Between neighbours in a layer; between two passing links it is less."""
LANE_GAP = 12.0
Columns = list[float]


def columns(net: Net, rows: Rows) -> Columns:
    """The horizontal centre of every node."""
    conflicts = _conflicts(net, rows)
    found = [
        _aligned(net, rows, conflicts, upwards=upwards, leftwards=leftwards)
        for upwards in (True, False)
        for leftwards in (True, False)
    ]
    _line_up(net, found)
    middle = [sorted(column[node] for column in found) for node in range(len(net.sizes))]
    return [(four[1] + four[2]) / 2 for four in middle]


def _conflicts(net: Net, rows: Rows) -> set[tuple[int, int]]:
    """Segments that cross a link's inner segment; the inner one is kept straight instead of them."""
    found: set[tuple[int, int]] = set()
    for upper, lower in pairwise(rows):
        place = {node: at for at, node in enumerate(upper)}
        inner = [(at, place[net.above[node][0]]) for at, node in enumerate(lower) if _is_inner(net, node)]
        for at, node in enumerate(lower):
            for over in net.above[node]:
                if _is_inner(net, node):
                    continue
                if any((at - a) * (place[over] - b) < 0 for a, b in inner):
                    found.add((over, node))
    return found


def _is_inner(net: Net, node: int) -> bool:
    return node >= net.boxes and net.above[node][0] >= net.boxes


def _aligned(net: Net, rows: Rows, conflicts: set[tuple[int, int]], *, upwards: bool, leftwards: bool) -> Columns:
    layers = rows if upwards else rows[::-1]
    layers = layers if leftwards else [row[::-1] for row in layers]
    root = _blocks(net, layers, conflicts, upwards=upwards)
    column = _compact(net, layers, root)
    return column if leftwards else [-x for x in column]


def _blocks(net: Net, layers: Rows, conflicts: set[tuple[int, int]], *, upwards: bool) -> list[int]:
    """Joins every node to its median neighbour in the layer before, where that crosses no other join."""
    root = list(range(len(net.sizes)))
    joined = [False] * len(net.sizes)
    towards = net.above if upwards else net.below
    for before, row in pairwise(layers):
        place = {node: at for at, node in enumerate(before)}
        last = -1
        for node in row:
            near = sorted(towards[node], key=place.__getitem__)
            for it in _medians(near):
                pair = (it, node) if upwards else (node, it)
                if root[node] == node and not joined[it] and pair not in conflicts and place[it] > last:
                    root[node] = root[it]
                    joined[it] = True
                    last = place[it]
    return root


def _medians(near: list[int]) -> list[int]:
    return near[(len(near) - 1) // 2 : len(near) // 2 + 1]


def _compact(net: Net, layers: Rows, root: list[int]) -> Columns:
    """Move blocks as far left as their neighbours allow, then move blocks with room towards their right neighbours."""
    left: dict[int, list[tuple[int, float]]] = {block: [] for block in root}
    right: dict[int, list[tuple[int, float]]] = {block: [] for block in root}
    for row in layers:
        for a, b in pairwise(row):
            left[root[b]].append((root[a], _apart(net, a, b)))
            right[root[a]].append((root[b], _apart(net, a, b)))
    column: dict[int, float] = {}
    order = _sorted_blocks(left)
    for block in order:
        column[block] = max((column[it] + gap for it, gap in left[block]), default=0.0)
    for block in reversed(order):
        room = min((column[it] - gap for it, gap in right[block]), default=None)
        if room is not None and left[block]:
            column[block] = max(column[block], room)
    return [column[root[node]] for node in range(len(net.sizes))]


def _apart(net: Net, a: int, b: int) -> float:
    gap = LANE_GAP if a >= net.boxes and b >= net.boxes else GAP
    return (net.sizes[a].width + net.sizes[b].width) / 2 + gap


def _sorted_blocks(left: dict[int, list[tuple[int, float]]]) -> list[int]:
    """Sort blocks: each comes after those on its left."""
    order: list[int] = []
    seen: set[int] = set()
    for start in left:
        stack = [(start, False)]
        while stack:
            block, ready = stack.pop()
            if ready:
                order.append(block)
            elif block not in seen:
                seen.add(block)
                stack.append((block, True))
                stack.extend((it, False) for it, _ in left[block])
    return order


def _line_up(net: Net, found: list[Columns]) -> None:
    """Shift the four alignments to the edges of the narrowest: left ones to its left edge, right ones to its right."""
    half = [size.width / 2 for size in net.sizes]
    spans = [
        (min(x - h for x, h in zip(column, half, strict=True)), max(x + h for x, h in zip(column, half, strict=True)))
        for column in found
    ]
    narrow = min(spans, key=lambda span: span[1] - span[0])
    for place, (low, high) in enumerate(spans):
        shift = narrow[0] - low if place % 2 == 0 else narrow[1] - high
        found[place] = [x + shift for x in found[place]]


# Points on paper, from layers and columns.

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


__all__ = ["Box", "Drawing", "Link", "Path", "Point", "layout"]


def layout(boxes: dict[str, Box], links: list[Link], first: str) -> Drawing:
    """Draws boxes and links with `first` on top. A link must not start and end at the same box."""
    names = list(boxes)
    number = {name: place for place, name in enumerate(names)}
    ends = [(number[link.source], number[link.target]) for link in links]
    levels, turned = ranks(len(names), ends, number[first])
    net = layered([boxes[name] for name in names], [link.label for link in links], ends, levels, turned)
    rows = ordered(net)
    return routed(net, rows, columns(net, rows), names, turned)
