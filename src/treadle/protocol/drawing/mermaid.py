"""A protocol as a Mermaid state diagram: a composite state per graph."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.drawing.picture import START, Edge, Node, Part, Picture, picture, step_id
from treadle.protocol.model import Protocol, base_of

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


def _graph(drawn: Picture, known: _Ids, live: set[tuple[str, str]]) -> Iterator[str]:
    yield f'  state "{text(drawn.title)}" as {known.of(drawn.graph, "")} {{'
    for number, part in enumerate(drawn.parts):
        place = f"{drawn.graph}_{number}" if number else drawn.graph
        yield from (f'    state "{_shown(node)}" as {known.of(place, node.id)}' for node in _states(part))
        yield from (f"    {_edge(place, edge, known)}" for edge in part.edges)
    yield "  }"
    for number, part in enumerate(drawn.parts):
        place = f"{drawn.graph}_{number}" if number else drawn.graph
        for node in _states(part):
            look = "live" if (drawn.graph, node.id) in live else node.kind
            if look in LOOKS:
                yield f"  class {known.of(place, node.id)} {look}"


def _states(part: Part) -> list[Node]:
    return [node for node in part.nodes if node.kind not in ("start", "end")]


def _shown(node: Node) -> str:
    mark = {"signal": "⚡ ", "resume": "↩ ", "group": "▣ ", "ask": "? "}.get(node.kind, "")
    return "<br/>".join(text(line) for line in (mark + node.title, *node.lines))


def _edge(place: str, edge: Edge, known: _Ids) -> str:
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
    """Text as Mermaid shows it: whatever has a meaning to it becomes a character code."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", " ".join(plain.split()))
