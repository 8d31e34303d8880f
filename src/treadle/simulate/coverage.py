"""Which rows of a protocol's tables a run has taken."""

from collections.abc import Iterator

from treadle.kernel.state import Instance, State
from treadle.protocol.model import Graph, Protocol, Spawn, tag_of


def exits_taken(before: State, after: State) -> Iterator[tuple[str, str, str]]:
    """(graph, step, key) of every exit that was routed in one turn."""
    if after.seq == before.seq:
        return
    for id_, inst in after.insts.items():
        if before.insts.get(id_) is not inst:
            yield from _new_slots(inst, after.seq)


def _new_slots(inst: Instance, seq: int) -> Iterator[tuple[str, str, str]]:
    for name, slot in inst.slots.items():
        if slot.seq == seq:
            step, _, tag = name.rpartition(".")
            last = inst.last.get(step, tag)
            yield inst.graph, step, last if tag_of(last) == tag else tag


def row_of(protocol: Protocol, graph: str, step: str, key: str) -> str:
    """The row that an exit takes: `graph.step Exit`, or `graph !crash` for a row of the graph."""
    definition = protocol.graphs[graph]
    routes = definition.steps[step].routes
    tag = tag_of(key)
    own = next((name for name in (key, tag) if name in routes), "")
    if not own and key.startswith("!") and "!*" in routes:
        own = "!*"
    if own or not key.startswith("!"):
        return f"{graph}.{step} {own or key}"
    if tag in ("!gate", "!invalid") and definition.steps[step].attempts > 1:
        return f"{graph}.{step} {tag}"
    names = (key, tag, "!crash", "!*") if tag in ("!blocked", "!store") else (key, tag, "!*")
    return f"{graph} {next((name for name in names if name in definition.system), tag)}"


def rows(protocol: Protocol) -> frozenset[str]:
    """Every row of the graphs that a run can reach."""
    return frozenset(text for name in reachable(protocol) for text in _graph_rows(name, protocol.graphs[name]))


def _graph_rows(name: str, graph: Graph) -> Iterator[str]:
    for step, definition in graph.steps.items():
        yield from (f"{name}.{step} {key}" for key in definition.routes)
    yield from (f"{name} {key}" for key in graph.system)


def reachable(protocol: Protocol) -> list[str]:
    """The graphs that a run can use, the root first."""
    found = [protocol.root]
    for name in found:
        for step in protocol.graphs[name].steps.values():
            spawned = [
                action.graph
                for rows_ in step.routes.values()
                for row in rows_
                for action in row.do
                if isinstance(action, Spawn)
            ]
            found += [other for other in (*spawned, step.graph) if other and other not in found]
    return found
