"""What a drawing of a graph shows: nodes and edges, whatever draws them.

The work that an instance does by itself is one part, and each interruption another, so that neither hides the other.
What leads back to where it came from, or gives up, is a line in its node; what all steps share is a note.
"""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from treadle.protocol.drawing.label import Label, merged, short
from treadle.protocol.drawing.row import ANY_STEP, BACK, SELF, Row
from treadle.protocol.drawing.table import table, who
from treadle.protocol.model import ABORTED, Graph, Protocol, Spawn, Step, base_of, target

Kind = Literal["agent", "effect", "check", "ask", "map", "start", "end", "signal", "resume", "group", "any"]
Style = Literal["plain", "interrupt", "system", "spawn"]
START: Final = "start"
RESUME: Final = "resume"
ANY: Final = "any"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Something that edges connect: a step, or what a graph begins, ends or is interrupted with."""

    id: str
    kind: Kind
    title: str
    lines: tuple[str, ...] = ()


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """One line from node to node, with a label for each exit that takes it."""

    source: str
    target: str
    style: Style = "plain"
    labels: tuple[Label, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and edges that hang together; `first` is where to begin reading."""

    first: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """One graph, ready to be drawn: its own work first, then what can interrupt it."""

    graph: str
    title: str
    parts: tuple[Part, ...]
    notes: tuple[str, ...]


def step_id(step: str) -> str:
    """The node of a step, or of the gate it is a clone of."""
    return f"step:{base_of(step)}"


def picture(protocol: Protocol, name: str) -> Picture:
    """The drawing of one graph, with clones of a gate drawn once."""
    graph = protocol.graphs[name]
    rows = table(protocol, name)
    signals: dict[str, list[str]] = {}
    for found in rows:
        if found.kind == "signal":
            signals.setdefault(base_of(found.to), []).append(found.exit)
    handled = {step: _reach(rows, [step]) for step in signals}
    within = set().union(*handled.values())
    main = _reach(rows, [graph.start, *(base_of(step) for step in graph.steps if base_of(step) not in within)])
    return Picture(
        graph=name,
        title=name + (graph.title and f": {graph.title}") + (graph.input[1] and f" ({graph.input[1]})"),
        parts=(_main(graph, rows, main), *(_handler(graph, rows, signals[step], handled[step]) for step in signals)),
        notes=tuple(_notes(graph, rows)),
    )


def _reach(rows: list[Row], starts: Iterable[str]) -> list[str]:
    """The steps that can be reached from these, themselves included; not through a redirection of other work."""
    reached = dict.fromkeys(base_of(start) for start in starts)
    waiting = list(reached)
    while waiting:
        step = waiting.pop(0)
        for found in rows:
            for to in (found.to, found.charge and found.then):
                new = target(to).kind == "step" and to[:1] not in ("", "@") and base_of(to) not in reached
                if found.step == step and new:
                    reached[base_of(to)] = None
                    waiting.append(base_of(to))
    return list(reached)


def _main(graph: Graph, rows: list[Row], steps: list[str]) -> Part:
    first = Node(id=START, kind="start", title="")
    edges = [Edge(source=START, target=step_id(graph.start))]
    shared = [found for found in rows if found.step == ANY_STEP and found.kind == "system" and found.to != SELF]
    edges += [_edge(ANY, found) for found in shared if base_of(found.to) in steps or target(found.to).kind == "end"]
    return _part(graph, rows, steps, first, edges)


def _handler(graph: Graph, rows: list[Row], signals: list[str], steps: list[str]) -> Part:
    first = Node(id=f"signal:{steps[0]}", kind="signal", title=signals[0], lines=tuple(signals[1:]))
    return _part(graph, rows, steps, first, [Edge(source=first.id, target=step_id(steps[0]), style="interrupt")])


def _part(graph: Graph, rows: list[Row], steps: list[str], first: Node, edges: list[Edge]) -> Part:
    mine = [found for found in rows if found.step in steps]
    edges += [_edge(step_id(found.step), found) for found in mine if not _in_node(found)]
    edges += _spent_edges(mine, {edge.target for edge in edges})
    edges += [edge for step in graph.steps if base_of(step) in steps for edge in _group_edges(step, graph.steps[step])]
    edges = _united(edges)
    ids = dict.fromkeys([*map(step_id, steps), *(end for edge in edges for end in (edge.source, edge.target))])
    nodes = [_node(graph, rows, name) for name in ids if name != first.id]
    return Part(first=first.id, nodes=(first, *nodes), edges=tuple(edges))


def _in_node(found: Row) -> bool:
    """Whether a row is a line in its step's node and not an edge: it leads back, or a person gives up."""
    return found.to in (SELF, BACK) or (found.kind == "ask" and found.to == f"@end:{ABORTED}")


def _edge(source: str, found: Row) -> Edge:
    kind, name = target(found.to)
    ids = {"end": f"end:{name}", "resume": RESUME, "redirect": f"redirect:{base_of(name)}"}
    style: Style = "interrupt" if kind in ("resume", "redirect") else "plain"
    if found.exit.startswith("!"):
        style = "system"
    return Edge(source=source, target=ids.get(kind) or step_id(name), style=style, labels=(short(found),))


def _spent_edges(rows: list[Row], entered: set[str]) -> Iterator[Edge]:
    """Where a spent budget leads, if nothing else does."""
    for found in rows:
        if found.charge and target(found.then).kind == "step" and step_id(found.then) not in entered:
            label = Label((f"{found.charge} spent",))
            yield Edge(source=step_id(found.step), target=step_id(found.then), style="system", labels=(label,))


def _group_edges(name: str, step: Step) -> Iterator[Edge]:
    """From the exit that spawns children to their group, and from the group to whoever waits for it."""
    for key, routes in step.routes.items():
        for action in (action for route in routes for action in route.do):
            if isinstance(action, Spawn):
                yield Edge(source=step_id(name), target=f"group:{action.group}", style="spawn", labels=(Label((key,)),))
    for wait in step.wait:
        if wait.group:
            yield Edge(
                source=f"group:{wait.group}", target=step_id(name), style="spawn", labels=(Label(("all good",)),)
            )


def _united(edges: list[Edge]) -> list[Edge]:
    """One edge for each pair of nodes; it is drawn plainly if any of its exits is ordinary."""
    found: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        if edge.source != edge.target:
            found.setdefault((edge.source, edge.target), []).append(edge)
    return [_unite(same) for same in found.values()]


def _unite(same: list[Edge]) -> Edge:
    labels = merged([label for edge in same for label in edge.labels])
    plain = any(edge.style == "plain" for edge in same)
    return msgspec.structs.replace(same[0], labels=labels, style="plain" if plain else same[0].style)


def _node(graph: Graph, rows: list[Row], name: str) -> Node:
    kind, _, rest = name.partition(":")
    match kind:
        case "end":
            return Node(id=name, kind="end", title=rest)
        case "group":
            return Node(id=name, kind="group", title=rest, lines=tuple(dict.fromkeys(_spawned(graph, rest))))
        case "resume":
            return Node(id=name, kind="resume", title="resume")
        case "redirect":
            return Node(id=name, kind="resume", title=f"go on at {rest}")
        case "any":
            return Node(id=name, kind="any", title="any step")
    step = next((graph.steps[it] for it in graph.steps if base_of(it) == rest), None)
    if step is None:
        return Node(id=name, kind="agent", title=rest, lines=("unknown step",))
    title = " ".join(part for part in (step.symbol, rest) if part)
    lines = _lines(step, [found for found in rows if found.step == rest])
    return Node(id=name, kind=step.kind, title=title, lines=tuple(lines))


def _spawned(graph: Graph, group: str) -> Iterator[str]:
    routes = [route for step in graph.steps.values() for found in step.routes.values() for route in found]
    for action in (action for route in routes for action in route.do):
        if isinstance(action, Spawn) and action.group == group:
            yield f"{action.graph} for each of {action.over}"


def _lines(step: Step, rows: list[Row]) -> Iterator[str]:
    """Who works, what it waits for, and the exits that are no edges."""
    yield who(step) if step.kind != "check" else " ".join(check.name for check in step.checks)
    if any(wait.kind == "manual" for wait in step.wait):
        yield "waits for go"
    for found in filter(_in_node, rows):
        mark = {SELF: "↻", BACK: "↩"}.get(found.to, "✕")
        yield f"{mark} {found.exit}" + (f" (max {found.max})" if found.max else "")


def _notes(graph: Graph, rows: list[Row]) -> Iterator[str]:
    for found in rows:
        if found.step == ANY_STEP and found.to == SELF:
            yield f"{found.exit.replace(' ', ', ')}: a step with attempts left tries again"
    for name, budget in graph.budgets.items():
        refill = f", refilled by {', '.join(dict.fromkeys(map(base_of, budget.resets)))}" if budget.resets else ""
        to = base_of(budget.to) if target(budget.to).kind == "step" else budget.to
        yield f"{name}: at most {budget.max}, then {to}{refill}"
