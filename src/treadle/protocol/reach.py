"""What a run can come to: the steps that lie on a way from its start, as far as its input tells."""

from collections.abc import Collection, Mapping
from typing import Final

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.sites import Site, sites_of
from treadle.protocol.items import Json
from treadle.protocol.model import Protocol, Step

Reach = Mapping[str, frozenset[str]]
"""Graph → those of its steps that a run can come to; a graph that no run comes to is not in it."""
_GIVEN: Final = "in."
_NEWS: Final = "child:"


def reach(protocol: Protocol, given: Json = None) -> dict[str, frozenset[str]]:
    """What a run with that input can come to; without one, what any run can."""
    flows = {name: Flow(protocol, name, graph) for name, graph in protocol.graphs.items()}
    idle = _idle(protocol, given)
    found: dict[str, frozenset[str]] = {}
    todo = [protocol.root]
    while todo:
        name = todo.pop()
        if name in flows and name not in found:
            sites = [site for site in sites_of(flows[name]) if name != protocol.root or site.step not in idle]
            found[name] = _steps(flows[name], sites)
            todo += [site.child for site in sites if site.step in found[name]]
    return found


def roles(protocol: Protocol, within: Reach) -> frozenset[str]:
    """The roles that somebody has to play."""
    steps = (protocol.graphs[graph].steps[name] for graph, names in within.items() for name in names)
    return frozenset(step.role for step in steps if step.kind == "agent")


def _idle(protocol: Protocol, given: Json) -> Collection[str]:
    """The maps of the root whose list is empty: they start nobody."""
    if not isinstance(given, dict) or _starts(protocol, protocol.root):
        return ()
    steps = protocol.graphs[protocol.root].steps
    return [name for name, step in steps.items() if _is_over_the_input(step) and not _listed(given, step)]


def _starts(protocol: Protocol, graph: str) -> bool:
    """Whether some step starts instances of a graph, which then have another input than the run."""
    flows = (Flow(protocol, name, one) for name, one in protocol.graphs.items())
    return any(site.child == graph for flow in flows for site in sites_of(flow))


def _is_over_the_input(step: Step) -> bool:
    return step.kind == "map" and step.over.startswith(_GIVEN)


def _listed(given: dict[str, Json], step: Step) -> bool:
    return bool(given.get(step.over.removeprefix(_GIVEN)))


def _steps(flow: Flow, sites: Collection[Site]) -> frozenset[str]:
    """From the start, from where commands lead and handlers redirect; who starts no children hears no news of any."""
    graph = flow.graph
    found = flow.reach([graph.start, *graph.commanded])
    while True:
        has_children = any(site.step in found for site in sites)
        heard = [it.step for signal, it in graph.handlers.items() if has_children or not signal.startswith(_NEWS)]
        handled = flow.reach(heard)
        elsewhere = [edge.to.name for step in handled for edge in flow.out[step] if edge.to.kind == "redirect"]
        more = found | flow.reach(elsewhere)
        if more == found:
            return found | handled
        found = more
