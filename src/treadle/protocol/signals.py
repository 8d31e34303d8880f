"""Signals: which of them a protocol sends itself, and which somebody outside may send."""

from collections.abc import Iterable
from typing import Literal

from treadle.protocol.model import Graph, Protocol, Send

News = Literal["none", "may", "must"]
"""Whether a text comes with a signal from outside."""


def sent(graphs: Iterable[Graph]) -> frozenset[str]:
    """The signals that some graph sends or asks; all others come from outside."""
    found: set[str] = set()
    for graph in graphs:
        rows = [row for step in graph.steps.values() for rows in step.routes.values() for row in rows]
        rows += [row for rows in graph.system.values() for row in rows]
        found |= {action.signal for row in rows for action in row.do if isinstance(action, Send)}
        found |= {step.signal for step in graph.steps.values() if step.kind == "ask"}
    return frozenset(found)


def from_outside(protocol: Protocol, graph: str) -> dict[str, News]:
    """What somebody outside may send to an instance, and whether with a text.

    News of children are the kernel's to tell, and whoever asks by a signal must be there to hear the answer. What a
    protocol sends itself brings data of a form that its steps rely on, so from outside it comes without any.
    """
    own = sent(protocol.graphs.values())
    found: dict[str, News] = {}
    for name, handler in protocol.graphs[graph].handlers.items():
        if name.startswith("child:") or handler.reply:
            continue
        is_read = protocol.graphs[graph].steps[handler.step].kind in ("agent", "ask")
        found[name] = "none" if name in own else "must" if is_read else "may"
    return found
