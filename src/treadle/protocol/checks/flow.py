"""A graph as its edges: every row that can be taken, where it leads, and which steps belong to which handler."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from treadle.protocol.model import (
    Action,
    Graph,
    Protocol,
    Route,
    Spawn,
    Step,
    Target,
    base_of,
    exit_keys,
    row,
    system_keys,
    tag_of,
    target,
)

TRYING_KINDS: Final = frozenset({"agent", "effect", "check"})
"""The kinds whose self-routes count as attempts."""


class Edge(NamedTuple):
    """A row as one step takes it. `over` marks the way it goes once the budget it charges is spent."""

    step: str
    key: str
    row: Route
    to: Target
    path: str
    over: bool = False

    @property
    def actions(self) -> tuple[Action, ...]:
        """What happens on the way; a row whose budget is spent does nothing but lead elsewhere."""
        return () if self.over else self.row.do

    @property
    def charges(self) -> str:
        return "" if self.over else self.row.charge

    @property
    def syncs(self) -> bool:
        return self.row.sync and not self.over

    @property
    def name(self) -> str:
        """How the table calls its row: `!*` for a failure that has no row of its own."""
        own = self.path.partition(".routes.")[2] or self.path.partition(".system.")[2]
        return own or self.key

    @property
    def is_system(self) -> bool:
        return self.key.startswith("!")

    @property
    def lands_at(self) -> str:
        """The step it leads to, in its own frame or (`^`) in the interrupted one; empty if none."""
        return self.to.name if self.to.kind in ("step", "redirect") else ""

    @property
    def slots(self) -> frozenset[str]:
        """What has been written once this edge is taken."""
        return frozenset() if self.is_system else frozenset({f"{self.step}.{tag_of(self.key)}"})

    def __str__(self) -> str:
        return f"{self.step}.{self.key}" + (f" (over '{self.row.charge}')" if self.over else "")


class Flow:
    """The edges of one graph."""

    def __init__(self, protocol: Protocol, name: str, graph: Graph) -> None:
        self.protocol, self.name, self.graph = protocol, name, graph
        self._keys: dict[str, list[str]] = {}
        self.out: dict[str, tuple[Edge, ...]] = {step: tuple(self._edges(step)) for step in graph.steps}

    @property
    def edges(self) -> Iterator[Edge]:
        for edges in self.out.values():
            yield from edges

    def keys(self, name: str) -> list[str]:
        """The routing keys by which a step can be left: its own, what failure and exhaustion add, refined rows."""
        if name not in self._keys:
            self._keys[name] = self._all_keys(name)
        return self._keys[name]

    def _all_keys(self, name: str) -> list[str]:
        step = self.graph.steps[name]
        keys = [*exit_keys(self.protocol, step), *self.failures(name)]
        if self.retries(name):
            keys += [becomes.key for becomes in step.becomes]
        known = {tag_of(key) for key in keys}
        refined = [key for key in (*step.routes, *self.graph.system) if "." in key and tag_of(key) in known]
        return list(dict.fromkeys([*keys, *refined]))

    def failures(self, name: str) -> list[str]:
        """The system exits that can happen to a step.

        `!exhausted` only where attempts can run out into it; `!gate` also where a spawn can be refused for its size.
        """
        step = self.graph.steps[name]
        keys = [key for key in system_keys(step) if key != "!exhausted"]
        if "!gate" not in keys and step.kind in TRYING_KINDS and self._spawns(step):
            keys.append("!gate")
        if self.retries(name) and any(becomes.key == "!exhausted" for becomes in step.becomes):
            keys.append("!exhausted")
        return keys

    def retries(self, name: str) -> bool:
        """Whether the step can lead to itself in a way that counts as an attempt."""
        return name in self._retrying

    @cached_property
    def _retrying(self) -> frozenset[str]:
        return frozenset(name for name, step in self.graph.steps.items() if self._may_retry(name, step))

    def _may_retry(self, name: str, step: Step) -> bool:
        if step.kind not in TRYING_KINDS:
            return False
        keys = [*exit_keys(self.protocol, step), *system_keys(step), *step.routes]
        rows = (way for key in keys for way in row(self.graph, name, key) or ())
        return any(way.to == name and not way.fresh for way in rows)

    def _spawns(self, step: Step) -> bool:
        ways = (way for rows in step.routes.values() for way in rows)
        return any(isinstance(action, Spawn) for way in ways for action in way.do)

    def rows_path(self, name: str, key: str) -> str:
        """Where the rows stand that apply to a key, as a dotted path."""
        routes, system = self.graph.steps[name].routes, self.graph.system
        for own in (key, tag_of(key), "!*" if key.startswith("!") else key):
            if own in routes:
                return f"{step_path(self.name, name)}.routes.{own}"
        for common in (key, tag_of(key), "!crash" if tag_of(key) in ("!blocked", "!store") else "!*", "!*"):
            if common in system:
                return f"graphs.{self.name}.system.{common}"
        return step_path(self.name, name)

    def _edges(self, name: str) -> Iterator[Edge]:
        own = self.graph.steps[name].routes
        shown = {key: tag_of(key) if key not in own and not key.startswith("!") else key for key in self.keys(name)}
        for key in dict.fromkeys(shown.values()):
            path = self.rows_path(name, key)
            for way in row(self.graph, name, key) or ():
                yield Edge(name, key, way, target(way.to), path)
                if over := self._over(way):
                    yield Edge(name, key, way, target(over), path, over=True)

    def _over(self, way: Route) -> str:
        budget = self.graph.budgets.get(way.charge)
        return way.over or (budget.to if budget else "")

    def reach(self, starts: Iterable[str]) -> frozenset[str]:
        """The steps that a frame can come to from these, without leaving it."""
        seen: set[str] = set()
        todo = [start for start in starts if start in self.graph.steps]
        while todo:
            step = todo.pop()
            if step not in seen:
                seen.add(step)
                ways = (edge.to.name for edge in self.out[step] if edge.to.kind == "step")
                todo += [name for name in ways if name in self.graph.steps]
        return frozenset(seen)

    @cached_property
    def handled(self) -> dict[str, frozenset[str]]:
        """The steps of each handler."""
        return {signal: self.reach([handler.step]) for signal, handler in self.graph.handlers.items()}

    @cached_property
    def handler_steps(self) -> frozenset[str]:
        return frozenset().union(*self.handled.values())

    @cached_property
    def redirects(self) -> tuple[Edge, ...]:
        """The edges by which a handler moves the interrupted work elsewhere."""
        return tuple(edge for edge in self.edges if edge.to.kind == "redirect" and edge.step in self.handler_steps)

    @cached_property
    def main(self) -> frozenset[str]:
        """The steps of the main frame: from the start, from where handlers redirect it, and where commands send it."""
        redirected = [edge.to.name for edge in self.redirects]
        return self.reach([self.graph.start, *redirected, *self.graph.commanded])


def step_path(graph: str, step: str) -> str:
    """The dotted path of a step; a cloned ask stands where the original does."""
    return f"graphs.{graph}.steps.{base_of(step)}"


def agents(graph: Graph) -> list[str]:
    """The agent steps of a graph."""
    return [name for name, step in graph.steps.items() if step.kind == "agent"]
