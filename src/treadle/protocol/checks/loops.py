"""Check 9: every loop is bounded by a budget that nothing in it refills, by attempts, or by a person.

In a strongly connected part, an edge that charges a budget can be taken only so often unless some step of that part
refills the budget. Such edges are taken out, and what is left is looked at again, part by part: the budgets found on
the way down form a lexicographic ranking that every walk through the graph lowers. A part that is still a loop when
no edge can be taken out is one that an unlucky run never leaves.

A handler that redirects (`^step`) closes loops as well: its signal can come at any time, so every main step is taken
to lead to it. One that resumes does not, unless it starts the children anew that it was told of: the work goes on where
it was. Nor does a signal that no graph sends: it comes
from outside, each time by somebody's will.
"""

from collections.abc import Iterator
from typing import NamedTuple

from treadle.protocol.checks.components import components, shortest_cycle
from treadle.protocol.checks.flow import TRYING_KINDS, Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Spawn, base_of


class Arc(NamedTuple):
    """An edge of the loop analysis: a row, or the interruption of a main step by a signal."""

    source: str
    goal: str
    label: str
    charges: str = ""
    path: str = ""


def loops_are_bounded(subject: Subject) -> Iterator[Finding]:
    """9. No walk through a graph goes on for ever without a person."""
    for flow in subject.flows.values():
        for cycle, charged in _unbounded(flow, _arcs(flow, subject.sent)):
            circle = " → ".join([*_shortened([arc.source for arc in cycle]), cycle[0].source])
            message = f"unbounded loop {circle}, by {', '.join(_shortened([arc.label for arc in cycle]))}"
            path = next((arc.path for arc in cycle if arc.path), f"graphs.{flow.name}")
            yield subject.finding(9, flow.name, path, message, _hint(charged))


def _hint(charged: set[str]) -> str:
    if charged:
        return f"budget '{min(charged)}' is refilled inside the loop; charge one that is not"
    return "charge a budget on one of these edges, or lead it through a person"


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= 6 else [*names[:6], "…"]


def _arcs(flow: Flow, sent: frozenset[str]) -> list[Arc]:
    arcs = [
        Arc(edge.step, edge.lands_at, str(edge), edge.charges, edge.path)
        for edge in flow.edges
        if edge.lands_at in flow.graph.steps and not _bounded(flow, edge)
    ]
    redirecting = {edge.step for edge in flow.redirects}
    for signal, steps in flow.handled.items():
        if steps & redirecting and (signal in sent or signal.startswith("child:")):
            entry = flow.graph.handlers[signal].step
            main = [name for name in flow.graph.steps if name in flow.main]
            arcs += [
                Arc(name, entry, f"signal {signal}", path=f"graphs.{flow.name}.handlers.{signal}") for name in main
            ]
    return arcs + [arc for signal in flow.handled for arc in _respawns(flow, signal)]


def _respawns(flow: Flow, signal: str) -> Iterator[Arc]:
    """The handler of a failed child that starts children again may have to do so again."""
    for edge in flow.edges if signal.startswith("child:") else ():
        person = flow.graph.steps[edge.step].asks == "human"
        spawns = any(isinstance(action, Spawn) for action in edge.actions)
        if edge.step in flow.handled[signal] and edge.to.kind == "resume" and spawns and not person:
            yield Arc(edge.step, flow.graph.handlers[signal].step, f"{edge}, {signal}", edge.charges, edge.path)


def _bounded(flow: Flow, edge: Edge) -> bool:
    """Whether an edge is taken a bounded number of times by itself: a person decides, or attempts run out."""
    source, goal = flow.graph.steps[edge.step], flow.graph.steps[edge.lands_at]
    if source.kind == "ask" and source.asks != "parent" and edge.key != source.default:
        return True
    if edge.lands_at == edge.step:
        return source.kind in TRYING_KINDS and not edge.row.fresh and not edge.over
    return any(wait.kind == "manual" for wait in goal.wait)


def _unbounded(flow: Flow, arcs: list[Arc]) -> Iterator[tuple[list[Arc], set[str]]]:
    for part in components(flow.graph.steps, arcs):
        inner = [arc for arc in arcs if arc.source in part and arc.goal in part]
        charged = {arc.charges for arc in inner if arc.charges in flow.graph.budgets}
        bounding = {name for name in charged if not _refills(flow, part, name)}
        if bounding:
            yield from _unbounded(flow, [arc for arc in inner if arc.charges not in bounding])
        elif inner:
            yield shortest_cycle(inner), charged


def _refills(flow: Flow, part: frozenset[str], budget: str) -> bool:
    resets = flow.graph.budgets[budget].resets
    return any(step in resets or base_of(step) in resets for step in part)
