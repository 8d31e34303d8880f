"""Which slots have certainly been written when a step starts.

A forward analysis over the edges of a graph. What is known at a step is what every way to it has written; slots are
never taken back. A handler may start whenever the main work is at a safe point, so it knows what is known at every
main step; where its signal can only come from a child, it knows what was known when the children were started. What a
handler redirects goes on with what the handler knows. A person's command may send the main work to its step at any
time, but only when the slots that the step itself requires are there.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.sites import Site
from treadle.protocol.model import Need

Known = dict[str, frozenset[str]]
"""What has certainly been written when a step starts; steps that are never reached are absent."""


class Way(NamedTuple):
    """How facts travel: from a step to a step, with what is written on the way."""

    source: str
    goal: str
    writes: frozenset[str]
    label: str


def known_slots(flow: Flow, sites: Iterable[Site], flows: Mapping[str, Flow]) -> Known:
    """The greatest solution: start from the entry, and meet at every step until nothing changes."""
    steps = flow.graph.steps
    if flow.graph.start not in steps:
        return {}
    leaving: dict[str, list[Way]] = {}
    for way in ways(flow, sites, flows):
        leaving.setdefault(way.source, []).append(way)
    known: Known = {flow.graph.start: frozenset()}
    todo = [flow.graph.start]
    while todo:
        name = todo.pop()
        for way in leaving.get(name, ()):
            arriving = known[name] | way.writes
            merged = known[way.goal] & arriving if way.goal in known else arriving
            if merged != known.get(way.goal):
                known[way.goal] = merged
                todo.append(way.goal)
    return known


def ways(flow: Flow, sites: Iterable[Site], flows: Mapping[str, Flow]) -> list[Way]:
    """Every way by which facts travel in a graph: its edges, and the start of its handlers."""
    steps = flow.graph.steps
    found = [Way(edge.step, edge.lands_at, edge.slots, str(edge)) for edge in flow.edges if edge.lands_at in steps]
    own = [site for site in sites if site.parent == flow.name]
    for signal, handler in flow.graph.handlers.items():
        if handler.step not in steps or handler.step in flow.main:
            continue
        label = f"the handler of '{signal}'"
        causes = _causes(flow, signal, own, flows)
        found += [Way(site.step, handler.step, site.writes, label) for site in causes]
        if not causes:
            main = [name for name in steps if name in flow.main]
            found += [Way(name, handler.step, frozenset(), f"{label}, which may start at any time") for name in main]
    for command, goal in ((name, goal) for name, goals in flow.graph.led.items() for goal in goals):
        if goal in steps:
            required = frozenset(need.slot for need in steps[goal].needs if is_required(need))
            found += [Way(name, goal, required, f"the command '{command}'") for name in steps if name in flow.main]
    return found


def witness(found: Iterable[Way], start: str, goal: str, slot: str) -> list[str]:
    """How a run can come from the start to a step without writing a slot, as the shortest list of what it takes."""
    leaving: dict[str, list[Way]] = {}
    for way in found:
        if slot not in way.writes:
            leaving.setdefault(way.source, []).append(way)
    taken: dict[str, list[str]] = {start: []}
    todo = [start]
    for name in todo:
        for way in leaving.get(name, ()):
            if way.goal not in taken:
                taken[way.goal] = [*taken[name], way.label]
                todo.append(way.goal)
    return taken.get(goal, [])


def is_required(need: Need) -> bool:
    """Whether a slot of the instance itself must be there before the reader starts."""
    return bool(need.step) and not (need.optional or need.every or need.up)


def _causes(flow: Flow, signal: str, sites: list[Site], flows: Mapping[str, Flow]) -> list[Site]:
    """The sites whose children alone can cause a signal; none if it may also come from elsewhere."""
    if signal.startswith("child:"):
        return [site for site in sites if site.edge]
    if not flow.graph.handlers[signal].reply:
        return []
    return [site for site in sites if site.child in flows and _asks(flows[site.child], signal)]


def _asks(flow: Flow, signal: str) -> bool:
    return any(step.asks == "parent" and step.signal == signal for step in flow.graph.steps.values())
