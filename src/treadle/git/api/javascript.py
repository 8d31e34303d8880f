"""The reader for JavaScript and TypeScript: what a module exports, in either manner of exporting."""

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Node

from treadle.git.api.script_names import Named, declared, members, of_value
from treadle.git.api.symbol import Reading, Symbol, merged, symbol
from treadle.git.api.syntax import Source, children, parsed, signature, structure, text

_GRAMMARS: Final[dict[str, Callable[[], object]]] = {
    ".ts": tree_sitter_typescript.language_typescript,
    ".mts": tree_sitter_typescript.language_typescript,
    ".cts": tree_sitter_typescript.language_typescript,
    ".tsx": tree_sitter_typescript.language_tsx,
}
_EXPORTS: Final = ("module.exports", "exports")


def syntax(path: str, source: bytes) -> Source:
    """The file's syntax tree; a `SyntaxError` if the grammar does not fit."""
    return parsed(source, _GRAMMARS.get(PurePosixPath(path).suffix, tree_sitter_javascript.language))


def read(path: str, source: bytes) -> Reading:
    """What a script exports; a `SyntaxError` if the grammar does not fit."""
    file = syntax(path, source)
    module = module_name(path)
    names = merged({name: one} for name, one in _Module(file, path.endswith(".d.ts")).exports())
    return Reading(symbols={f"{module}.{name}": one for name, one in names.items()})


def module_name(path: str) -> str:
    """`src/cart.ts` → `src/cart`, `src/cart/index.d.ts` → `src/cart`."""
    parts = path.split("/")
    parts[-1] = parts[-1].removesuffix(PurePosixPath(path).suffix).removesuffix(".d")
    return "/".join(parts[:-1] if parts[-1] == "index" and len(parts) > 1 else parts)


class _Module:
    """One file, with what its names stand for."""

    def __init__(self, file: Source, is_ambient: bool) -> None:
        self._file = file
        self._is_ambient = is_ambient
        self._local: dict[str, list[Named]] = {}
        for node in children(file.root):
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            for name, one in declared(file, inner):
                self._local.setdefault(name.partition(".")[0], []).append((name, one))

    def exports(self) -> Iterator[Named]:
        """Every exported name; the members of a class are names too."""
        nodes = children(self._file.root)
        for node in nodes:
            if node.type == "export_statement":
                yield from self._exported(node)
            elif node.type == "expression_statement":
                yield from self._assigned(node)
        if self._is_ambient and not any(one.type in ("export_statement", "import_statement") for one in nodes):
            yield from (one for names in self._local.values() for one in names)  # it declares what is there anyway

    def _exported(self, node: Node) -> Iterator[Named]:
        words = {one.type for one in node.children if not one.is_named}
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        source = node.child_by_field_name("source")
        if declaration is not None:
            yield from self._declaration(declaration, node, is_default="default" in words)
        elif value is not None or "=" in words:
            yield from self._value("default", value if value is not None else children(node)[-1])
        elif source is not None:
            yield from _passed_on(node, text(source).strip("\"'`"))
        else:
            for one in (one for part in children(node) for one in children(part) if one.type == "export_specifier"):
                name, alias = text(one.child_by_field_name("name")), text(one.child_by_field_name("alias"))
                yield from self._named(alias or name, name)

    def _declaration(self, declaration: Node, node: Node, *, is_default: bool) -> Iterator[Named]:
        marks = "".join(f"{signature(one)} " for one in children(node) if one.type == "decorator")
        first = text(declaration.child_by_field_name("name"))
        for name, one in declared(self._file, declaration):
            renamed = f"default{name.removeprefix(first)}" if is_default else name
            marked = f"{marks}{one.signature}" if name == first else one.signature
            yield renamed, Symbol(marked, one.body)

    def _named(self, name: str, local: str) -> Iterator[Named]:
        """What a name of this file stands for, under the name that others know it by."""
        known = self._local.get(local)
        if known is None:
            yield name, symbol(f"{name} = {local}" if name != local else name)
        for full, one in known or ():
            yield name + full.removeprefix(local), one

    def _value(self, name: str, node: Node) -> Iterator[Named]:
        if node.type == "identifier":
            yield from self._named(name, text(node))
        else:
            yield from of_value(self._file, name, name, node)

    def _assigned(self, statement: Node) -> Iterator[Named]:
        """`module.exports = …`, `exports.name = …`."""
        for node in children(statement):
            while node.type == "assignment_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is None or right is None:
                    return
                last = right
                while last.type == "assignment_expression" and (deeper := last.child_by_field_name("right")):
                    last = deeper
                yield from self._common(text(left), last)
                node = right  # noqa: PLW2901 (`exports.a = exports.b = …`)

    def _common(self, target: str, value: Node) -> Iterator[Named]:
        owner, _, name = target.rpartition(".")
        if target == "module.exports" and value.type == "object":
            yield from self._object(value)
        elif target == "module.exports":
            yield from self._value("default", value)
        elif owner in _EXPORTS:
            yield from self._value(name, value)

    def _object(self, node: Node) -> Iterator[Named]:
        for one in children(node):
            if one.type == "shorthand_property_identifier":
                yield from self._named(text(one), text(one))
            elif one.type == "pair" and (value := one.child_by_field_name("value")) is not None:
                yield from self._value(text(one.child_by_field_name("key")).strip("\"'"), value)
            elif one.type == "method_definition":
                yield from members(self._file, [one])
            else:
                yield signature(one), symbol(signature(one), structure(self._file, one))


def _passed_on(node: Node, place: str) -> Iterator[Named]:
    """`export … from`: the names are known by another module, which tells of their changes itself."""
    for part in children(node):
        if part.type == "namespace_export":
            name = text(children(part)[-1])
            yield name, symbol(f"* as {name} from {place}")
        for one in children(part) if part.type == "export_clause" else ():
            name, alias = text(one.child_by_field_name("name")), text(one.child_by_field_name("alias"))
            yield alias or name, symbol(f"{name} from {place}")
    if any(one.type == "*" for one in node.children):
        yield f"* from {place}", symbol(f"* from {place}")
