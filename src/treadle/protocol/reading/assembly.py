"""From the texts of a protocol's files to the model: includes, rules, overlays, then a strict reading, then clones."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.checks.names import unknown_besides
from treadle.protocol.findings import Finding, Place
from treadle.protocol.model import Graph, Protocol, Route, Rows, Step, own_row, row, system_keys, system_row, tag_of
from treadle.protocol.reading import overlay
from treadle.protocol.reading.fragments import FragmentLibrary, expand
from treadle.protocol.reading.parse import parse
from treadle.protocol.reading.part import Log, Part, quote_name
from treadle.protocol.reading.yaml import Node, fail, read_yaml
from treadle.protocol.rules.overrides import apply_rules, blame_rules
from treadle.protocol.templates import with_shared_templates

# `@back`: a gate that leads back to its caller becomes one gate per caller, `gate@caller`.
#
# Afterwards every edge is plain: analysis, replay and drawing need not know where a walk came from. A gate that leads
# to another gate is a caller too (`halt@stuck@impl`); a gate that meets itself again on the way is that same clone. A
# gate that a handler starts with goes back to the interrupted work. A gate without callers is left as it is.

BACK: Final = "@back"
RESUMED: Final = "resume"
"""The caller of a gate that a handler starts with."""
MAX_CLONES: Final = 500


def clone_gates(graph: Graph, path: str, log: Log) -> Graph:
    """The graph with budgets' targets on the edges that charge them, and gates with `@back` cloned per caller."""

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
    return _Cloner(msgspec.structs.replace(graph, steps=steps, system=table(graph.system, "")), path, log).run()


def clone_name(gate: str, caller: str) -> str:
    """Return the name of a caller's own copy of a gate."""
    chain = caller.split("@")
    return "@".join(chain[chain.index(gate) :]) if gate in chain else f"{gate}@{caller}"


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
        callers = {}
        for name, step in self.graph.steps.items():
            if name not in self.gates:
                own = {key: self._rows(rows, name) for key, rows in step.routes.items()}
                callers[name] = msgspec.structs.replace(step, routes=own | self._system_rows(name, step))
        handlers = {
            signal: msgspec.structs.replace(handler, step=self._meet(handler.step, RESUMED))
            for signal, handler in self.graph.handlers.items()
        }
        self._clone_all()
        # The clones stand where the gate stood; a gate without callers stays.
        steps: dict[str, Step] = {}
        for name, step in self.graph.steps.items():
            steps |= self.clones.get(name, {name: step}) if name in self.gates else {name: callers[name]}
        budgets = {}
        for name, budget in self.graph.budgets.items():
            resets = (clone for reset in budget.resets for clone in self.clones.get(reset, (reset,)))
            budgets[name] = msgspec.structs.replace(budget, resets=tuple(resets))
        system = {key: rows for key, rows in self.graph.system.items() if not _lead_to(rows, self.clones)}
        return msgspec.structs.replace(self.graph, steps=steps, handlers=handlers, system=system, budgets=budgets)

    def _refuse(self) -> None:
        for name, step in self.graph.steps.items():
            if step.kind != "ask" and _leads_back(step):
                self._problem(f"steps.{name}.routes", "only an ask has a way @back", "name the step, or write @self")
            for route in (route for rows in step.routes.values() for route in rows):
                if route.to.startswith("^") and route.to.removeprefix("^") in self.gates:
                    self._problem(f"steps.{name}.routes", f"{quote_name(route.to)} has no way @back", "name a step")
        if self.graph.start in self.gates:
            message = f"the start {quote_name(self.graph.start)} has nobody to go @back to"
            self._problem("start", message, "name the step")
        for command, steps in self.graph.led.items():
            for to in (step for step in steps if step in self.gates):
                message = f"{quote_name(to)} has nobody to go @back to"
                self._problem(f"commands.{command}", message, "name another step")
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

    def _rows(self, rows: Rows, caller: str, back: str = BACK) -> Rows:
        changed = []
        for route in rows:
            to = back if route.to == BACK else self._meet(route.to, caller)
            changed.append(msgspec.structs.replace(route, to=to, over=self._meet(route.over, caller)))
        return tuple(changed)

    def _system_rows(self, name: str, step: Step) -> dict[str, Rows]:
        """The graph's rows for system exits, as the step's own where they lead to a gate."""
        happen = system_keys(step)
        refined = [key for key in self.graph.system if "." in key and tag_of(key) in happen]
        found = {}
        for key in (*happen, *refined):
            if own_row(step, key):
                continue
            rows = row(self.graph, name, key)
            if rows and _lead_to(rows, self.gates):
                found[key] = self._rows(rows, name)
                # A finding about this row points at the graph's row that it was copied from.
                place = nearest(self.log.places, f"{self.path}.system.{system_row(self.graph, key)}")
                self.log.places[f"{self.path}.steps.{name}.routes.{key}"] = place
        return found

    def _clone_all(self) -> None:
        count = 0
        while self.pending:
            gate, caller = self.pending.pop(0)
            count += 1
            if count > MAX_CLONES:
                message = f"more than {MAX_CLONES} copies of gates"
                self._problem(f"steps.{gate}", message, "let gates lead to fewer gates")
                return
            name = clone_name(gate, caller)
            back = "@resume" if caller == RESUMED else caller
            step = self.graph.steps[gate]
            routes = {key: self._rows(rows, name, back) for key, rows in step.routes.items()}
            self.clones.setdefault(gate, {})[name] = msgspec.structs.replace(step, routes=routes)


def nearest(places: dict[str, Place], path: str) -> Place:
    """The place of a path, or of the nearest thing around it; a clone stands where its gate does."""
    if path in places:
        return places[path]
    match path.split("."):
        case ["graphs", graph, "steps", step, *rest] if "@" in step:
            return nearest(places, ".".join(["graphs", graph, "steps", step.partition("@")[0], *rest]))
    around = path.rpartition(".")[0]
    return nearest(places, around) if around else places.get("", Place(""))


MAIN: Final = "protocol.yaml"
TEMPLATES: Final = "templates/"
MAX_CHAIN: Final = 8


class Files(msgspec.Struct, frozen=True):
    """A protocol folder in memory: texts by path, how messages show the folder, and the name it goes by (if any)."""

    texts: dict[str, str]
    shown: str = ""
    name: str = ""

    def tree(self, path: str = MAIN) -> Node:
        """One of the YAML files, parsed."""
        if path not in self.texts:
            hint = f"a protocol is a folder with {MAIN} in it"
            fail(Place(self.show(path)), "there is no such file", hint, code="protocol.malformed")
        return read_yaml(self.texts[path], self.show(path))

    def show(self, path: str) -> str:
        """A file of the folder as messages name it."""
        return f"{self.shown}/{path}" if self.shown else path

    def templates(self) -> dict[str, str]:
        """The templates by their path below `templates/`."""
        return {path.removeprefix(TEMPLATES): text for path, text in self.texts.items() if path.startswith(TEMPLATES)}


class Sources(msgspec.Struct, frozen=True):
    """Where parts that lie outside the folder come from."""

    fragments: FragmentLibrary = FragmentLibrary(
        (), lambda name: fail(Place(name), "there are no fragments here", code="protocol.malformed")
    )
    base: Callable[[str, Place], tuple[Files, "Sources"]] = lambda _, place: fail(
        place, "there is no protocol to extend", code="protocol.malformed"
    )
    """The folder of a protocol by name; the place is that of the word that asks for it."""


class Changes(msgspec.Struct, frozen=True):
    """A project's changes to a protocol: overlays in order, templates by path, its own step rules."""

    overlays: tuple[Node, ...] = ()
    templates: dict[str, str] = {}
    shown: dict[str, str] = {}
    """The templates' files as messages name them."""
    rules: Node | None = None

    @property
    def files(self) -> frozenset[str]:
        """The project's files, as messages name them."""
        trees = (*self.overlays, *((self.rules,) if self.rules else ()))
        return frozenset(self.shown.values()) | {tree.place.file for tree in trees}


ALONE: Final = Sources()
UNCHANGED: Final = Changes()


class Loaded(msgspec.Struct, frozen=True):
    """A protocol, the places of its parts, and its form before its gates were cloned."""

    protocol: Protocol
    places: dict[str, Place]
    written: Protocol
    changes: Changes = UNCHANGED

    def relocate(self, findings: Iterable[Finding]) -> list[Finding]:
        """Move the findings that a project's rules caused to the lines of those rules, which it can repair."""
        rules = self.changes.rules
        return blame_rules(findings, rules, self.changes.files) if rules else list(findings)

    def place_of(self, path: str) -> Place:
        """Where a part stands (`graphs.node.steps.impl.routes.Stuck`), or the nearest thing around it."""
        return nearest(self.places, path)


def assemble(files: Files, sources: Sources = ALONE, changes: Changes = UNCHANGED) -> Loaded:
    """Build the protocol; everything that is wrong with it is raised together as one `ProtocolError`."""
    log = Log()
    _remember_places(sources.fragments.shown, log)
    tree, templates = _base_tree(files, sources, changes.rules, log, (files.shown,))
    log.settle(files.show(MAIN))
    for patch in changes.overlays:
        tree = overlay.apply(tree, patch, log)
    if "step_rules" in tree.entries:
        hint = "change the steps themselves, or the project's table of step rules"
        log.add(tree.key_place("step_rules"), "step_rules", "step rules are compiled before overlays apply", hint)
    tree = expand(tree, sources.fragments, log)
    log.settle(files.show(MAIN))
    log.places[""] = Place(tree.place.file, 1, 1)
    _remember_places(changes.shown, log)
    protocol = with_shared_templates(parse(tree, {**templates, **changes.templates}, log), sources.fragments.templates)
    runnable = with_clones(protocol, log)
    if files.name and files.name != protocol.name:
        _refuse_other_name(files, changes, protocol.name, log)
    if log.findings:
        log.findings += unknown_besides(runnable, log.misread, log.places, partial(nearest, log.places))
    log.settle(files.show(MAIN))
    return Loaded(runnable, log.places, protocol, changes)


def with_clones(written: Protocol, log: Log) -> Protocol:
    """The protocol that runs: every graph with its gates cloned per caller."""
    graphs = {name: clone_gates(graph, f"graphs.{name}", log) for name, graph in written.graphs.items()}
    return msgspec.structs.replace(written, graphs=graphs)


def load_files(texts: Mapping[str, str]) -> Protocol:
    """Load a protocol from the texts of its files, e.g. the output of `dump`."""
    return assemble(Files(dict(texts))).protocol


def _base_tree(
    files: Files, sources: Sources, rules: Node | None, log: Log, chain: tuple[str, ...]
) -> tuple[Node, dict[str, str]]:
    """The tree without includes and rules; a folder that extends another is an overlay with templates of its own."""
    tree = files.tree()
    if not isinstance(tree.value, dict):
        hint = "write `protocol: NAME`, then `root:`, `graphs:` and so on"
        fail(tree.place, "a protocol is a mapping", hint, code="protocol.malformed")
    own = files.templates()
    shown = {path: files.show(TEMPLATES + path) for path in own}
    if "extends" not in tree.entries:
        tree = _apply_step_rules(expand(tree, sources.fragments, log), files, rules, log)
        _remember_places(shown, log)
        return tree, own
    wanted = overlay.extends(tree, log)
    log.settle(files.show(MAIN))
    assert wanted is not None
    other, beside = sources.base(wanted.name, wanted.place)
    if len(chain) > MAX_CHAIN:
        message, hint = f"a chain of more than {MAX_CHAIN} protocols", "extend one that is nearer to its end"
        fail(wanted.place, message, hint, code="protocol.malformed")
    if other.shown in chain:
        circle = [folder.rpartition("/")[2] for folder in (*chain, other.shown)]
        fail(wanted.place, *extends_itself(circle), code="protocol.malformed")
    base, templates = _base_tree(other, beside, rules, log, (*chain, other.shown))
    tree = overlay.apply(base, tree, log)
    _remember_places(shown, log)
    return tree, {**templates, **own}


def _remember_places(templates: Mapping[str, str], log: Log) -> None:
    """Remember the files of templates; later ones are nearer to the project and replace earlier ones."""
    log.places |= {f"templates.{path}": Place(file) for path, file in templates.items()}


def extends_itself(circle: Sequence[str]) -> tuple[str, str]:
    """Return the message and the hint for protocols that extend each other in a circle."""
    return f"it extends itself: {' → '.join(circle)}", "extend another protocol"


def _refuse_other_name(files: Files, changes: Changes, name: str, log: Log) -> None:
    """A protocol is found by its folder and named by overlays, branches and pages as it calls itself."""
    main = files.show(MAIN)
    place = log.places.get("protocol", Place(main))
    if place.file in {patch.place.file for patch in changes.overlays}:
        hint = f"remove `protocol`; a protocol of its own is a folder that begins with `extends: {files.name}`"
        log.add(place, "protocol", f"an overlay cannot rename {quote_name(files.name)} to {quote_name(name)}", hint)
        return
    hint = f"write `protocol: {files.name}`, or rename the folder"
    message = f"the folder is called {quote_name(files.name)}, and the protocol {quote_name(name)}"
    log.add(place if place.file == main else Place(main, 1, 1), "protocol", message, hint)


def _apply_step_rules(tree: Node, files: Files, rules: Node | None, log: Log) -> Node:
    """Compile a table of step rules into the graph that `step_rules` names."""
    part = Part(tree, "the protocol", "", log).get("step_rules")
    if part is None:
        if rules is not None:
            log.add(rules.place, "step_rules", "this protocol has no step rules", "remove the file, or use an overlay")
        return tree
    part.known("file", "graph")
    graph, path = part.name_of("graph"), part.text("file")
    if graph not in tree.at("graphs").entries:
        part.problem(f"unknown graph {quote_name(graph)}", "write {file: step-rules.yaml, graph: NAME}")
        return tree
    if path not in files.texts:
        message = f"there is no file {quote_name(path)} in the protocol's folder"
        part.problem(message, "write {file: step-rules.yaml, …}")
        return tree
    try:
        return apply_rules(tree.without("step_rules"), graph, files.tree(path), rules, log)
    except ProtocolError as error:
        log.take(error)
        return tree
