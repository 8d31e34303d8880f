"""`@back`: a gate that leads back to whoever led there becomes one gate per caller, `gate@caller`.

Afterwards every edge is plain: analysis, replay and drawing need not know where a walk came from. A gate that leads to
another gate is a caller too (`halt@stuck@impl`); a gate that meets itself again on the way is that same clone. A gate
that a handler starts with goes back to the interrupted work. A gate that nobody leads to is left as it is.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from treadle.protocol.findings import Place
from treadle.protocol.model import Graph, Route, Rows, Step, row, system_keys, tag_of
from treadle.protocol.reading.part import Log, quoted

BACK: Final = "@back"
RESUMED: Final = "resume"
"""The caller of a gate that a handler starts with."""
MAX_CLONES: Final = 500


def cloned(graph: Graph, path: str, log: Log) -> Graph:
    """The graph with budgets' targets on the edges that charge them, and gates with `@back` cloned per caller."""
    graph = _with_over(graph)
    return _Cloner(graph, path, log).run()


def clone_name(gate: str, caller: str) -> str:
    """What a caller's own copy of a gate is called."""
    chain = caller.split("@")
    return "@".join(chain[chain.index(gate) :]) if gate in chain else f"{gate}@{caller}"


def _with_over(graph: Graph) -> Graph:
    def over(route: Route, step: str) -> Route:
        budget = graph.budgets.get(route.charge)
        if budget is None:
            return route
        own = clone_name(budget.to, step)
        to = own if budget.to not in graph.steps and own in graph.steps else budget.to
        return msgspec.structs.replace(route, over=to)

    def table(rows: dict[str, Rows], step: str) -> dict[str, Rows]:
        return {key: tuple(over(route, step) for route in routes) for key, routes in rows.items()}

    steps = {name: msgspec.structs.replace(step, routes=table(step.routes, name)) for name, step in graph.steps.items()}
    return msgspec.structs.replace(graph, steps=steps, system=table(graph.system, ""))


def _leads_back(step: Step) -> bool:
    return any(route.to == BACK for rows in step.routes.values() for route in rows)


def _lead_to(rows: Rows, gates: Collection[str]) -> bool:
    return any(route.to in gates or route.over in gates for route in rows)


class _Cloner:
    """Rewrites one graph, callers first, gates as they are met."""

    def __init__(self, graph: Graph, path: str, log: Log) -> None:
        self.graph, self.path, self.log = graph, path, log
        self.gates = {name for name, step in graph.steps.items() if step.kind == "ask" and _leads_back(step)}
        self.clones: dict[str, dict[str, Step]] = {}
        self.made: set[str] = set()
        self.pending: list[tuple[str, str]] = []

    def run(self) -> Graph:
        self._refuse()
        if not self.gates:
            return self.graph
        steps = {name: self._caller(name) for name in self.graph.steps if name not in self.gates}
        handlers = {
            signal: msgspec.structs.replace(handler, step=self._meet(handler.step, RESUMED))
            for signal, handler in self.graph.handlers.items()
        }
        self._clone_all()
        return msgspec.structs.replace(
            self.graph,
            steps=dict(self._in_order(steps)),
            handlers=handlers,
            system={key: rows for key, rows in self.graph.system.items() if not _lead_to(rows, self.clones)},
            budgets={
                name: msgspec.structs.replace(budget, resets=tuple(self._all(budget.resets)))
                for name, budget in self.graph.budgets.items()
            },
        )

    def _refuse(self) -> None:
        for name, step in self.graph.steps.items():
            if step.kind != "ask" and _leads_back(step):
                self._problem(f"steps.{name}.routes", "only an ask has a way @back", "name the step, or write @self")
            for rows in step.routes.values():
                for route in rows:
                    if route.to.removeprefix("^") in self.gates and route.to.startswith("^"):
                        self._problem(f"steps.{name}.routes", f"{quoted(route.to)} has no way @back", "name a step")
        if self.graph.start in self.gates:
            self._problem("start", f"the start {quoted(self.graph.start)} has nobody to go @back to", "name the step")
        for command, steps in self.graph.led.items():
            for to in steps:
                if to in self.gates:
                    self._problem(f"commands.{command}", f"{quoted(to)} has nobody to go @back to", "name another step")
        if RESUMED in self.graph.steps and any(handler.step in self.gates for handler in self.graph.handlers.values()):
            self._problem(f"steps.{RESUMED}", "this name is taken by the gates that handlers start with", "rename it")

    def _problem(self, path: str, message: str, hint: str) -> None:
        full = f"{self.path}.{path}"
        self.log.add(nearest(self.log.places, full), full, message, hint)

    def _meet(self, to: str, caller: str) -> str:
        """The target as this caller sees it; a gate's clone is made when it is first met."""
        if to not in self.gates:
            return to
        name = clone_name(to, caller)
        if name not in self.made:
            self.made.add(name)
            self.pending.append((to, caller))
        return name

    def _caller(self, name: str) -> Step:
        step = self.graph.steps[name]
        own = {key: self._rows(rows, name) for key, rows in step.routes.items()}
        return msgspec.structs.replace(step, routes={**own, **self._system_rows(name, step)})

    def _rows(self, rows: Rows, caller: str, back: str = BACK) -> Rows:
        return tuple(
            msgspec.structs.replace(
                route,
                to=back if route.to == BACK else self._meet(route.to, caller),
                over=self._meet(route.over, caller),
            )
            for route in rows
        )

    def _system_rows(self, name: str, step: Step) -> dict[str, Rows]:
        """The graph's rows for system exits, as the step's own where they lead to a gate."""
        happen = system_keys(step)
        refined = [key for key in self.graph.system if "." in key and tag_of(key) in happen]
        found = {}
        for key in (*happen, *refined):
            if key in step.routes or tag_of(key) in step.routes or "!*" in step.routes:
                continue
            rows = row(self.graph, name, key)
            if rows and _lead_to(rows, self.gates):
                found[key] = self._rows(rows, name)
                self._remember(name, key)
        return found

    def _remember(self, name: str, key: str) -> None:
        names = (key, tag_of(key), "!crash", "!*")
        source = next((one for one in names if one in self.graph.system), "")
        place = nearest(self.log.places, f"{self.path}.system.{source}")
        self.log.places[f"{self.path}.steps.{name}.routes.{key}"] = place

    def _clone_all(self) -> None:
        count = 0
        while self.pending:
            gate, caller = self.pending.pop(0)
            count += 1
            if count > MAX_CLONES:
                self._problem(
                    f"steps.{gate}", f"more than {MAX_CLONES} copies of gates", "let gates lead to fewer gates"
                )
                return
            name = clone_name(gate, caller)
            back = "@resume" if caller == RESUMED else caller
            step = self.graph.steps[gate]
            routes = {key: self._rows(rows, name, back) for key, rows in step.routes.items()}
            self.clones.setdefault(gate, {})[name] = msgspec.structs.replace(step, routes=routes)

    def _in_order(self, steps: dict[str, Step]) -> Iterator[tuple[str, Step]]:
        """The clones stand where the gate stood; a gate without callers stays."""
        for name, step in self.graph.steps.items():
            if name not in self.gates:
                yield name, steps[name]
            else:
                yield from self.clones.get(name, {name: step}).items()

    def _all(self, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            yield from self.clones.get(name, (name,))


def nearest(places: dict[str, Place], path: str) -> Place:
    """The place of a path, or of the nearest thing around it; a clone stands where its gate does."""
    if path in places:
        return places[path]
    match path.split("."):
        case ["graphs", graph, "steps", step, *rest] if "@" in step:
            return nearest(places, ".".join(["graphs", graph, "steps", step.partition("@")[0], *rest]))
    around = path.rpartition(".")[0]
    return nearest(places, around) if around else places.get("", Place(""))
