"""In which graphs tests and code are written; in the others, work is only designed, planned or judged."""

from typing import Final

from treadle.protocol.model import Graph, Protocol, Spawn, tag_of

_WORK: Final = frozenset({"red", "green"})


def working_graphs(protocol: Protocol) -> frozenset[str]:
    """The graphs in which something is shown by tests, and those that start such graphs; all, if there are none."""
    found = {name for name, graph in protocol.graphs.items() if _is_work(protocol, graph)}
    while more := {name for name, graph in protocol.graphs.items() if name not in found and _started(graph) & found}:
        found |= more
    return frozenset(found or protocol.graphs)


def _is_work(protocol: Protocol, graph: Graph) -> bool:
    exits = (protocol.exits.get(tag_of(exit_)) for step in graph.steps.values() for exit_ in step.exits)
    return any(exit_.proves in _WORK for exit_ in exits if exit_)


def _started(graph: Graph) -> set[str]:
    steps = graph.steps.values()
    routes = (route for step in steps for rows in step.routes.values() for route in rows)
    spawned = {action.graph for route in routes for action in route.do if isinstance(action, Spawn)}
    return spawned | {step.graph for step in steps if step.kind == "map"}
