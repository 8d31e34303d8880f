"""What of an instance's past can still influence where it goes: all that two states must agree on to be the same.

Budgets, variables and last exits matter only while a way leads to something that reads them before they are written
anew: the classical analysis of live variables, over the steps of a graph.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from treadle.protocol.guards import Guard, parse
from treadle.protocol.model import Graph, Protocol, Route, Spawn, base_of, exit_keys, row, system_keys, target
from treadle.simulate.sources import sources

Literal: TypeAlias = int | float | str | bool | None
_FREE: Final = (0, 0)


class Relevance(NamedTuple):
    """What the guards, maps and commands of one graph read."""

    live: dict[str, frozenset[str]]
    """Step → what may still be read by an instance that stands there: `spent.reviews`, `last.review`, `round`."""
    handlers: frozenset[str]
    """What may be read as long as signals can come."""
    commands: frozenset[str]
    """What may be read as long as a person can send the instance elsewhere."""
    told: dict[str, frozenset[Literal]]
    """Step → the last exits that guards tell apart, where they only ever compare with literals."""
    bounds: dict[str, tuple[int, int]]
    """Variables that guards compare with numbers, with bounds beyond which their value makes no difference."""
    slots: tuple[str, ...]
    """Slots whose items a map goes over."""
    present: tuple[str, ...]
    """Slots that must be there, and not out of date, for a person to send the instance to a step."""
    inputs: tuple[str, ...]
    """Fields of the input that a map reads."""
    same_failure: int
    """The longest run of equal failures that a guard tells from a longer one; 0 if none does."""
    same_question: int
    """A number of times that no guard tells from more; 0 if none looks how often a question was asked."""
    fields: dict[str, frozenset[Literal]]
    """Fields of exits that guards compare, with what they are compared to; spawned lists without literals."""


def relevance(protocol: Protocol, graph: Graph) -> Relevance:
    """Read off one graph what matters in it."""
    routes = list(_routes(graph))
    guards = [parse(text) for text in _guard_texts(graph, routes)]
    sums = [parse(text) for route in routes for text in route.sets.values()]
    over = [step.over for step in graph.steps.values() if step.over]
    windows = [step.window for step in graph.steps.values() if step.window.startswith("in.")]
    slots = {path.rpartition(".")[0] for path in over if not path.startswith("in.")}
    live = _live(protocol, graph)
    handled = [live[handler.step] for handler in graph.handlers.values()]
    sent = [live[step] for step in graph.commanded]
    return Relevance(
        live=live,
        handlers=frozenset[str]().union(*handled),
        commands=frozenset[str]().union(*sent),
        told={step: literals for step in graph.steps if (literals := _told(f"last.{step}", guards))},
        bounds={name: bounds for name in graph.vars if (bounds := _bounds(name, guards)) != _FREE},
        slots=tuple(sorted(slots)),
        present=tuple(sorted(sources(graph))),
        inputs=tuple(sorted({path[3:] for path in [*over, *windows] if path.startswith("in.")})),
        same_failure=_bounds("same_failure", guards)[1],
        same_question=_bounds("same_question", guards)[1],
        fields=_fields([*guards, *sums], routes, [*over, *windows]),
    )


def _routes(graph: Graph) -> Iterator[Route]:
    for step in graph.steps.values():
        for rows in step.routes.values():
            yield from rows
    for rows in graph.system.values():
        yield from rows


def _guard_texts(graph: Graph, routes: Iterable[Route]) -> set[str]:
    whens = {route.when for route in routes}
    becomes = {option.when for step in graph.steps.values() for option in step.becomes}
    return (whens | becomes) - {""}


def _bounds(name: str, guards: list[Guard]) -> tuple[int, int]:
    literals = [value for guard in guards for other, values in guard.comparisons if other == name for value in values]
    numbers = [int(value) for value in literals if isinstance(value, int | float) and not isinstance(value, bool)]
    return (min(numbers) - 1, max(numbers) + 1) if numbers else _FREE


def _told(name: str, guards: list[Guard]) -> frozenset[Literal]:
    found: set[Literal] = set()
    for guard in guards:
        literals = [value for other, values in guard.comparisons if other == name for value in values]
        if name in guard.names and not literals:
            return frozenset()
        found.update(literals)
    return frozenset(found)


def _fields(guards: list[Guard], routes: list[Route], paths: list[str]) -> dict[str, frozenset[Literal]]:
    found: dict[str, set[Literal]] = {}
    for guard in guards:
        for name in guard.names:
            if name.startswith("data."):
                found.setdefault(name[5:], set())
        for name, literals in guard.comparisons:
            if name.startswith("data."):
                found[name[5:]].update(literals)
    spawned = {action.over for route in routes for action in route.do if isinstance(action, Spawn)}
    for field in spawned | {path.rpartition(".")[2] for path in paths}:
        found.setdefault(field, set())
    return {field: frozenset(literals) for field, literals in found.items()}


# live variables


class _Edge(NamedTuple):
    reads: frozenset[str]
    writes: frozenset[str]
    to: str


def _live(protocol: Protocol, graph: Graph) -> dict[str, frozenset[str]]:
    """Step → the names that some way from there reads before it writes them."""
    edges = {step: list(_edges(protocol, graph, step)) for step in graph.steps}
    live: dict[str, frozenset[str]] = dict.fromkeys(graph.steps, frozenset())
    changed = True
    while changed:
        changed = False
        for step, ways in edges.items():
            now = live[step].union(*(way.reads | (live.get(way.to, frozenset()) - way.writes) for way in ways))
            if now != live[step]:
                live[step], changed = now, True
    return live


def _edges(protocol: Protocol, graph: Graph, step: str) -> Iterator[_Edge]:
    definition = graph.steps[step]
    keys = {*exit_keys(protocol, definition), *system_keys(definition), *definition.routes}
    whens = [option.when for option in definition.becomes]
    for key in sorted(keys):
        rows = row(graph, step, key) or ()
        whens += [route.when for route in rows]
        for route in rows:
            yield _edge(graph, step, route)
            if route.charge:
                yield _edge(graph, step, Route(to=route.over))
    yield _Edge(_known(graph, frozenset().union(*(parse(text).names for text in whens if text))), frozenset(), "")


def _edge(graph: Graph, step: str, route: Route) -> _Edge:
    sums = {name: parse(text).names for name, text in route.sets.items()}
    reads = _known(graph, frozenset().union(*(names - {name} for name, names in sums.items())))
    charge = {f"spent.{route.charge}"} if route.charge else set()
    place = target(route.to).name
    refilled = {f"spent.{name}" for name, budget in graph.budgets.items() if {place, base_of(place)} & {*budget.resets}}
    kept = {name for name, names in sums.items() if name in names}
    return _Edge(reads | charge, frozenset({f"last.{step}", *refilled, *sums} - kept), place)


def _known(graph: Graph, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if name in graph.vars or name.startswith(("last.", "spent.")))
