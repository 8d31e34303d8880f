"""A small scope: how much of a protocol an exhaustive search looks at."""

import msgspec

from treadle.protocol.model import Budget, Graph, Protocol, Route, Step, row
from treadle.simulate.sources import readers

_RETRIED = ("!gate", "!invalid")


class Scope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds that make the search finite, and menus that make it small."""

    name: str = ""
    help: str = ""
    graph: str = ""
    """The graph that is the root; empty: the protocol's own."""
    attempts: int = 1
    budgets: int | None = 1
    """What is left of every budget; None: whenever one is charged, it may have run out or not (see `allowance`)."""
    depth: int = 1
    """Instances this deep start no children of their own."""
    widths: tuple[int, ...] = (0, 1)
    """How many items a list may have."""
    values: dict[str, tuple[bool | int | float | str | None, ...]] = {}
    """Values of a field, by `Exit.field` or `field`, in place of those its guards tell apart; also of the input."""
    items: dict[str, tuple[int | None, ...]] = {}
    """Numbers of items of a field, by `Exit.field` or `field`, in place of `widths`; None: the list is absent."""
    menus: dict[str, tuple[str, ...]] = {}
    """The exits or choices of a step that are looked at; a step without a menu has all of them."""
    faults: tuple[str, ...] = ("!timeout", "!crash", "!invalid", "!gate", "!blocked", "!store")
    """The system exits that are looked at; of those that take the same row, only one."""
    signals: tuple[str, ...] = ()
    """What may come from outside at any time: `abort`, `pause`, a signal that a graph handles, or (once for each of an
    agent's activities) an `outage`."""
    atomic: bool = True
    """A claim and its verdict are one move: nothing else can tell them apart unless it preempts."""

    def menu(self, step: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys of a step that belong to the scope; a clone of an ask shares the menu of its original."""
        allowed = self.menus.get(step, self.menus.get(step.partition("@")[0]))
        if allowed is None:
            return keys
        return tuple(key for key in keys if key in allowed or key.partition(".")[0] in allowed)


def clip(protocol: Protocol, scope: Scope) -> Protocol:
    """The protocol with its root, attempts, budgets and limits cut down to the scope."""
    limits = msgspec.structs.replace(protocol.limits, depth=scope.depth, infra_retries=0, cost=0.0, tokens=0, wall=0)
    graphs = {name: _clip_graph(graph, scope) for name, graph in protocol.graphs.items()}
    return msgspec.structs.replace(protocol, root=scope.graph or protocol.root, graphs=graphs, limits=limits)


def _clip_graph(graph: Graph, scope: Scope) -> Graph:
    steps = {name: _clip_step(graph, name, step, scope) for name, step in graph.steps.items()}
    budgets = {name: _clip_budget(budget, scope) for name, budget in graph.budgets.items()}
    return msgspec.structs.replace(graph, steps=steps, budgets=budgets)


def _clip_budget(budget: Budget, scope: Scope) -> Budget:
    return msgspec.structs.replace(budget, max=min(budget.max, 1 if scope.budgets is None else scope.budgets))


def _clip_step(graph: Graph, name: str, step: Step, scope: Scope) -> Step:
    """Fewer attempts; a step that tries again by default keeps doing so when only one attempt is left to it.

    What it reads plays no part, unless a person can be refused to go there without it.
    """
    if name not in readers(graph):
        step = msgspec.structs.replace(step, needs=())
    if step.attempts <= scope.attempts:
        return step
    again = {key: (Route(to=name),) for key in _RETRIED if row(graph, name, key) == (Route(to=name),)}
    return msgspec.structs.replace(step, attempts=scope.attempts, routes={**again, **step.routes})
