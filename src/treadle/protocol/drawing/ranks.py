"""Which layer each box is on."""

from collections.abc import Sequence

End = tuple[int, int]
SPAN = 2
"""A link spans at least two layers, so that there is one between its ends for its label."""


def ranks(count: int, ends: Sequence[End], first: int) -> tuple[list[int], list[bool]]:
    """The layer of each box, and which links had to be turned round to point downwards."""
    turned = _turned(count, ends, first)
    down = [(b, a) if back else (a, b) for (a, b), back in zip(ends, turned, strict=True)]
    levels = _longest_path(count, down)
    _tighten(levels, down)
    lowest = min(levels, default=0)
    return [level - lowest for level in levels], turned


def _turned(count: int, ends: Sequence[End], first: int) -> list[bool]:
    """Links that lead back to a box on the way from `first`, found by walking in depth.

    What `first` does not reach is drawn below what it leads to: its links into boxes reached earlier are turned too,
    unless that box or this one is only a start or an end.
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
    """Moves boxes within their freedom so that links get shorter."""
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
