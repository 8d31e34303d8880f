"""Columns: Brandes and Köpf's method, the average of four alignments, each as straight and as narrow as it can be."""

from itertools import pairwise

from treadle.protocol.drawing.lanes import Net
from treadle.protocol.drawing.order import Rows

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
    """Moves blocks as far left as their neighbours allow, then those with room towards what pulls them right."""
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
    """Blocks so that each comes after those on its left."""
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
    """Shifts the four so that they share the edges of the narrowest: left ones its left edge, right ones its right."""
    half = [size.width / 2 for size in net.sizes]
    spans = [
        (min(x - h for x, h in zip(column, half, strict=True)), max(x + h for x, h in zip(column, half, strict=True)))
        for column in found
    ]
    narrow = min(spans, key=lambda span: span[1] - span[0])
    for place, (low, high) in enumerate(spans):
        shift = narrow[0] - low if place % 2 == 0 else narrow[1] - high
        found[place] = [x + shift for x in found[place]]
