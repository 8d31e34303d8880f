"""The subject of the checks: a protocol, its graphs as edges, the sites that start children, and the known slots."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

import msgspec

from treadle.protocol.findings import Finding, Level, Place
from treadle.protocol.model import (
    Action,
    Exit,
    Graph,
    Need,
    Protocol,
    Route,
    Rows,
    Spawn,
    Step,
    Target,
    base_of,
    exit_keys,
    row,
    sent_signals,
    system_keys,
    tag_of,
    target,
)

# A graph as its edges: every possible row, its target, and the steps of each handler.

TRYING_KINDS: Final = frozenset({"agent", "effect", "check"})
"""The kinds of steps with self-routes that count as attempts."""


class Edge(NamedTuple):
    """A row as one step takes it. `over` marks the edge for a spent budget."""

    step: str
    key: str
    row: Route
    to: Target
    path: str
    over: bool = False

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions on the way; a row with a spent budget only leads elsewhere."""
        return () if self.over else self.row.do

    @property
    def charges(self) -> str:
        return "" if self.over else self.row.charge

    @property
    def syncs(self) -> bool:
        return self.row.sync and not self.over

    @property
    def name(self) -> str:
        """How the table calls its row: `!*` for a failure that has no row of its own."""
        own = self.path.partition(".routes.")[2] or self.path.partition(".system.")[2]
        return own or self.key

    @property
    def is_system(self) -> bool:
        return self.key.startswith("!")

    @property
    def lands_at(self) -> str:
        """The step it leads to, in its own frame or (`^`) in the interrupted one; empty if none."""
        return self.to.name if self.to.kind in ("step", "redirect") else ""

    @property
    def slots(self) -> frozenset[str]:
        """The slots that this edge writes."""
        return frozenset() if self.is_system else frozenset({f"{self.step}.{tag_of(self.key)}"})

    def __str__(self) -> str:
        return f"{self.step}.{self.key}" + (f" (over '{self.row.charge}')" if self.over else "")


class Site(NamedTuple):
    """A place where a graph starts instances of a graph: an edge that spawns, or a step that maps."""

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
        """The slots that the step has written by the time the children start."""
        return self.edge.slots if self.edge else frozenset()


class RowTable(NamedTuple):
    """The rows of one key: of a step, or of the graph's `system` (then without a step)."""

    step: str
    key: str
    rows: Rows
    where: str
    path: str


class Flow:
    """The edges of one graph."""

    def __init__(self, protocol: Protocol, name: str, graph: Graph) -> None:
        self.protocol, self.name, self.graph = protocol, name, graph
        self._keys: dict[str, list[str]] = {}
        self.out: dict[str, tuple[Edge, ...]] = {step: tuple(self._edges(step)) for step in graph.steps}

    @property
    def edges(self) -> Iterator[Edge]:
        for edges in self.out.values():
            yield from edges

    @cached_property
    def tables(self) -> list[RowTable]:
        """All rows as they are written, those of the steps first."""
        own = [
            RowTable(name, key, rows, f"{self.name}.{base_of(name)}", f"{step_path(self.name, name)}.routes.{key}")
            for name, step in self.graph.steps.items()
            for key, rows in step.routes.items()
        ]
        common = self.graph.system.items()
        return own + [RowTable("", key, rows, self.name, f"graphs.{self.name}.system.{key}") for key, rows in common]

    @cached_property
    def sites(self) -> list[Site]:
        """The places where the graph starts instances."""
        found: list[Site] = []
        for name, step in self.graph.steps.items():
            if step.kind == "map":
                found.append(Site(self.name, step.graph, name, name, step.over))
            for edge in self.out[name]:
                spawns = [action for action in edge.actions if isinstance(action, Spawn)]
                found += [Site(self.name, spawn.graph, spawn.group, name, spawn.over, edge) for spawn in spawns]
        return found

    def keys(self, name: str) -> list[str]:
        """Return the routing keys of a step: its exits, its failures, the keys of spent attempts, and refined rows."""
        if name not in self._keys:
            step = self.graph.steps[name]
            keys = [*exit_keys(self.protocol, step), *self.failures(name)]
            if name in self._retrying:
                keys += [becomes.key for becomes in step.becomes]
            known = {tag_of(key) for key in keys}
            refined = [key for key in (*step.routes, *self.graph.system) if "." in key and tag_of(key) in known]
            self._keys[name] = list(dict.fromkeys([*keys, *refined]))
        return self._keys[name]

    def failures(self, name: str) -> list[str]:
        """The system exits that can happen to a step.

        `!exhausted` only where attempts can run out into it; `!gate` also where a spawn can be refused for its size.
        """
        step = self.graph.steps[name]
        keys = [key for key in system_keys(step) if key != "!exhausted"]
        if "!gate" not in keys and step.kind in TRYING_KINDS:
            actions = [action for rows in step.routes.values() for way in rows for action in way.do]
            if any(isinstance(action, Spawn) for action in actions):
                keys.append("!gate")
        if name in self._retrying and any(becomes.key == "!exhausted" for becomes in step.becomes):
            keys.append("!exhausted")
        return keys

    @cached_property
    def _retrying(self) -> frozenset[str]:
        """The steps that can lead to themselves in a way that counts as an attempt."""
        found = set()
        for name, step in self.graph.steps.items():
            keys = [*exit_keys(self.protocol, step), *system_keys(step), *step.routes]
            rows = (way for key in keys for way in row(self.graph, name, key) or ())
            if step.kind in TRYING_KINDS and any(way.to == name and not way.fresh for way in rows):
                found.add(name)
        return frozenset(found)

    def _edges(self, name: str) -> Iterator[Edge]:
        own = self.graph.steps[name].routes
        shown = {key: tag_of(key) if key not in own and not key.startswith("!") else key for key in self.keys(name)}
        for key in dict.fromkeys(shown.values()):
            path = self._rows_path(name, key)
            for way in row(self.graph, name, key) or ():
                yield Edge(name, key, way, target(way.to), path)
                budget = self.graph.budgets.get(way.charge)
                if over := way.over or (budget.to if budget else ""):
                    yield Edge(name, key, way, target(over), path, over=True)

    def _rows_path(self, name: str, key: str) -> str:
        """The dotted path of the rows that apply to a key, in the order in which `row` looks for them."""
        routes, system = self.graph.steps[name].routes, self.graph.system
        for own in (key, tag_of(key), "!*" if key.startswith("!") else key):
            if own in routes:
                return f"{step_path(self.name, name)}.routes.{own}"
        for common in (key, tag_of(key), "!crash" if tag_of(key) in ("!blocked", "!store") else "!*", "!*"):
            if common in system:
                return f"graphs.{self.name}.system.{common}"
        return step_path(self.name, name)

    def walk(self, starts: Iterable[str], follows: Callable[[Edge], bool]) -> Iterator[str]:
        """The steps that edges lead to from these, the nearest first, along the edges that are to be followed."""
        todo = list(dict.fromkeys(start for start in starts if start in self.graph.steps))
        seen = set(todo)
        for name in todo:  # grows while it is walked
            yield name
            for edge in self.out[name]:
                goal = edge.lands_at
                if goal in self.graph.steps and goal not in seen and follows(edge):
                    seen.add(goal)
                    todo.append(goal)

    def reach(self, starts: Iterable[str]) -> frozenset[str]:
        """The steps that a frame can come to from these, without leaving it."""
        return frozenset(self.walk(starts, lambda edge: edge.to.kind == "step"))

    @cached_property
    def handled(self) -> dict[str, frozenset[str]]:
        """The steps of each handler."""
        return {signal: self.reach([handler.step]) for signal, handler in self.graph.handlers.items()}

    @cached_property
    def handler_steps(self) -> frozenset[str]:
        return frozenset().union(*self.handled.values())

    @cached_property
    def redirects(self) -> tuple[Edge, ...]:
        """The edges by which a handler moves the interrupted work elsewhere."""
        return tuple(edge for edge in self.edges if edge.to.kind == "redirect" and edge.step in self.handler_steps)

    @cached_property
    def main(self) -> frozenset[str]:
        """The steps of the main frame: from the start, from where handlers redirect it, and where commands send it."""
        redirected = [edge.to.name for edge in self.redirects]
        return self.reach([self.graph.start, *redirected, *self.graph.commanded])


def step_path(graph: str, step: str) -> str:
    """The dotted path of a step; a cloned ask stands where the original does."""
    return f"graphs.{graph}.steps.{base_of(step)}"


def declared_exits(protocol: Protocol, step: Step) -> dict[str, Exit]:
    """The exits of a step, without those that check 3 finds undeclared."""
    return {tag: protocol.exits[tag] for tag in step.exits if tag in protocol.exits}


def agents(graph: Graph) -> list[str]:
    """The agent steps of a graph."""
    return [name for name, step in graph.steps.items() if step.kind == "agent"]


# The slots certainly written when a step starts.
#
# A forward analysis over the edges of a graph. The slots known at a step are those that every path to it has written;
# slots are never unwritten. A handler may start whenever the main work is at a safe point, so it knows only the slots
# known at every main step; where its signal can only come from a child, it knows the slots known when the children
# started. A redirect continues with the handler's slots. A person's command may send the main work to its step at any
# time, but only when the slots that the step itself requires are there.

Known = dict[str, frozenset[str]]
"""Step → the slots certainly written when it starts; unreachable steps are absent."""


class FactPath(NamedTuple):
    """A path of facts from one step to another, with the slots written on the way."""

    source: str
    goal: str
    writes: frozenset[str]
    label: str


def known_slots(subject: "ProtocolSubject", flow: Flow) -> Known:
    """The greatest solution: start from the entry, and meet at every step until nothing changes."""
    steps = flow.graph.steps
    if flow.graph.start not in steps:
        return {}
    leaving: dict[str, list[FactPath]] = {}
    for way in fact_paths(subject, flow):
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


def fact_paths(subject: "ProtocolSubject", flow: Flow) -> list[FactPath]:
    """Every way by which facts travel in a graph: its edges, and the start of its handlers."""
    steps = flow.graph.steps
    found = [FactPath(edge.step, edge.lands_at, edge.slots, str(edge)) for edge in flow.edges if edge.lands_at in steps]
    main = [name for name in steps if name in flow.main]
    for signal, handler in flow.graph.handlers.items():
        if handler.step not in steps or handler.step in flow.main:
            continue
        label = f"the handler of '{signal}'"
        causes = _causes(subject, flow, signal)
        found += [FactPath(site.step, handler.step, site.writes, label) for site in causes]
        if not causes:
            label += ", which may start at any time"
            found += [FactPath(name, handler.step, frozenset(), label) for name in main]
    for command, goal in ((name, goal) for name, goals in flow.graph.led.items() for goal in goals):
        if goal in steps:
            required = frozenset(need.slot for need in steps[goal].needs if is_required(need))
            found += [FactPath(name, goal, required, f"the command '{command}'") for name in main]
    return found


def is_required(need: Need) -> bool:
    """Whether a slot of the instance itself must be there before the reader starts."""
    return bool(need.step) and not (need.optional or need.every or need.up)


def _causes(subject: "ProtocolSubject", flow: Flow, signal: str) -> list[Site]:
    """Return the sites that alone can cause a signal, by their children; empty if it may also come from elsewhere."""
    if signal.startswith("child:"):
        return [site for site in flow.sites if site.edge]
    if not flow.graph.handlers[signal].reply:
        return []
    asking = {other.name for other, _, step in subject.steps() if step.asks == "parent" and step.signal == signal}
    return [site for site in flow.sites if site.child in asking]


_COPY = re.compile(r"[A-Za-z0-9_-]+(?:@[A-Za-z0-9_-]+)+")
Places = Callable[[str], Place]


class ProtocolSubject:
    """A protocol under examination."""

    def __init__(self, protocol: Protocol, places: Places | None) -> None:
        self.protocol = protocol
        self._places = places or (lambda _: Place(protocol.name))

    def finding(
        self, check: int, where: str, path: str, message: str, hint: str = "", *, level: Level = "error", line: int = 0
    ) -> Finding:
        """Return a finding; `path` is the dotted path that decides the line, `line` counts inside that file."""
        place = self._places(path)
        if line:
            place = msgspec.structs.replace(place, line=line, column=0)
        where, message, hint = (self._as_written(text) for text in (where, message, hint))
        return Finding(place, where, message, hint, check, level)

    def at_step(
        self, check: int, flow: Flow, name: str, message: str, hint: str, part: str = "", *, level: Level = "error"
    ) -> Finding:
        """Return a finding about a step, or about one of its parts, such as `gates`."""
        path = step_path(flow.name, name) + (f".{part}" if part else "")
        return self.finding(check, f"{flow.name}.{name}", path, message, hint, level=level)

    def at_edge(self, check: int, flow: Flow, edge: Edge, message: str, hint: str) -> Finding:
        """Return a finding about a row of a step's table."""
        return self.finding(check, f"{flow.name}.{edge.step}", edge.path, message, hint)

    def _as_written(self, text: str) -> str:
        """Return a text with gates named as in the file, `stuck` and not `stuck@impl`; text in backticks stays."""
        parts = text.split("`") if self._copies and "@" in text else [text]
        parts[::2] = [_COPY.sub(lambda found: self._copies.get(found[0], found[0]), part) for part in parts[::2]]
        return "`".join(parts)

    @cached_property
    def _copies(self) -> dict[str, str]:
        """The loader's copies of gates → their original names, except copies that some step names in its needs."""
        graphs = self.protocol.graphs.values()
        spoken = {need.step for graph in graphs for step in graph.steps.values() for need in step.needs}
        steps = [name for graph in graphs for name in graph.steps]
        return {name: base_of(name) for name in steps if "@" in name and name not in spoken}

    @cached_property
    def flows(self) -> dict[str, Flow]:
        return {name: Flow(self.protocol, name, graph) for name, graph in self.protocol.graphs.items()}

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return tuple(site for flow in self.flows.values() for site in flow.sites)

    def steps(self) -> Iterator[tuple[Flow, str, Step]]:
        """Every step of every graph, with its name."""
        for flow in self.flows.values():
            for name, step in flow.graph.steps.items():
                yield flow, name, step

    def edges(self) -> Iterator[tuple[Flow, Edge]]:
        """Every edge of every graph."""
        for flow in self.flows.values():
            for edge in flow.edges:
                yield flow, edge

    def parents(self, graph: str) -> list[str]:
        """The graphs that can start instances of a graph."""
        return list(dict.fromkeys(site.parent for site in self.sites if site.child == graph))

    def children(self, graph: str) -> list[str]:
        """Return the existing graphs that a graph can start instances of."""
        found = dict.fromkeys(site.child for site in self.sites if site.parent == graph)
        return [child for child in found if child in self.protocol.graphs]

    def siblings(self, graph: str) -> list[str]:
        """Return the graphs that can have instances in one group with an instance of this graph."""
        groups = {(site.parent, site.group) for site in self.sites if site.child == graph}
        found = dict.fromkeys(site.child for site in self.sites if (site.parent, site.group) in groups)
        return [child for child in found if child in self.protocol.graphs]

    @cached_property
    def sent(self) -> frozenset[str]:
        """The signals that some graph sends or asks; all others come from outside."""
        return sent_signals(flow.graph for flow in self.flows.values())

    def template_of(self, step: Step) -> str:
        """The template of a step: its own, its mode's, or its role's; empty if it has none."""
        role = self.protocol.roles.get(step.role)
        mode = role.modes.get(step.mode) if role else None
        return step.template or (mode.template if mode else "") or (role.template if role else "")

    @cached_property
    def known(self) -> dict[str, Known]:
        """For each graph, the slots certainly written when each of its steps starts."""
        return {name: known_slots(self, flow) for name, flow in self.flows.items()}

    @cached_property
    def live_graphs(self) -> list[str]:
        """The graphs that a run can come to, the root first."""
        found = [self.protocol.root] if self.protocol.root in self.protocol.graphs else []
        for graph in found:
            found += [child for child in self.children(graph) if child not in found]
        return found
