"""Includes: parts that several protocols share, united with the protocol's own; a key that both have is an error."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from treadle.errors import ProtocolError
from treadle.protocol.findings import Place, suggest
from treadle.protocol.reading.part import NAME, Log, Part, quote_name
from treadle.protocol.reading.yaml import MAX_NODES, MAX_TEXT, Node, fail

# Filling in: the arguments of an include replace its fragment's parameters, within a limit on the total size.

_PARAM = re.compile(r"\$(\$|[A-Za-z_][A-Za-z0-9_]*)")
_EACH: Final = MAX_TEXT // MAX_NODES
"""The cost of a value besides its characters; it allows as many values as a file may have."""

Args = Mapping[str, Node]


class Filling:
    """The fragments of one protocol being filled in; all together they may be no larger than a file."""

    def __init__(self, log: Log) -> None:
        self.log, self.room = log, MAX_TEXT

    def tree(self, node: Node, args: Args, place: Place) -> Node:
        """The fragment with its arguments in the place of `$param`, in keys and values; `$$` is a dollar sign."""
        self._spend(_EACH, place)
        if isinstance(node.value, str):
            return self._text(node, args, place)
        if isinstance(node.value, list):
            return Node([self.tree(item, args, place) for item in node.value], node.place)
        if not isinstance(node.value, dict):
            return node
        entries, keys = {}, {}
        for key, entry in node.value.items():
            at = node.key_place(key)
            name = self._text(Node(key, at), args, place).value
            word = name if isinstance(name, str) else key
            if word in entries:
                self.log.add(at, "include", f"the key {quote_name(word)} is there twice", "rename one of them")
            entries[word], keys[word] = self.tree(entry, args, place), at
        return Node(entries, node.place, keys)

    def _text(self, node: Node, args: Args, place: Place) -> Node:
        text = str(node.value)
        self._spend(len(text), place)
        whole = _PARAM.fullmatch(text)
        if whole and whole[1] in args:
            self._spend(size(args[whole[1]]), place)
            return Node(args[whole[1]].value, node.place, args[whole[1]].keys)

        def value(match: re.Match[str]) -> str:
            if match[1] == "$":
                return "$"
            if match[1] not in args:
                hint = suggest(match[1], args) or "declare it in `params`, or write $$ for a dollar sign"
                self.log.add(node.place, "include", f"unknown parameter ${match[1]}", hint)
                return match[0]
            self._spend(size(args[match[1]]), place)
            return str(args[match[1]].plain())

        return Node(_PARAM.sub(value, text), node.place)

    def _spend(self, cost: int, place: Place) -> None:
        self.room -= cost
        if self.room < 0:
            message = f"fragments bring more than {MAX_TEXT} characters, their parameters filled in"
            fail(place, message, "include fewer, or give them shorter values", "include", code="protocol.malformed")


def size(node: Node) -> int:
    """Return the cost of a value: its characters, and a fixed amount for each part."""
    if isinstance(node.value, dict):
        return _EACH + sum(len(key) + size(entry) for key, entry in node.value.items())
    if isinstance(node.value, list):
        return _EACH + sum(map(size, node.value))
    return _EACH + len(str(node.value))


TOP_PARTS: Final = ("types", "exits", "roles", "pools", "artifacts")
GRAPH_PARTS: Final = ("steps", "handlers", "budgets", "vars", "system", "ok", "ends", "commands")
_KEYS: Final = ("fragment", "params", "include", *TOP_PARTS, "graph")
MAX_INCLUDES: Final = 200


class FragmentLibrary(NamedTuple):
    """Where fragments come from: their names, a reader that raises `ProtocolError` for a broken file, and templates."""

    names: Collection[str]
    read: Callable[[str], Node]
    templates: Mapping[str, str] = MappingProxyType({})
    shown: Mapping[str, str] = MappingProxyType({})
    """The templates' files as messages name them."""


class FragmentPiece(NamedTuple):
    """The parts that one fragment adds, with its parameters filled in."""

    top: Node
    graph: Node | None


def expand(tree: Node, library: FragmentLibrary, log: Log) -> Node:
    """Return the tree with every `include` replaced by its fragment."""
    top = Part(tree, "the protocol", "", log)
    pieces: list[FragmentPiece] = []
    includer = _Includer(library, log)
    for name, args, place in _references(top.get("include")):
        added = list(includer.pieces(name, args, place, ()))
        pieces += added
        if any(piece.graph for piece in added):
            log.add(place, "include", f"the fragment {quote_name(name)} has a graph part", "include it in a graph")
    result = tree.without("include")
    graphs = top.get("graphs")
    if graphs is not None and isinstance(graphs.node.value, dict):
        expanded = {}
        for graph, part in graphs.entries():
            expanded[graph] = part.node.without("include")
            for name, args, place in _references(part.get("include")):
                for piece in includer.pieces(name, args, place, ()):
                    pieces.append(piece)
                    if piece.graph is not None:
                        expanded[graph] = _unite_parts(expanded[graph], piece.graph, GRAPH_PARTS, part.path, log)
        result = result.with_entry("graphs", Node(expanded, graphs.node.place, graphs.node.keys))
    for piece in pieces:
        result = _unite_parts(result, piece.top, TOP_PARTS, "", log)
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

    def __init__(self, library: FragmentLibrary, log: Log) -> None:
        self.library, self.log, self.count = library, log, 0
        self.filling = Filling(log)
        self.trees: dict[str, Node | None] = {}

    def pieces(self, name: str, args: Args, place: Place, chain: tuple[str, ...]) -> Iterator[FragmentPiece]:
        if name in chain:
            loop = " → ".join([*chain, name])
            self._problem(place, f"the fragment {quote_name(name)} includes itself: {loop}", "break the circle")
            return
        self.count += 1
        if self.count == MAX_INCLUDES:
            self._problem(place, f"more than {MAX_INCLUDES} includes", "include each fragment once")
        tree = self._read(name, place) if self.count < MAX_INCLUDES else None
        if tree is None:
            return
        part = Part(tree, name, "", self.log.aside())
        self._check(part, args, place)
        filled = Part(self.filling.tree(tree, args, place), name, "", part.log)
        top = {key: entry.node for key in TOP_PARTS if (entry := filled.get(key)) and entry.node.value is not None}
        graph = filled.get("graph")
        if graph is not None:
            graph.known(*GRAPH_PARTS)
        yield FragmentPiece(Node(top, filled.node.place, filled.node.keys), graph.node if graph else None)
        for other, values, at in _references(filled.get("include")):
            yield from self.pieces(other, values, at, (*chain, name))

    def _read(self, name: str, place: Place) -> Node | None:
        if name not in self.library.names:
            hint = suggest(name, self.library.names) or f"known: {', '.join(sorted(self.library.names)) or 'none'}"
            self._problem(place, f"unknown fragment {quote_name(name)}", hint)
            return None
        if name not in self.trees:
            self.trees[name] = None
            try:
                self.trees[name] = self.library.read(name)
            except ProtocolError as error:
                self.log.take(error)
        return self.trees[name]

    def _check(self, part: Part, args: Args, place: Place) -> None:
        part.known(*_KEYS)
        own = part.text("fragment", part.name)
        if own != part.name:
            part.problem(f"this file is the fragment {quote_name(own)}", f"write `fragment: {part.name}`")
        params, fragment = part.words("params"), f"the fragment {quote_name(part.name)}"
        for param in params:
            if param not in args:
                hint = f"write {{{part.name}: {{{param}: …}}}}"
                self._problem(place, f"{fragment} needs {quote_name(param)}", hint)
        for arg in args:
            if arg not in params:
                hint = suggest(arg, params) or f"its parameters: {', '.join(params) or 'none'}"
                self._problem(place, f"{fragment} has no parameter {quote_name(arg)}", hint)

    def _problem(self, place: Place, message: str, hint: str) -> None:
        self.log.add(place, "include", message, hint)


def _unite_parts(base: Node, addition: Node, parts: Collection[str], path: str, log: Log) -> Node:
    for key in parts:
        entry = Part(addition, key, path, log).get(key)
        if entry is None or entry.node.value is None:
            continue
        own = base.entries.get(key)
        base = base.with_entry(key, unite(own, _mapping(entry.node), f"{path}.{key}".lstrip("."), log))
    return base


def unite(base: Node | None, addition: Node, path: str, log: Log) -> Node:
    """Both mappings in one; a key that stands in both, from different places, is an error."""
    if base is None or base.value is None:
        return addition
    base = _mapping(base)
    if not isinstance(base.value, dict) or not isinstance(addition.value, dict):
        log.add(addition.place, path, f"{quote_name(path)} cannot be united", "both must be mappings")
        return base
    entries, keys = dict(base.value), dict(base.keys)
    for key, value in addition.value.items():
        place = addition.key_place(key)
        if key not in entries:
            entries[key], keys[key] = value, place
        elif keys.get(key) != place or entries[key].plain() != value.plain():
            message = f"{quote_name(key)} is also at {keys.get(key, base.place)}"
            log.add(place, f"{path}.{key}", message, "rename one of them")
    return Node(entries, base.place, keys)


def _mapping(node: Node) -> Node:
    """A list of names (`ends: [Done]`) as the mapping it stands for."""
    if not isinstance(node.value, list):
        return node
    items = (item for item in node.value if isinstance(item.value, str) and NAME.fullmatch(item.value))
    names = {str(item.value): item.place for item in items}
    return Node({name: Node(None, place) for name, place in names.items()}, node.place, names)
