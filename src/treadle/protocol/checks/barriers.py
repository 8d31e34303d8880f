"""Checks 10 and 11: siblings that wait for each other wait at the same place.

A sync edge lands only when every live sibling of the chunk lands there. If from each landing (and from the start)
exactly one next landing can be come to, all siblings pass the same sequence of landings, and none is ever more than
one behind; ended siblings no longer count. So the barrier always opens.
"""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding


def barriers_are_in_step(subject: Subject) -> Iterator[Finding]:
    """10. After a sync edge, the next sync landing is unique, or the end."""
    for flow in subject.flows.values():
        landings = dict.fromkeys(edge.lands_at for edge in flow.edges if edge.syncs and edge.lands_at)
        for start in dict.fromkeys([flow.graph.start, *landings] if landings else []):
            following = _next_landings(flow, start)
            if len(following) > 1:
                first, second = list(following.values())[:2]
                message = (
                    f"from '{start}' siblings can wait for each other at '{first.lands_at}' ({first}) "
                    f"and at '{second.lands_at}' ({second}); neither barrier would open"
                )
                hint = "let every path pass the same `sync` edges, or end"
                yield subject.finding(10, f"{flow.name}.{start}", second.path, message, hint)


def _next_landings(flow: Flow, start: str) -> dict[str, Edge]:
    """Where siblings can wait next after this step, with an edge for each; a handler or a command may move them."""
    found: dict[str, Edge] = {}
    seen: set[str] = set()
    todo = [start, *(edge.to.name for edge in flow.redirects), *flow.graph.commanded]
    while todo:
        name = todo.pop(0)
        if name in seen or name not in flow.graph.steps:
            continue
        seen.add(name)
        for edge in flow.out[name]:
            if edge.syncs and edge.lands_at:
                found.setdefault(edge.lands_at, edge)
            elif edge.to.kind == "step":
                todo.append(edge.to.name)
    return found


def barriers_need_a_map(subject: Subject) -> Iterator[Finding]:
    """11. Sync edges only in graphs that maps start in chunks; nobody else has siblings that stay together."""
    for flow in subject.flows.values():
        edge = next((edge for edge in flow.edges if edge.syncs), None)
        if edge is None:
            continue
        where = f"{flow.name}.{edge.step}"
        for message, hint in _strangers(subject, flow.name):
            yield subject.finding(11, where, edge.path, f"{edge.name} waits for its siblings, but {message}", hint)


def _strangers(subject: Subject, graph: str) -> Iterator[tuple[str, str]]:
    if graph == subject.protocol.root:
        yield f"'{graph}' is the root and has none", "remove `sync`, or map the graph from another"
    for site in subject.sites:
        if site.child != graph:
            continue
        where = f"'{site.parent}.{site.step}'"
        if site.edge:
            yield f"{where} spawns '{graph}' one by one", "start it with a map"
        elif subject.protocol.graphs[site.parent].steps[site.step].after:
            yield f"{where} starts it in the order of `after`, not in chunks", "remove `sync`, or use a window alone"
