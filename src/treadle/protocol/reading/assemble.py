"""From the texts of a protocol's files to the model: includes, rules, overlays, then a strict reading, then clones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.checks.misread import unknown_besides
from treadle.protocol.findings import Finding, Place
from treadle.protocol.model import Protocol
from treadle.protocol.reading import overlay
from treadle.protocol.reading.clone import cloned, nearest
from treadle.protocol.reading.fragments import Library, expand, with_entry, without
from treadle.protocol.reading.parse import parse
from treadle.protocol.reading.part import Log, Part, quoted
from treadle.protocol.reading.shared import with_shared
from treadle.protocol.reading.source import Node, fail, read
from treadle.protocol.rules.apply import apply
from treadle.protocol.rules.blame import blamed
from treadle.protocol.rules.compile import weave

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
            fail(
                Place(self.show(path)),
                "there is no such file",
                f"a protocol is a folder with {MAIN} in it",
                code="protocol.malformed",
            )
        return read(self.texts[path], self.show(path))

    def show(self, path: str) -> str:
        """A file of the folder as messages name it."""
        return f"{self.shown}/{path}" if self.shown else path

    def templates(self) -> dict[str, str]:
        """The templates by their path below `templates/`."""
        return {path.removeprefix(TEMPLATES): text for path, text in self.texts.items() if path.startswith(TEMPLATES)}


class Sources(msgspec.Struct, frozen=True):
    """Where parts that lie outside the folder come from."""

    fragments: Library = Library(
        (), lambda name: fail(Place(name), "there are no fragments here", code="protocol.malformed")
    )
    base: Callable[[str, Place], tuple[Files, "Sources"]] = lambda _, place: fail(
        place, "there is no protocol to extend", code="protocol.malformed"
    )
    """The folder of a protocol by name; the place is that of the word that asks for it."""


class Changes(msgspec.Struct, frozen=True):
    """What a project changes in a protocol: overlays in order, templates by path, its own step rules."""

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
    """A protocol, where its parts stand, and what it was before its gates were cloned."""

    protocol: Protocol
    places: dict[str, Place]
    written: Protocol
    changes: Changes = UNCHANGED

    def told(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings as a project can mend them: what its rules have caused stands at their lines."""
        rules = self.changes.rules
        return blamed(findings, rules, self.changes.files) if rules else list(findings)

    def place_of(self, path: str) -> Place:
        """Where a part stands (`graphs.node.steps.impl.routes.Stuck`), or the nearest thing around it."""
        return nearest(self.places, path)


def assemble(files: Files, sources: Sources = ALONE, changes: Changes = UNCHANGED) -> Loaded:
    """Build the protocol; everything that is wrong with it is raised together as one `ProtocolError`."""
    log = Log()
    _locate(sources.fragments.shown, log)
    tree, templates = _based(files, sources, changes.rules, log, (files.shown,))
    log.settle(files.show(MAIN))
    for patch in changes.overlays:
        tree = overlay.apply(tree, patch, log)
    _no_late_rules(tree, log)
    tree = expand(tree, sources.fragments, log)
    log.settle(files.show(MAIN))
    log.places[""] = Place(tree.place.file, 1, 1)
    _locate(changes.shown, log)
    protocol = with_shared(parse(tree, {**templates, **changes.templates}, log), sources.fragments.templates)
    runnable = with_clones(protocol, log)
    _one_name(files, changes, protocol.name, log)
    if log.findings:
        log.findings += unknown_besides(runnable, log.misread, log.places, partial(nearest, log.places))
    log.settle(files.show(MAIN))
    return Loaded(runnable, log.places, protocol, changes)


def with_clones(written: Protocol, log: Log) -> Protocol:
    """The protocol that runs: every graph with its gates cloned per caller."""
    graphs = {name: cloned(graph, f"graphs.{name}", log) for name, graph in written.graphs.items()}
    return msgspec.structs.replace(written, graphs=graphs)


def load_files(texts: Mapping[str, str]) -> Protocol:
    """Load a protocol from the texts of its files, e.g. what `dump` gave."""
    return assemble(Files(dict(texts))).protocol


def _based(
    files: Files, sources: Sources, rules: Node | None, log: Log, chain: tuple[str, ...]
) -> tuple[Node, dict[str, str]]:
    """The tree without includes and rules; a folder that extends another is an overlay with templates of its own."""
    tree = files.tree()
    if not isinstance(tree.value, dict):
        fail(
            tree.place,
            "a protocol is a mapping",
            "write `protocol: NAME`, then `root:`, `graphs:` and so on",
            code="protocol.malformed",
        )
    if "extends" not in tree.value:
        return _ruled(expand(tree, sources.fragments, log), files, rules, log), _templates(files, log)
    wanted = overlay.extends(tree, log)
    log.settle(files.show(MAIN))
    assert wanted is not None
    other, beside = sources.base(wanted.name, wanted.place)
    if len(chain) > MAX_CHAIN:
        fail(
            wanted.place,
            f"a chain of more than {MAX_CHAIN} protocols",
            "extend one that is nearer to its end",
            code="protocol.malformed",
        )
    if other.shown in chain:
        fail(
            wanted.place,
            *extends_itself([shown.rpartition("/")[2] for shown in (*chain, other.shown)]),
            code="protocol.malformed",
        )
    base, templates = _based(other, beside, rules, log, (*chain, other.shown))
    return overlay.apply(base, tree, log), {**templates, **_templates(files, log)}


def _templates(files: Files, log: Log) -> dict[str, str]:
    found = files.templates()
    _locate({path: files.show(TEMPLATES + path) for path in found}, log)
    return found


def _locate(templates: Mapping[str, str], log: Log) -> None:
    """Remember the files of templates; what is nearer to the project comes later and takes their place."""
    log.places |= {f"templates.{path}": Place(file) for path, file in templates.items()}


def extends_itself(circle: Sequence[str]) -> tuple[str, str]:
    """What is wrong with protocols that extend each other in a circle, and what to do."""
    return f"it extends itself: {' → '.join(circle)}", "extend another protocol"


def _one_name(files: Files, changes: Changes, name: str, log: Log) -> None:
    """A protocol is found by its folder and named by overlays, branches and pages as it calls itself."""
    if not files.name or files.name == name:
        return
    main = files.show(MAIN)
    place = log.places.get("protocol", Place(main))
    if place.file in {patch.place.file for patch in changes.overlays}:
        hint = f"remove `protocol`; a protocol of its own is a folder that begins with `extends: {files.name}`"
        log.add(place, "protocol", f"an overlay cannot rename {quoted(files.name)} to {quoted(name)}", hint)
        return
    hint = f"write `protocol: {files.name}`, or rename the folder"
    message = f"the folder is called {quoted(files.name)}, and the protocol {quoted(name)}"
    log.add(place if place.file == main else Place(main, 1, 1), "protocol", message, hint)


def _ruled(tree: Node, files: Files, rules: Node | None, log: Log) -> Node:
    """Compile a table of step rules into the graph that `step_rules` names."""
    part = Part(tree, "the protocol", "", log).get("step_rules")
    if part is None:
        if rules is not None:
            log.add(rules.place, "step_rules", "this protocol has no step rules", "remove the file, or use an overlay")
        return tree
    part.known("file", "graph")
    graph = part.name_of("graph")
    graphs = tree.value["graphs"] if isinstance(tree.value, dict) and "graphs" in tree.value else None
    if graphs is None or not isinstance(graphs.value, dict) or graph not in graphs.value:
        part.problem(f"unknown graph {quoted(graph)}", "write {file: step-rules.yaml, graph: NAME}")
        return tree
    default = _table(files, part)
    if default is None:
        return tree
    try:
        applied = apply(graphs.value[graph], default, rules, f"graphs.{graph}", log)
        ruled = without(with_entry(tree, "graphs", with_entry(graphs, graph, applied.graph)), "step_rules")
        return weave(ruled, applied.team)
    except ProtocolError as error:
        log.take(error)
        return tree


def _no_late_rules(tree: Node, log: Log) -> None:
    if isinstance(tree.value, dict) and "step_rules" in tree.value:
        hint = "change the steps themselves, or the project's table of step rules"
        log.add(tree.key_place("step_rules"), "step_rules", "step rules are compiled before overlays apply", hint)


def _table(files: Files, part: Part) -> Node | None:
    path = part.text("file")
    if path not in files.texts:
        part.problem(f"there is no file {quoted(path)} in the protocol's folder", "write {file: step-rules.yaml, …}")
        return None
    try:
        return files.tree(path)
    except ProtocolError as error:
        part.log.take(error)
        return None
