"""Names that a declaration of JavaScript or TypeScript brings: its own, and those of the members of a class."""

from collections.abc import Iterable, Iterator
from typing import Final

from tree_sitter import Node

from treadle.git.api.symbol import Symbol, symbol
from treadle.git.api.syntax import Source, children, signature, structure, text

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


def declared(file: Source, node: Node | None) -> Iterator[Named]:
    """The names that a declaration brings; none for anything else."""
    if node is None:
        return
    name = text(node.child_by_field_name("name")) or "default"
    if node.type in _FUNCTIONS:
        yield name, _function(file, node)
    elif node.type in _CLASSES:
        yield from _class(file, name, node)
    elif node.type in _WHOLE:
        yield name, symbol(signature(node))
    elif node.type in ("lexical_declaration", "variable_declaration"):
        for one in children(node):
            yield from _variable(file, node, one)
    elif node.type in ("internal_module", "module"):
        yield from _namespace(file, name, node)
    elif node.type in ("ambient_declaration", "expression_statement"):
        inner = [one for one in children(node) if one.type not in ("call_expression", "assignment_expression")]
        for one in inner:
            yield from declared(file, one)


def of_value(file: Source, name: str, shown: str, value: Node) -> Iterator[Named]:
    """A name with a value: a function or a class under that name, or a thing whose value is what it does."""
    if value.type in _CLASSES:
        yield from _class(file, name, value)
    elif value.type in _FUNCTIONS:
        one = _function(file, value)
        yield name, Symbol(symbol(f"{shown} = {one.signature}").signature, one.body)
    else:
        yield name, symbol(shown, structure(file, value))


def members(file: Source, nodes: Iterable[Node]) -> Iterator[Named]:
    """The members of a class that others may use."""
    for node in nodes:
        name = text(node.child_by_field_name("name") or node.child_by_field_name("property"))
        if node.type in _FUNCTIONS:
            yield name, _function(file, node)
        elif node.type in _FIELDS:
            value = node.child_by_field_name("value")
            equals = [one for one in node.children if one.type == "="]
            head = signature(node, [one for one in (value, *equals) if one is not None])
            yield from of_value(file, name, head, value) if value is not None else [(name, symbol(head))]


def _function(file: Source, node: Node) -> Symbol:
    body = node.child_by_field_name("body")
    return symbol(signature(node, [body] if body is not None else []), structure(file, body))


def _class(file: Source, name: str, node: Node) -> Iterator[Named]:
    body = node.child_by_field_name("body")
    inside = children(body)
    offered = [one for one in inside if _is_offered(one)]
    rest = "\n".join(structure(file, one) for one in inside if one not in offered)
    yield name, symbol(signature(node, [body] if body is not None else []), rest)
    yield from ((f"{name}.{member}", one) for member, one in members(file, offered))


def _is_offered(member: Node) -> bool:
    if member.type not in _FUNCTIONS and member.type not in _FIELDS:
        return False
    name = member.child_by_field_name("name") or member.child_by_field_name("property")
    hidden = any(one.type == "accessibility_modifier" and text(one) != "public" for one in member.children)
    return not hidden and not text(name).startswith(("#", "_"))


def _variable(file: Source, declaration: Node, node: Node) -> Iterator[Named]:
    if node.type != "variable_declarator":
        return
    kind = text(declaration.child_by_field_name("kind")) or "var"
    name, typed, value = (node.child_by_field_name(one) for one in ("name", "type", "value"))
    for place, label in enumerate(_labels(name)):
        shown = f"{kind} {label}" + (signature(typed).replace(":", ": ", 1) if typed is not None else "")
        shown = " ".join(shown.split())
        if value is None:
            yield label, symbol(shown)
        elif name is not None and name.type in _PATTERNS:
            yield from of_value(file, label, shown, value)
        else:
            yield label, symbol(shown, f"{place} {structure(file, name)} {structure(file, value)}")


def _labels(pattern: Node | None) -> Iterator[str]:
    """The names that a pattern binds."""
    if pattern is None:
        return
    if pattern.type in _PATTERNS:
        yield text(pattern)
        return
    inner = pattern.child_by_field_name("value") or pattern.child_by_field_name("left")
    for one in [inner] if inner is not None else children(pattern):
        yield from _labels(one)


def _namespace(file: Source, name: str, node: Node) -> Iterator[Named]:
    yield name, symbol(f"namespace {name}")
    for one in children(node.child_by_field_name("body")):
        inner = one.child_by_field_name("declaration") if one.type == "export_statement" else one
        is_ambient = node.parent is not None and node.parent.type == "ambient_declaration"
        if one.type == "export_statement" or is_ambient:
            yield from ((f"{name}.{label}", each) for label, each in declared(file, inner))
