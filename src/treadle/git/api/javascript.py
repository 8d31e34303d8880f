"""The reader for JavaScript and TypeScript: ES module exports and CommonJS exports."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Node

from treadle.git.api.languages import FileExports, Symbol, make_symbol, merge_apis
from treadle.git.api.syntax import SyntaxSource, children, parse_syntax, signature, structure, text

# The names that a declaration in JavaScript or TypeScript defines: its own, and those of class members.

Named = tuple[str, Symbol]
_FUNCTIONS: Final = frozenset(
    "function_declaration generator_function_declaration function_signature function_expression generator_function "
    "arrow_function method_definition method_signature abstract_method_signature".split()
)
_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_WHOLE: Final = frozenset({"interface_declaration", "type_alias_declaration", "enum_declaration", "import_alias"})
"""Nothing but a signature."""
_FIELDS: Final = frozenset({"public_field_definition", "field_definition", "property_signature"})
_PATTERNS: Final = frozenset({"identifier", "shorthand_property_identifier_pattern"})


def declared(file: SyntaxSource, node: Node | None) -> Iterator[Named]:
    """Yield the names that a declaration defines; none for any other node."""
    if node is None:
        return
    name = text(node.child_by_field_name("name")) or "default"
    if node.type in _FUNCTIONS:
        yield name, _function(file, node)
    elif node.type in _CLASSES:
        yield from _class(file, name, node)
    elif node.type in _WHOLE:
        yield name, make_symbol(signature(node))
    elif node.type in ("lexical_declaration", "variable_declaration"):
        for one in children(node):
            yield from _variable(file, node, one)
    elif node.type in ("internal_module", "module"):
        yield from _namespace(file, name, node)
    elif node.type in ("ambient_declaration", "expression_statement"):
        inner = [one for one in children(node) if one.type not in ("call_expression", "assignment_expression")]
        for one in inner:
            yield from declared(file, one)


def of_value(file: SyntaxSource, name: str, shown: str, value: Node) -> Iterator[Named]:
    """Yield a name and its value: a function, a class, or a variable with the value as its body."""
    if value.type in _CLASSES:
        yield from _class(file, name, value)
    elif value.type in _FUNCTIONS:
        one = _function(file, value)
        yield name, Symbol(make_symbol(f"{shown} = {one.signature}").signature, one.body)
    else:
        yield name, make_symbol(shown, structure(file, value))


def members(file: SyntaxSource, nodes: Iterable[Node]) -> Iterator[Named]:
    """Yield the public members of a class."""
    for node in nodes:
        name = text(node.child_by_field_name("name") or node.child_by_field_name("property"))
        if node.type in _FUNCTIONS:
            yield name, _function(file, node)
        elif node.type in _FIELDS:
            value = node.child_by_field_name("value")
            equals = [one for one in node.children if one.type == "="]
            head = signature(node, [one for one in (value, *equals) if one is not None])
            yield from of_value(file, name, head, value) if value is not None else [(name, make_symbol(head))]


def _function(file: SyntaxSource, node: Node) -> Symbol:
    body = node.child_by_field_name("body")
    return make_symbol(signature(node, [body] if body is not None else []), structure(file, body))


def _class(file: SyntaxSource, name: str, node: Node) -> Iterator[Named]:
    body = node.child_by_field_name("body")
    inside = children(body)
    offered = [one for one in inside if _is_offered(one)]
    rest = "\n".join(structure(file, one) for one in inside if one not in offered)
    yield name, make_symbol(signature(node, [body] if body is not None else []), rest)
    yield from ((f"{name}.{member}", one) for member, one in members(file, offered))


def _is_offered(member: Node) -> bool:
    if member.type not in _FUNCTIONS and member.type not in _FIELDS:
        return False
    name = member.child_by_field_name("name") or member.child_by_field_name("property")
    hidden = any(one.type == "accessibility_modifier" and text(one) != "public" for one in member.children)
    return not hidden and not text(name).startswith(("#", "_"))


def _variable(file: SyntaxSource, declaration: Node, node: Node) -> Iterator[Named]:
    if node.type != "variable_declarator":
        return
    kind = text(declaration.child_by_field_name("kind")) or "var"
    name, typed, value = (node.child_by_field_name(one) for one in ("name", "type", "value"))
    for place, label in enumerate(_labels(name)):
        shown = f"{kind} {label}" + (signature(typed).replace(":", ": ", 1) if typed is not None else "")
        shown = " ".join(shown.split())
        if value is None:
            yield label, make_symbol(shown)
        elif name is not None and name.type in _PATTERNS:
            yield from of_value(file, label, shown, value)
        else:
            yield label, make_symbol(shown, f"{place} {structure(file, name)} {structure(file, value)}")


def _labels(pattern: Node | None) -> Iterator[str]:
    """Return the names that a pattern binds."""
    if pattern is None:
        return
    if pattern.type in _PATTERNS:
        yield text(pattern)
        return
    inner = pattern.child_by_field_name("value") or pattern.child_by_field_name("left")
    for one in [inner] if inner is not None else children(pattern):
        yield from _labels(one)


def _namespace(file: SyntaxSource, name: str, node: Node) -> Iterator[Named]:
    yield name, make_symbol(f"namespace {name}")
    for one in children(node.child_by_field_name("body")):
        inner = one.child_by_field_name("declaration") if one.type == "export_statement" else one
        is_ambient = node.parent is not None and node.parent.type == "ambient_declaration"
        if one.type == "export_statement" or is_ambient:
            yield from ((f"{name}.{label}", each) for label, each in declared(file, inner))


_GRAMMARS: Final[dict[str, Callable[[], object]]] = {
    ".ts": tree_sitter_typescript.language_typescript,
    ".mts": tree_sitter_typescript.language_typescript,
    ".cts": tree_sitter_typescript.language_typescript,
    ".tsx": tree_sitter_typescript.language_tsx,
}
_EXPORTS: Final = ("module.exports", "exports")


def syntax(path: str, source: bytes) -> SyntaxSource:
    """Parse a file; raise `SyntaxError` if the grammar does not fit."""
    return parse_syntax(source, _GRAMMARS.get(PurePosixPath(path).suffix, tree_sitter_javascript.language))


def read(path: str, source: bytes) -> FileExports:
    """Return the exports of a script; raise `SyntaxError` if the grammar does not fit."""
    file = syntax(path, source)
    module = module_name(path)
    names = merge_apis({name: one} for name, one in _Module(file, path.endswith(".d.ts")).exports())
    return FileExports(symbols={f"{module}.{name}": one for name, one in names.items()})


def module_name(path: str) -> str:
    """`src/cart.ts` → `src/cart`, `src/cart/index.d.ts` → `src/cart`."""
    parts = path.split("/")
    parts[-1] = parts[-1].removesuffix(PurePosixPath(path).suffix).removesuffix(".d")
    return "/".join(parts[:-1] if parts[-1] == "index" and len(parts) > 1 else parts)


class _Module:
    """One file, with the definitions of its local names."""

    def __init__(self, file: SyntaxSource, is_ambient: bool) -> None:
        self._file = file
        self._is_ambient = is_ambient
        self._local: dict[str, list[Named]] = {}
        for node in children(file.root):
            inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
            for name, one in declared(file, inner):
                self._local.setdefault(name.partition(".")[0], []).append((name, one))

    def exports(self) -> Iterator[Named]:
        """Yield every exported name, including the members of classes."""
        nodes = children(self._file.root)
        for node in nodes:
            if node.type == "export_statement":
                yield from self._exported(node)
            elif node.type == "expression_statement":
                yield from self._assigned(node)
        if self._is_ambient and not any(one.type in ("export_statement", "import_statement") for one in nodes):
            yield from (one for names in self._local.values() for one in names)  # a file of global declarations

    def _exported(self, node: Node) -> Iterator[Named]:
        words = {one.type for one in node.children if not one.is_named}
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        source = node.child_by_field_name("source")
        if declaration is not None:
            yield from self._declaration(declaration, node, is_default="default" in words)
        elif value is not None or "=" in words:
            yield from self._value("default", value if value is not None else children(node)[-1])
        elif source is not None:
            yield from _reexports(node, text(source).strip("\"'`"))
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
        """Yield the definition of a local name under its exported name."""
        known = self._local.get(local)
        if known is None:
            yield name, make_symbol(f"{name} = {local}" if name != local else name)
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
                yield signature(one), make_symbol(signature(one), structure(self._file, one))


def _reexports(node: Node, place: str) -> Iterator[Named]:
    """Yield the names of `export … from`: only names, because the other module reports their changes."""
    for part in children(node):
        if part.type == "namespace_export":
            name = text(children(part)[-1])
            yield name, make_symbol(f"* as {name} from {place}")
        for one in children(part) if part.type == "export_clause" else ():
            name, alias = text(one.child_by_field_name("name")), text(one.child_by_field_name("alias"))
            yield alias or name, make_symbol(f"{name} from {place}")
    if any(one.type == "*" for one in node.children):
        yield f"* from {place}", make_symbol(f"* from {place}")
