"""What code in JavaScript, TypeScript or Go does, whatever its names are."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from treadle.evidence.logic import Shape
from treadle.git.api import go, javascript
from treadle.git.api.languages import LARGEST
from treadle.git.api.syntax import Source, children, signature, structure, text

_FUNCTIONS: Final = frozenset(
    "function_declaration generator_function_declaration function_expression generator_function arrow_function "
    "method_definition method_declaration func_literal".split()
)
_BODIES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class", "internal_module", "module"})
_APART: Final = frozenset(
    "import_statement import_declaration package_clause interface_declaration type_alias_declaration "
    "type_declaration function_signature export_clause".split()
)
"""Says nothing about what is done."""
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
    """Every function, and what stands outside of them; a `SyntaxError` if the grammar does not fit."""
    file = read_script(path, source)
    return [*_functions(file), *_rest(file, file.root, "the module")]


def code_only(path: str, source: str) -> str:
    """A program without its comments; a `SyntaxError` if the grammar does not fit."""
    return signature(read_script(path, source).root)


def read_script(path: str, source: str) -> Source:
    """A program as a syntax tree; a `SyntaxError` if the grammar does not fit."""
    data = source.encode(errors="replace")
    if len(data) > LARGEST:
        raise SyntaxError(f"it is too large to be read: more than {LARGEST} bytes")
    return go.syntax(path, data) if path.endswith(".go") else javascript.syntax(path, data)


def _functions(file: Source) -> Iterator[Shape]:
    stack = [file.root]
    for _ in range(_MOST):
        if not stack:
            return
        node = stack.pop()
        if node.type in _FUNCTIONS:
            body = node.child_by_field_name("body")
            yield Shape(structure(file, body, _ERASED), _name(node), node.start_point.row + 1)
        stack += reversed(node.named_children)
    raise SyntaxError("it has too many parts")


def _name(function: Node) -> str:
    named = function.child_by_field_name("name")
    above = function.parent
    if named is None and above is not None:
        named = above.child_by_field_name("name")
    return text(named) or "a function"


def _rest(file: Source, node: Node, name: str) -> Iterator[Shape]:
    for one in children(node):
        inner = one.child_by_field_name("declaration") if one.type == "export_statement" else one
        if inner is None or inner.type in _FUNCTIONS or inner.type in _APART:
            continue
        if inner.type in _BODIES:
            yield from _rest(file, inner.child_by_field_name("body") or inner, text(inner.child_by_field_name("name")))
        else:
            yield Shape(structure(file, inner, _ERASED), name or "the class", one.start_point.row + 1)
