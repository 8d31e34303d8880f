"""The reach of a run: the steps on some path from its start, as far as its input decides."""

from collections.abc import Collection, Mapping
from typing import Final

from treadle.protocol.checks.subject import Flow, Site
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, sent_signals

Reach = Mapping[str, frozenset[str]]
"""Graph → those of its steps that a run can come to; a graph that no run comes to is not in it."""
_NEWS: Final = "child:"


def reach(protocol: Protocol, given: Json = None) -> dict[str, frozenset[str]]:
    """Return the steps that a run with this input can reach by itself; without an input, those that any run can reach.

    A delivery can resume an ended run. The steps it then reaches are left out, because no project must provide for them
    before the run.
    """
    flows = {name: Flow(protocol, name, graph) for name, graph in protocol.graphs.items()}
    idle = _idle_maps(protocol, given, flows) if isinstance(given, dict) else ()
    unheard = frozenset[str]() if given is None else _delivery_signals(protocol)
    found: dict[str, frozenset[str]] = {}
    todo = [protocol.root]
    while todo:
        name = todo.pop()
        if name in flows and name not in found:
            sites = [site for site in flows[name].sites if name != protocol.root or site.step not in idle]
            found[name] = _steps(flows[name], sites, unheard)
            todo += [site.child for site in sites if site.step in found[name]]
    return found


def roles(protocol: Protocol, within: Reach) -> frozenset[str]:
    """Return the roles of the agent steps within reach."""
    steps = (protocol.graphs[graph].steps[name] for graph, names in within.items() for name in names)
    return frozenset(step.role for step in steps if step.kind == "agent")


def _idle_maps(protocol: Protocol, given: dict[str, Json], flows: Mapping[str, Flow]) -> Collection[str]:
    """Return the root's maps over empty lists of the input: they start no children."""
    # Where some step starts instances of the root, these have another input than the run.
    if any(site.child == protocol.root for flow in flows.values() for site in flow.sites):
        return ()
    steps = protocol.graphs[protocol.root].steps
    return [name for name, step in steps.items() if step.input_list and not given.get(step.input_list)]


def _delivery_signals(protocol: Protocol) -> frozenset[str]:
    """Return the signals that only a delivery can send: no graph sends them, and the root answers by a rebase."""
    root = protocol.graphs[protocol.root]
    found = {signal for signal, it in root.handlers.items() if root.steps[it.step].effect == "rebase"}
    return frozenset(found - sent_signals(protocol.graphs.values()))


def _steps(flow: Flow, sites: Collection[Site], unheard: frozenset[str]) -> frozenset[str]:
    """Return the steps reachable from start, commands and redirects; `child:` handlers run only with children."""
    graph = flow.graph
    found = flow.reach([graph.start, *graph.commanded])
    while True:
        has_children = any(site.step in found for site in sites)
        heard = [signal for signal in graph.handlers if has_children or not signal.startswith(_NEWS)]
        handled = flow.reach(graph.handlers[signal].step for signal in heard if signal not in unheard)
        elsewhere = [edge.to.name for step in handled for edge in flow.out[step] if edge.to.kind == "redirect"]
        more = found | flow.reach(elsewhere)
        if more == found:
            return found | handled
        found = more
