"""Check 15, templates that lead to each other: whoever comes back to itself is never rendered to its end."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from jinja2 import nodes

from treadle.protocol.checks.components import components
from treadle.protocol.checks.expressions import Fault

_LEADING: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class Way(NamedTuple):
    """An include, import or extends: from a template to one it names."""

    source: str
    goal: str
    line: int


class Circle(NamedTuple):
    """Templates that lead to each other, and the shortest way round."""

    templates: frozenset[str]
    fault: Fault


def circles(names: Iterable[str], load: Callable[[str], nodes.Template | None]) -> Iterator[Circle]:
    """One for each set of templates that lead back to themselves, whatever the conditions on the way."""
    known = {name: number for number, name in enumerate(names)}
    ways = [way for name in known if (tree := load(name)) for way in _ways(name, tree) if way.goal in known]
    for part in components(known, ways):
        leaving: dict[str, list[Way]] = {}
        for way in ways:
            if way.source in part and way.goal in part:
                leaving.setdefault(way.source, []).append(way)
        if leaving:
            yield Circle(part, _fault(_shortest(min(part, key=known.__getitem__), leaving)))


def _fault(circle: list[Way]) -> Fault:
    shown = " → ".join([*(way.source for way in circle), circle[0].source])
    hint = "let one of them stand alone" if len(circle) > 1 else "remove it"
    return Fault(circle[0].source, circle[0].line, f"leads back to itself: {shown}", hint)


def _shortest(start: str, leaving: dict[str, list[Way]]) -> list[Way]:
    """The shortest way round from a template that is on a circle."""
    taken: dict[str, list[Way]] = {}
    todo = [start]
    for name in todo:
        for way in leaving[name]:
            if way.goal not in taken:
                taken[way.goal] = [*taken.get(name, ()), way]
                todo.append(way.goal)
    return taken[start]


def _ways(name: str, tree: nodes.Template) -> list[Way]:
    """The first way to every other template, also where an expression chooses between them."""
    try:
        found = [(text.value, text.lineno) for node in tree.find_all(_LEADING) for text in _texts(node)]
    except RecursionError:
        return []  # whoever walks the template says so
    first = {goal: Way(name, goal, line) for goal, line in reversed(found) if isinstance(goal, str)}
    return list(first.values())


def _texts(node: nodes.Node) -> Iterator[nodes.Const]:
    if isinstance(node, _LEADING):
        parts = (node.template, *node.template.find_all(nodes.Const))
        yield from (part for part in parts if isinstance(part, nodes.Const))
