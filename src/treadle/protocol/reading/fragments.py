"""Includes: parts that several protocols share, united with the protocol's own; a key that both have is an error."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from treadle.errors import ProtocolError
from treadle.protocol.findings import Place, suggest
from treadle.protocol.reading.filling import Args, Filling
from treadle.protocol.reading.part import NAME, Log, Part, quoted
from treadle.protocol.reading.source import Node

TOP_PARTS: Final = ("types", "exits", "roles", "pools", "artifacts")
GRAPH_PARTS: Final = ("steps", "handlers", "budgets", "vars", "system", "ok", "ends", "commands")
_KEYS: Final = ("fragment", "params", "include", *TOP_PARTS, "graph")
MAX_INCLUDES: Final = 200


class Library(NamedTuple):
    """Where fragments come from: their names, a reader that raises `ProtocolError` for a broken file, and templates."""

    names: Collection[str]
    read: Callable[[str], Node]
    templates: Mapping[str, str] = MappingProxyType({})
    shown: Mapping[str, str] = MappingProxyType({})
    """The templates' files as messages name them."""


class Piece(NamedTuple):
    """What one fragment adds after its parameters were filled in."""

    top: Node
    graph: Node | None


def expand(tree: Node, library: Library, log: Log) -> Node:
    """The tree with every `include` replaced by what it stands for."""
    top = Part(tree, "the protocol", "", log)
    pieces: list[Piece] = []
    includer = _Includer(library, log)
    for name, args, place in _references(top.get("include")):
        found = list(includer.pieces(name, args, place, ()))
        pieces += found
        if any(piece.graph for piece in found):
            log.add(place, "include", f"the fragment {quoted(name)} has a graph part", "include it in a graph")
    result = without(tree, "include")
    graphs = top.get("graphs")
    if graphs is not None and isinstance(graphs.node.value, dict):
        expanded = {name: _expand_graph(graph, includer, pieces) for name, graph in graphs.entries()}
        result = with_entry(result, "graphs", Node(expanded, graphs.node.place, graphs.node.keys))
    for piece in pieces:
        result = _unite_parts(result, piece.top, TOP_PARTS, "", log)
    return result


def _expand_graph(part: Part, includer: "_Includer", pieces: list[Piece]) -> Node:
    result = without(part.node, "include")
    for name, args, place in _references(part.get("include")):
        for piece in includer.pieces(name, args, place, ()):
            pieces.append(Piece(piece.top, None))
            if piece.graph is not None:
                result = _unite_parts(result, piece.graph, GRAPH_PARTS, part.path, includer.log)
    return result


def _references(part: Part | None) -> Iterator[tuple[str, Args, Place]]:
    """`[name]` or `[{name: {param: value}}]`."""
    for item in part.items() if part else ():
        if not isinstance(item.node.value, dict):
            yield item.as_name(), {}, item.node.place
            continue
        for name, entry in item.entries():
            yield name, {param: value.node for param, value in entry.entries()}, item.node.key_place(name)


class _Includer:
    """Follows the includes of one protocol and the includes inside them."""

    def __init__(self, library: Library, log: Log) -> None:
        self.library, self.log, self.count = library, log, 0
        self.filling = Filling(log)
        self.trees: dict[str, Node | None] = {}

    def pieces(self, name: str, args: Args, place: Place, chain: tuple[str, ...]) -> Iterator[Piece]:
        if name in chain:
            loop = " → ".join([*chain, name])
            self.log.add(place, "include", f"the fragment {quoted(name)} includes itself: {loop}", "break the circle")
            return
        self.count += 1
        if self.count == MAX_INCLUDES:
            self.log.add(place, "include", f"more than {MAX_INCLUDES} includes", "include each fragment once")
        tree = self._read(name, place) if self.count < MAX_INCLUDES else None
        if tree is None:
            return
        part = Part(tree, name, "", self.log.aside())
        self._check(part, args, place)
        filled = Part(self.filling.tree(tree, args, place), name, "", part.log)
        yield _piece(filled)
        for other, values, at in _references(filled.get("include")):
            yield from self.pieces(other, values, at, (*chain, name))

    def _read(self, name: str, place: Place) -> Node | None:
        if name not in self.library.names:
            hint = suggest(name, self.library.names) or f"known: {', '.join(sorted(self.library.names)) or 'none'}"
            self.log.add(place, "include", f"unknown fragment {quoted(name)}", hint)
            return None
        if name not in self.trees:
            self.trees[name] = self._parsed(name)
        return self.trees[name]

    def _parsed(self, name: str) -> Node | None:
        try:
            return self.library.read(name)
        except ProtocolError as error:
            self.log.take(error)
            return None

    def _check(self, part: Part, args: Args, place: Place) -> None:
        part.known(*_KEYS)
        if part.text("fragment", part.name) != part.name:
            part.problem(f"this file is the fragment {quoted(part.text('fragment'))}", f"write `fragment: {part.name}`")
        params = part.words("params")
        for param in params:
            if param not in args:
                hint = f"write {{{part.name}: {{{param}: …}}}}"
                self.log.add(place, "include", f"the fragment {quoted(part.name)} needs {quoted(param)}", hint)
        for arg in args:
            if arg not in params:
                hint = suggest(arg, params) or f"its parameters: {', '.join(params) or 'none'}"
                self.log.add(place, "include", f"the fragment {quoted(part.name)} has no parameter {quoted(arg)}", hint)


def _piece(part: Part) -> Piece:
    top = {key: entry.node for key in TOP_PARTS if (entry := part.get(key)) and entry.node.value is not None}
    graph = part.get("graph")
    if graph is not None:
        graph.known(*GRAPH_PARTS)
    return Piece(Node(top, part.node.place, part.node.keys), graph.node if graph else None)


def _unite_parts(base: Node, addition: Node, parts: Collection[str], path: str, log: Log) -> Node:
    for key in parts:
        entry = Part(addition, key, path, log).get(key) if isinstance(addition.value, dict) else None
        if entry is None or entry.node.value is None:
            continue
        own = base.value.get(key) if isinstance(base.value, dict) else None
        united = unite(own, _mapping(entry.node), f"{path}.{key}".lstrip("."), log)
        base = with_entry(base, key, united)
    return base


def unite(base: Node | None, addition: Node, path: str, log: Log) -> Node:
    """Both mappings in one; a key that stands in both, from different places, is an error."""
    if base is None or base.value is None:
        return addition
    base = _mapping(base)
    if not isinstance(base.value, dict) or not isinstance(addition.value, dict):
        log.add(addition.place, path, f"{quoted(path)} cannot be united", "both must be mappings")
        return base
    entries, keys = dict(base.value), dict(base.keys)
    for key, value in addition.value.items():
        if key not in entries:
            entries[key], keys[key] = value, addition.key_place(key)
        elif keys.get(key) != addition.key_place(key) or entries[key].plain() != value.plain():
            other = keys.get(key, base.place)
            log.add(addition.key_place(key), f"{path}.{key}", f"{quoted(key)} is also at {other}", "rename one of them")
    return Node(entries, base.place, keys)


def _mapping(node: Node) -> Node:
    """A list of names (`ends: [Done]`) as the mapping it stands for."""
    if not isinstance(node.value, list):
        return node
    names = {
        item.value: item.place for item in node.value if isinstance(item.value, str) and NAME.fullmatch(item.value)
    }
    return Node({name: Node(None, place) for name, place in names.items()}, node.place, names)


def with_entry(node: Node, key: str, value: Node) -> Node:
    """The mapping with this entry."""
    entries = {**(node.value if isinstance(node.value, dict) else {}), key: value}
    return Node(entries, node.place, {key: value.place, **node.keys})


def without(node: Node, key: str) -> Node:
    """The mapping without this key."""
    if not isinstance(node.value, dict) or key not in node.value:
        return node
    entries = {name: value for name, value in node.value.items() if name != key}
    return Node(entries, node.place, {name: place for name, place in node.keys.items() if name != key})
