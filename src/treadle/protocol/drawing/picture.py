"""A graph as a picture, nodes and edges for any renderer; and a protocol as a Mermaid state diagram."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

import msgspec

from treadle.protocol.drawing.table import ANY_STEP, BACK, SELF, Row, step_worker, table
from treadle.protocol.model import ABORTED, Graph, Protocol, Spawn, Step, base_of, tag_of, target

# The labels of edges: their exits, and the actions on the way.

_MARKS: Final = {"tier": "▲", "sync": "⇊", "fresh": "✳"}


class Label(NamedTuple):
    """Exits, and a line for each thing that goes with them."""

    exits: tuple[str, ...]
    more: tuple[str, ...] = ()


def short(found: Row) -> Label:
    """Return the short label of a row."""
    keys = found.exit.split()
    lines = [f"[{found.when}]"] if found.when else []
    if found.charge:
        lines.append(f"≤ {found.max} {found.charge}" if found.max else found.charge)
    lines += [_action(action) for action in found.do if not action.startswith("spawn ")]
    return Label((found.exit if len(keys) < 3 else f"{keys[0]} {keys[1]} …",), tuple(lines))


def _action(text: str) -> str:
    verb, _, rest = text.partition(" ")
    if verb == "send":
        return f"✉ {rest.replace(' to ', ' → ')}"
    return f"{_MARKS[verb]} {text}" if verb in _MARKS else f"· {text}"


def merged(labels: list[Label]) -> tuple[Label, ...]:
    """Exits with the same consequences share their lines; many variants of one exit share its name."""
    same: dict[tuple[str, ...], list[str]] = {}
    for label in labels:
        same.setdefault(label.more, []).extend(label.exits)
    return tuple(Label(_names(list(dict.fromkeys(exits))), more) for more, exits in same.items())


def _names(exits: list[str]) -> tuple[str, ...]:
    tags: dict[str, list[str]] = {}
    for name in exits:
        tags.setdefault(tag_of(name), []).append(name)
    return tuple(name for tag, same in tags.items() for name in ([f"{tag}.*"] if len(same) > 2 else same))


Kind = Literal["agent", "effect", "check", "ask", "map", "start", "end", "signal", "resume", "group", "any"]
Style = Literal["plain", "interrupt", "system", "spawn"]
START: Final = "start"
RESUME: Final = "resume"
ANY: Final = "any"


class PictureNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a picture: a step, a group, or a graph's start, end or interruption."""

    id: str
    kind: Kind
    title: str
    lines: tuple[str, ...] = ()


class PictureEdge(msgspec.Struct, frozen=True, kw_only=True):
    """One line from node to node, with a label for each of its exits."""

    source: str
    target: str
    style: Style = "plain"
    labels: tuple[Label, ...] = ()


class PicturePart(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes and edges that hang together; `first` is where to begin reading."""

    first: str
    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...]


class GraphPicture(msgspec.Struct, frozen=True, kw_only=True):
    """One graph, ready to be drawn: its own work first, then its handlers."""

    graph: str
    title: str
    parts: tuple[PicturePart, ...]
    notes: tuple[str, ...]


def step_id(step: str) -> str:
    """The node of a step, or of the gate it is a clone of."""
    return f"step:{base_of(step)}"


def picture(protocol: Protocol, name: str) -> GraphPicture:
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
    return GraphPicture(
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


def _main(graph: Graph, rows: list[Row], steps: list[str]) -> PicturePart:
    first = PictureNode(id=START, kind="start", title="")
    edges = [PictureEdge(source=START, target=step_id(graph.start))]
    shared = [found for found in rows if found.step == ANY_STEP and found.kind == "system" and found.to != SELF]
    edges += [_edge(ANY, found) for found in shared if base_of(found.to) in steps or target(found.to).kind == "end"]
    return _part(graph, rows, steps, first, edges)


def _handler(graph: Graph, rows: list[Row], signals: list[str], steps: list[str]) -> PicturePart:
    first = PictureNode(id=f"signal:{steps[0]}", kind="signal", title=signals[0], lines=tuple(signals[1:]))
    return _part(graph, rows, steps, first, [PictureEdge(source=first.id, target=step_id(steps[0]), style="interrupt")])


def _part(graph: Graph, rows: list[Row], steps: list[str], first: PictureNode, edges: list[PictureEdge]) -> PicturePart:
    mine = [found for found in rows if found.step in steps]
    edges += [_edge(step_id(found.step), found) for found in mine if not _in_node(found)]
    edges += _spent_edges(mine, {edge.target for edge in edges})
    edges += [edge for step in graph.steps if base_of(step) in steps for edge in _group_edges(step, graph.steps[step])]
    edges = _united(edges)
    ids = dict.fromkeys([*map(step_id, steps), *(end for edge in edges for end in (edge.source, edge.target))])
    nodes = [_node(graph, rows, name) for name in ids if name != first.id]
    return PicturePart(first=first.id, nodes=(first, *nodes), edges=tuple(edges))


def _in_node(found: Row) -> bool:
    """Whether a row is a line in its step's node and not an edge: it leads back, or a person gives up."""
    return found.to in (SELF, BACK) or (found.kind == "ask" and found.to == f"@end:{ABORTED}")


def _edge(source: str, found: Row) -> PictureEdge:
    kind, name = target(found.to)
    ids = {"end": f"end:{name}", "resume": RESUME, "redirect": f"redirect:{base_of(name)}"}
    style: Style = "interrupt" if kind in ("resume", "redirect") else "plain"
    if found.exit.startswith("!"):
        style = "system"
    return PictureEdge(source=source, target=ids.get(kind) or step_id(name), style=style, labels=(short(found),))


def _spent_edges(rows: list[Row], entered: set[str]) -> Iterator[PictureEdge]:
    """Where a spent budget leads, if nothing else does."""
    for found in rows:
        if found.charge and target(found.then).kind == "step" and step_id(found.then) not in entered:
            label = Label((f"{found.charge} spent",))
            yield PictureEdge(source=step_id(found.step), target=step_id(found.then), style="system", labels=(label,))


def _group_edges(name: str, step: Step) -> Iterator[PictureEdge]:
    """Yield the edges from a spawning exit to the group, and from the group to each step that waits for it."""
    for key, routes in step.routes.items():
        for action in (action for route in routes for action in route.do):
            if isinstance(action, Spawn):
                yield PictureEdge(
                    source=step_id(name), target=f"group:{action.group}", style="spawn", labels=(Label((key,)),)
                )
    for wait in step.wait:
        if wait.group:
            yield PictureEdge(
                source=f"group:{wait.group}", target=step_id(name), style="spawn", labels=(Label(("all good",)),)
            )


def _united(edges: list[PictureEdge]) -> list[PictureEdge]:
    """One edge for each pair of nodes; it is drawn plainly if any of its exits is ordinary."""
    found: dict[tuple[str, str], list[PictureEdge]] = {}
    for edge in edges:
        if edge.source != edge.target:
            found.setdefault((edge.source, edge.target), []).append(edge)
    return [_unite(same) for same in found.values()]


def _unite(same: list[PictureEdge]) -> PictureEdge:
    labels = merged([label for edge in same for label in edge.labels])
    plain = any(edge.style == "plain" for edge in same)
    return msgspec.structs.replace(same[0], labels=labels, style="plain" if plain else same[0].style)


def _node(graph: Graph, rows: list[Row], name: str) -> PictureNode:
    kind, _, rest = name.partition(":")
    match kind:
        case "end":
            return PictureNode(id=name, kind="end", title=rest)
        case "group":
            return PictureNode(id=name, kind="group", title=rest, lines=tuple(dict.fromkeys(_spawned(graph, rest))))
        case "resume":
            return PictureNode(id=name, kind="resume", title="resume")
        case "redirect":
            return PictureNode(id=name, kind="resume", title=f"go on at {rest}")
        case "any":
            return PictureNode(id=name, kind="any", title="any step")
    step = next((graph.steps[it] for it in graph.steps if base_of(it) == rest), None)
    if step is None:
        return PictureNode(id=name, kind="agent", title=rest, lines=("unknown step",))
    title = " ".join(part for part in (step.symbol, rest) if part)
    lines = _lines(step, [found for found in rows if found.step == rest])
    return PictureNode(id=name, kind=step.kind, title=title, lines=tuple(lines))


def _spawned(graph: Graph, group: str) -> Iterator[str]:
    routes = [route for step in graph.steps.values() for found in step.routes.values() for route in found]
    for action in (action for route in routes for action in route.do):
        if isinstance(action, Spawn) and action.group == group:
            yield f"{action.graph} for each of {action.over}"


def _lines(step: Step, rows: list[Row]) -> Iterator[str]:
    """Yield the lines inside a step's node: its worker, its wait, and the exits that are no edges."""
    yield step_worker(step) if step.kind != "check" else " ".join(check.name for check in step.checks)
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


# A protocol as a Mermaid state diagram: a composite state per graph.

LOOKS: Final = {
    "ask": "fill:#fde7c4,stroke:#b7791f,color:#1f2328",
    "effect": "fill:#dbeafe,stroke:#3b6fb6,color:#1f2328",
    "check": "fill:#dbeafe,stroke:#3b6fb6,color:#1f2328",
    "map": "fill:#e6dff7,stroke:#7353ba,color:#1f2328",
    "group": "fill:#e6dff7,stroke:#7353ba,color:#1f2328",
    "signal": "fill:#fbdde1,stroke:#c0392b,color:#1f2328",
    "resume": "fill:#fbdde1,stroke:#c0392b,color:#1f2328",
    "any": "fill:#fbdde1,stroke:#c0392b,color:#1f2328",
    "live": "fill:#2da44e,stroke:#116329,color:#ffffff,stroke-width:3px",
}


def mermaid(protocol: Protocol, graph: str | None = None, live: Iterable[tuple[str, str]] = ()) -> str:
    """The diagram of one graph, or of all; `live` are (graph, step) positions to highlight."""
    names = [graph] if graph is not None else list(protocol.graphs)
    positions = {(name, step_id(base_of(step))) for name, step in live}
    known = _Ids()
    lines = ["stateDiagram-v2"]
    for name in names:
        lines += _graph(picture(protocol, name), known, positions)
    lines += [f"  classDef {kind} {look}" for kind, look in LOOKS.items()]
    return "\n".join(lines) + "\n"


class _Ids:
    """Identifiers that Mermaid accepts, a different one for every node."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}

    def of(self, graph: str, node: str) -> str:
        place = (graph, node)
        if place not in self._given:
            plain = re.sub(r"\W", "_", f"{graph}__{node.removeprefix('step:')}", flags=re.ASCII)
            taken = set(self._given.values())
            same = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3)))
            self._given[place] = next(name for name in same if name not in taken)
        return self._given[place]


def _graph(drawn: GraphPicture, known: _Ids, live: set[tuple[str, str]]) -> Iterator[str]:
    yield f'  state "{text(drawn.title)}" as {known.of(drawn.graph, "")} {{'
    for number, part in enumerate(drawn.parts):
        place = f"{drawn.graph}_{number}" if number else drawn.graph
        yield from (f'    state "{_shown(node)}" as {known.of(place, node.id)}' for node in _states(part))
        yield from (f"    {_mermaid_edge(place, edge, known)}" for edge in part.edges)
    yield "  }"
    for number, part in enumerate(drawn.parts):
        place = f"{drawn.graph}_{number}" if number else drawn.graph
        for node in _states(part):
            look = "live" if (drawn.graph, node.id) in live else node.kind
            if look in LOOKS:
                yield f"  class {known.of(place, node.id)} {look}"


def _states(part: PicturePart) -> list[PictureNode]:
    return [node for node in part.nodes if node.kind not in ("start", "end")]


def _shown(node: PictureNode) -> str:
    mark = {"signal": "⚡ ", "resume": "↩ ", "group": "▣ ", "ask": "? "}.get(node.kind, "")
    return "<br/>".join(text(line) for line in (mark + node.title, *node.lines))


def _mermaid_edge(place: str, edge: PictureEdge, known: _Ids) -> str:
    source = "[*]" if edge.source == START else known.of(place, edge.source)
    outcome = edge.target.removeprefix("end:") if edge.target.startswith("end:") else ""
    goal = "[*]" if outcome else known.of(place, edge.target)
    lines = [text(line) for label in edge.labels for line in (*label.exits, *label.more)]
    if edge.style == "spawn" and edge.target.startswith("group:"):
        lines.append("spawns")
    lines += [f"⇒ {text(outcome)}"] if outcome else []
    return f"{source} --> {goal}" + (f" : {'<br/>'.join(lines)}" if lines else "")


_SPECIAL: Final = re.compile(r'["#;:<>&%{}\[\]\\`]')


def text(plain: str) -> str:
    """Escape text for Mermaid: its special characters become character codes."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", " ".join(plain.split()))
