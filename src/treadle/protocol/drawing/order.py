"""The order within each layer, chosen so that few links cross."""

from bisect import bisect_right, insort
from itertools import pairwise

from treadle.protocol.drawing.lanes import Net

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
