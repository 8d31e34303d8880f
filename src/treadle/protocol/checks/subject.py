"""What a check looks at: the protocol, its flows, who starts whom, and how a finding is written."""

import re
from collections.abc import Callable
from functools import cached_property

import msgspec

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.known import Known, known_slots
from treadle.protocol.checks.sites import Site, sites_of
from treadle.protocol.findings import Finding, Level, Place
from treadle.protocol.model import Protocol, Step, base_of
from treadle.protocol.signals import sent

_COPY = re.compile(r"[A-Za-z0-9_-]+(?:@[A-Za-z0-9_-]+)+")
Places = Callable[[str], Place]


class Subject:
    """A protocol under examination."""

    def __init__(self, protocol: Protocol, places: Places | None) -> None:
        self.protocol = protocol
        self._places = places or (lambda _: Place(protocol.name))

    def finding(
        self, check: int, where: str, path: str, message: str, hint: str = "", *, level: Level = "error", line: int = 0
    ) -> Finding:
        """Say what is wrong; `path` is the dotted path that decides the line, `line` counts inside that file."""
        place = self._places(path)
        if line:
            place = msgspec.structs.replace(place, line=line, column=0)
        where, message, hint = (self._as_written(text) for text in (where, message, hint))
        return Finding(place, where, message, hint, check, level)

    def _as_written(self, text: str) -> str:
        """The text with gates called as the file calls them: `stuck` and not `stuck@impl`; what it quotes stays."""
        parts = text.split("`") if self._copies and "@" in text else [text]
        parts[::2] = [_COPY.sub(lambda found: self._copies.get(found[0], found[0]), part) for part in parts[::2]]
        return "`".join(parts)

    @cached_property
    def _copies(self) -> dict[str, str]:
        """The copies that the loader makes of gates, as far as nobody speaks of one by that name."""
        graphs = self.protocol.graphs.values()
        spoken = {need.step for graph in graphs for step in graph.steps.values() for need in step.needs}
        steps = [name for graph in graphs for name in graph.steps]
        return {name: base_of(name) for name in steps if "@" in name and name not in spoken}

    @cached_property
    def flows(self) -> dict[str, Flow]:
        return {name: Flow(self.protocol, name, graph) for name, graph in self.protocol.graphs.items()}

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return tuple(site for flow in self.flows.values() for site in sites_of(flow))

    def parents(self, graph: str) -> list[str]:
        """The graphs that can start instances of a graph."""
        return list(dict.fromkeys(site.parent for site in self.sites if site.child == graph))

    def children(self, graph: str) -> list[str]:
        """The graphs whose instances a graph can start, as far as they exist."""
        found = dict.fromkeys(site.child for site in self.sites if site.parent == graph)
        return [child for child in found if child in self.protocol.graphs]

    def siblings(self, graph: str) -> list[str]:
        """The graphs whose instances can be in one group with one of this graph."""
        groups = {(site.parent, site.group) for site in self.sites if site.child == graph}
        found = dict.fromkeys(site.child for site in self.sites if (site.parent, site.group) in groups)
        return [child for child in found if child in self.protocol.graphs]

    @cached_property
    def sent(self) -> frozenset[str]:
        """The signals that some graph sends or asks; all others come from outside."""
        return sent(flow.graph for flow in self.flows.values())

    def template_of(self, step: Step) -> str:
        """The template of a step: its own, its mode's, or its role's; empty if it has none."""
        role = self.protocol.roles.get(step.role)
        mode = role.modes.get(step.mode) if role else None
        return step.template or (mode.template if mode else "") or (role.template if role else "")

    @cached_property
    def known(self) -> dict[str, Known]:
        """For each graph, what has certainly been written when a step of it starts."""
        return {name: known_slots(flow, self.sites, self.flows) for name, flow in self.flows.items()}

    @cached_property
    def live_graphs(self) -> list[str]:
        """The graphs that a run can come to, the root first."""
        found = [self.protocol.root] if self.protocol.root in self.protocol.graphs else []
        for graph in found:
            found += [child for child in self.children(graph) if child not in found]
        return found
