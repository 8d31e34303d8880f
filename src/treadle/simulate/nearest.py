"""How far every way out of a step is from an end: what a kind world and a person in a hurry go by."""

from collections.abc import Iterable
from functools import cache
from typing import Final

from treadle.protocol.model import ABORTED, Graph, Protocol, Route, Rows, Spawn, exit_keys, row, target

_FAR: Final = 1000
_DETOUR: Final = 5
"""What a route costs more that starts children, or that leaves a map in which something failed."""


class Nearest:
    """Distances for one protocol, to good ends or to any."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._steps = cache(self._distances)

    def best(self, graph: str, step: str, keys: Iterable[str], good: bool) -> list[str]:
        """Those of the keys that lead to an end on the shortest way."""
        far = {key: self._key(graph, step, key, self._steps(graph, good), good) for key in keys}
        least = min(far.values())
        return [key for key, distance in far.items() if distance == least]

    def _distances(self, name: str, good: bool) -> dict[str, int]:
        graph = self._protocol.graphs[name]
        far = dict.fromkeys(graph.steps, _FAR)
        changed = True
        while changed:
            changed = False
            for step, definition in graph.steps.items():
                keys = exit_keys(self._protocol, definition)
                least = 1 + min((self._key(name, step, key, far, good) for key in keys), default=_FAR)
                if least < far[step]:
                    far[step], changed = least, True
        return far

    def _key(self, name: str, step: str, key: str, far: dict[str, int], good: bool) -> int:
        graph = self._protocol.graphs[name]
        rows: Rows = row(graph, step, key) or ()
        extra = _DETOUR if key == "SomeFailed" else 0
        return extra + min((self._route(name, graph, route, far, good) for route in rows), default=_FAR)

    def _route(self, name: str, graph: Graph, route: Route, far: dict[str, int], good: bool) -> int:
        place = target(route.to)
        extra = _DETOUR if any(isinstance(action, Spawn) for action in route.do) else 0
        if place.kind == "end":
            return extra if not good or place.name in self._good_ends(name, graph) else _FAR
        return extra + (0 if place.kind == "resume" else far.get(place.name, _FAR))

    def _good_ends(self, name: str, graph: Graph) -> frozenset[str]:
        liked = {
            outcome
            for other in self._protocol.graphs.values()
            for outcomes in other.ok.values()
            for outcome in outcomes
            if outcome in graph.ends
        }
        if name == self._protocol.root or not liked:
            liked = {outcome for outcome, needs in graph.ends.items() if any(not need.optional for need in needs)}
        return frozenset(liked or graph.ends.keys() - {ABORTED} or graph.ends)
