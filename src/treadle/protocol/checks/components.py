"""Strongly connected components and shortest cycles of small graphs, in a stable order."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Arrow(Protocol):
    """Anything that leads from one name to another."""

    @property
    def source(self) -> str: ...
    @property
    def goal(self) -> str: ...


A = TypeVar("A", bound=Arrow)


def components(nodes: Iterable[str], arrows: Sequence[A]) -> list[frozenset[str]]:
    """The strongly connected components, by Kosaraju's two passes without recursion."""
    names = list(nodes)
    forward: dict[str, list[str]] = {name: [] for name in names}
    backward: dict[str, list[str]] = {name: [] for name in names}
    for arrow in arrows:
        forward[arrow.source].append(arrow.goal)
        backward[arrow.goal].append(arrow.source)
    done: set[str] = set()
    order = [name for start in names for name in _finished(start, forward, done)]
    done.clear()
    return [frozenset(part) for start in reversed(order) if (part := _finished(start, backward, done))]


def _finished(start: str, ways: dict[str, list[str]], done: set[str]) -> list[str]:
    """The nodes reached from a start that were not done before, in the order in which they are finished."""
    if start in done:
        return []
    done.add(start)
    found: list[str] = []
    stack = [(start, iter(ways[start]))]
    while stack:
        name, rest = stack[-1]
        fresh = next((goal for goal in rest if goal not in done), None)
        if fresh is None:
            found.append(name)
            stack.pop()
        else:
            done.add(fresh)
            stack.append((fresh, iter(ways[fresh])))
    return found


def shortest_cycle(arrows: Sequence[A]) -> list[A]:
    """A shortest cycle among arrows that hold at least one; ties go to the arrow that comes first."""
    best: list[A] = []
    for arrow in arrows:
        way = _way(arrow.goal, arrow.source, arrows)
        if way is not None and (not best or len(way) + 1 < len(best)):
            best = [arrow, *way]
    return best


def _way(start: str, goal: str, arrows: Sequence[A]) -> list[A] | None:
    ways: dict[str, list[A]] = {start: []}
    todo = [start]
    for name in todo:
        if name == goal:
            return ways[name]
        for arrow in arrows:
            if arrow.source == name and arrow.goal not in ways:
                ways[arrow.goal] = [*ways[name], arrow]
                todo.append(arrow.goal)
    return None
