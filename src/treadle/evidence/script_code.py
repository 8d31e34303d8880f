"""Code in JavaScript, TypeScript and Go: its logic without its names, and the changes of a file other than stubs.

Imported only when a file of such a language is read, because tree-sitter is slow to load.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from treadle.evidence.code_shapes import Shape
from treadle.git.api import go, javascript
from treadle.git.api.languages import LARGEST
from treadle.git.api.syntax import SyntaxSource, children, signature, structure, text

ALL_FUNCTIONS: Final = frozenset(
    "function_declaration generator_function_declaration function_expression generator_function arrow_function "
    "method_definition method_declaration func_literal".split()
)
_BODIES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class", "internal_module", "module"})
_APART: Final = frozenset(
    "import_statement import_declaration package_clause interface_declaration type_alias_declaration "
    "type_declaration function_signature export_clause".split()
)
"""Nodes without logic."""
_ERASED: Final = {
    **dict.fromkeys(
        "identifier property_identifier shorthand_property_identifier private_property_identifier type_identifier "
        "field_identifier package_identifier shorthand_property_identifier_pattern statement_identifier "
        "member_expression selector_expression nested_identifier qualified_type".split(),
        "_",
    ),
    **dict.fromkeys(
        "arguments argument_list formal_parameters parameter_list type_annotation type_parameters "
        "type_arguments type_parameter_list accessibility_modifier import_statement".split(),
        "",
    ),
}
_MOST: Final = 200_000


def script_shapes(path: str, source: str) -> list[Shape]:
    """Return the shapes of all functions, and of the statements outside of them.

    Raises `SyntaxError` if the grammar does not fit.
    """
    file = read_script(path, source)
    rest = loose_statements(file.root, "the module")
    return [*_functions(file), *(Shape(structure(file, one, _ERASED), name, line) for name, one, line in rest)]


def code_only(path: str, source: str) -> str:
    """A program without its comments; a `SyntaxError` if the grammar does not fit."""
    return signature(read_script(path, source).root)


def read_script(path: str, source: str) -> SyntaxSource:
    """A program as a syntax tree; a `SyntaxError` if the grammar does not fit."""
    data = source.encode(errors="replace")
    if len(data) > LARGEST:
        raise SyntaxError(f"it is too large to be read: more than {LARGEST} bytes")
    return go.syntax(path, data) if path.endswith(".go") else javascript.syntax(path, data)


def _functions(file: SyntaxSource) -> Iterator[Shape]:
    stack = [file.root]
    for _ in range(_MOST):
        if not stack:
            return
        node = stack.pop()
        if node.type in ALL_FUNCTIONS:
            body = node.child_by_field_name("body")
            yield Shape(structure(file, body, _ERASED), function_name(node), node.start_point.row + 1)
        stack += reversed(node.named_children)
    raise SyntaxError("it has too many parts")


def function_name(function: Node, otherwise: str = "a function") -> str:
    """The name of a function, or of the variable that holds it."""
    named = function.child_by_field_name("name")
    above = function.parent
    if named is None and above is not None:
        named = above.child_by_field_name("name")
    return text(named) or otherwise


def loose_statements(node: Node, name: str) -> Iterator[tuple[str, Node, int]]:
    """The statements outside of functions, each with the name of its class or `the module`, and its line."""
    for one in children(node):
        inner = one.child_by_field_name("declaration") if one.type == "export_statement" else one
        if inner is None or inner.type in ALL_FUNCTIONS or inner.type in _APART:
            continue
        if inner.type in _BODIES:
            yield from loose_statements(inner.child_by_field_name("body") or inner, text(_name_of(inner)))
        else:
            yield name or "the class", inner, one.start_point.row + 1


def _name_of(node: Node) -> Node | None:
    return node.child_by_field_name("name")


def script_stubs(path: str, source: str) -> list[tuple[str, int]]:
    """Return name and line of each function that only throws "not implemented"; a method has its owner's name, too.

    Raises `SyntaxError` if the grammar does not fit.
    """
    found, waiting = list[tuple[str, int]](), [read_script(path, source).root]
    while waiting:
        node = waiting.pop()
        if node.type in ALL_FUNCTIONS and _is_stub(node):
            body = node.parent.parent if node.type == "method_definition" and node.parent else None
            owner = text(node.child_by_field_name("receiver")) or (text(_name_of(body)) if body else "")
            name = function_name(node)
            found.append((f"{owner}.{name}" if owner else name, node.start_point.row + 1))
        waiting += node.named_children
    return sorted(found, key=lambda one: one[1])


# Finds changes of a file in JavaScript, TypeScript or Go other than stubs.

Beyond = tuple[int, str]
_NOT_WRITTEN: Final = re.compile(
    r"(throw\s+(new\s+)?\w*Error|panic)\s*\(\s*[\"'`](not implemented|unimplemented|todo)[^()]*\)\s*;?", re.IGNORECASE
)
_TYPES: Final = frozenset(
    "import_statement import_declaration package_clause interface_declaration type_alias_declaration type_declaration "
    "function_signature enum_declaration abstract_method_signature method_signature".split()
)
_DECLARED_FUNCTIONS: Final = frozenset(
    "function_declaration generator_function_declaration method_definition method_declaration".split()
)
_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration"})
_FIELDS: Final = frozenset({"field_definition", "public_field_definition"})
_VALUES: Final = frozenset({"lexical_declaration", "var_declaration"})
_SENTINEL: Final = re.compile(r"errors\.New\(\s*\"[^\"]*\"\s*\)")
_DIRECTIVES: Final = ("'use strict'", '"use strict"')
_EXPORTS: Final = re.compile(r"(?:module\.)?exports(?:\.\w+)*")
_REQUIRE: Final = re.compile(r"require\(\s*(?:\"[^\"\\]*\"|'[^'\\]*')\s*\)(?:\.\w+)*")
_IMPORTS: Final = frozenset({"import_statement", "import_declaration"})


def script_beyond(path: str, before: str, after: str) -> list[Beyond]:
    """Return the differences between two states of a file that are more than stubs.

    Raises `SyntaxError` if one of them does not parse.
    """
    old, new = read_script(path, before), read_script(path, after)
    return list(_compared(old, new, _parts(old.root), _parts(new.root)))


def _compared(old: SyntaxSource, new: SyntaxSource, was: list[Node], now: list[Node]) -> Iterator[Beyond]:
    """The first part that is neither as it was nor a stub; a stub that was there may become another one."""
    kept = [one for one in was if not _is_free(one)]
    known, at = {_declared_name(one) for one in kept} - {""}, 0
    for one in now:
        inner = _inside(old, new, kept[at], one) if at < len(kept) else None
        if inner is not None:
            yield from inner
            at += 1
            continue
        is_known = _declared_name(one) in known
        if is_known or not _is_free(one):
            what = "was there already, as it has to stay" if is_known else "is more than a stub"
            yield one.start_point.row + 1, f"{_declared_name(one) or f'`{text(one).splitlines()[0][:60]}`'} {what}"
            return
    if at < len(kept):
        yield (
            1,
            f"{_declared_name(kept[at]) or text(kept[at]).splitlines()[0][:60]} was there and is gone",
        )


def _inside(old: SyntaxSource, new: SyntaxSource, was: Node, now: Node) -> list[Beyond] | None:
    if structure(old, was) == structure(new, now):
        return []
    one, other = _unwrapped(was), _unwrapped(now)
    if one.type in _CLASSES and one.type == other.type and _head(one) == _head(other) and was.type == now.type:
        return list(_compared(old, new, _members(one), _members(other)))
    return None


def _parts(root: Node) -> list[Node]:
    return [one for one in children(root) if one.type not in _IMPORTS]


def _members(one: Node) -> list[Node]:
    return children(one.child_by_field_name("body"))


def _head(one: Node) -> str:
    body = one.child_by_field_name("body")
    end = body.start_byte - one.start_byte if body is not None else None
    return re.sub(r"\s+", " ", (one.text or b"")[:end].decode(errors="replace")).strip()


def _unwrapped(one: Node) -> Node:
    return (one.child_by_field_name("declaration") or one) if one.type == "export_statement" else one


def _is_free(node: Node) -> bool:
    """Whether a part does nothing that an implementation is for."""
    one = _unwrapped(node)
    if one.type in _TYPES:
        return True
    if one.type == "export_statement":
        return one.child_by_field_name("value") is None
    if one.type in _DECLARED_FUNCTIONS:
        return _is_stub(one)
    if one.type in _CLASSES:
        return all(map(_is_free, _members(one)))
    if one.type in _FIELDS:
        value = one.child_by_field_name("value")
        return value is None or not value.named_children
    if one.type == "expression_statement":
        return _is_module_text(one)
    return one.type in _VALUES and all(map(_is_declared, _declarators(one)))


def _is_module_text(statement: Node) -> bool:
    """Whether a statement only declares a CommonJS module: `'use strict'`, or its exports."""
    if text(statement).strip().rstrip(";") in _DIRECTIVES:
        return True
    said = next(iter(children(statement)), None)
    if said is None or said.type != "assignment_expression":
        return False
    target = said.child_by_field_name("left")
    return bool(_EXPORTS.fullmatch(text(target))) and _is_exported(said.child_by_field_name("right"))


def _is_exported(value: Node | None) -> bool:
    """Whether a value is a name, a stub, a class of stubs, or an object or chain of exports of such."""
    if value is None:
        return False
    if value.type in ("identifier", "shorthand_property_identifier"):
        return True
    if value.type == "object":
        return all(map(_is_exported, children(value)))
    if value.type == "pair":
        key = value.child_by_field_name("key")
        return (
            key is not None
            and key.type != "computed_property_name"
            and _is_exported(value.child_by_field_name("value"))
        )
    if value.type == "assignment_expression":
        target = value.child_by_field_name("left")
        return bool(_EXPORTS.fullmatch(text(target))) and _is_exported(value.child_by_field_name("right"))
    if value.type == "class":
        return all(map(_is_free, _members(value)))
    return _is_require(value) or _is_stub(value)


def _is_require(value: Node) -> bool:
    """Whether a value comes from another module: `require("./a")`, or a name of it."""
    return bool(_REQUIRE.fullmatch(text(value).strip()))


def _declarators(one: Node) -> list[Node]:
    return [spec for part in children(one) for spec in (children(part) if part.type == "var_spec_list" else [part])]


def _is_declared(one: Node) -> bool:
    """Whether a name has no value in Go, or is bound to a stub, a module's export, or a Go sentinel error."""
    value = one.child_by_field_name("value")
    if value is None:
        return one.type == "var_spec"
    return _is_stub(value) or _is_require(value) or bool(_SENTINEL.fullmatch(text(value).strip()))


def _is_stub(function: Node) -> bool:
    """Whether a function only throws "not implemented"."""
    said = text(function.child_by_field_name("body")).strip()
    inside = re.sub(r"/\*.*?\*/|//[^\n]*", "", said[1:-1], flags=re.DOTALL) if said[:1] == "{" else said
    return bool(_NOT_WRITTEN.fullmatch(inside.strip()))


def _declared_name(node: Node) -> str:
    one = _unwrapped(node)
    named = next(iter(_declarators(one)), one) if one.type in _VALUES else one
    owner = text(one.child_by_field_name("receiver"))
    said = text(named.child_by_field_name("name") or named.child_by_field_name("property"))
    return f"{owner} {said}".strip() if owner else said
