"""Who starts whom: the edges that spawn and the steps that map."""

from collections.abc import Iterator
from typing import NamedTuple

from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.model import Spawn


class Site(NamedTuple):
    """A place where a graph starts instances of a graph."""

    parent: str
    child: str
    group: str
    step: str
    over: str
    edge: Edge | None = None
    """The edge that spawns; None for a map step."""

    @property
    def path(self) -> str:
        return self.edge.path if self.edge else step_path(self.parent, self.step)

    @property
    def writes(self) -> frozenset[str]:
        """What the step has written by the time the children start."""
        return self.edge.slots if self.edge else frozenset()


def sites_of(flow: Flow) -> Iterator[Site]:
    """The places of one graph where instances are started."""
    for name, step in flow.graph.steps.items():
        if step.kind == "map":
            yield Site(flow.name, step.graph, name, name, step.over)
        for edge in flow.out[name]:
            for action in edge.actions:
                if isinstance(action, Spawn):
                    yield Site(flow.name, action.graph, action.group, name, action.over, edge)
