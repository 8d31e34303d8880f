"""Code in JavaScript, TypeScript and Go, piece by piece, as `call_arguments` compares it.

Imported only when a file of such a language is read, because tree-sitter is slow to load.
"""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from treadle.evidence.call_arguments import CodeFile, CodePart, CodeUnit
from treadle.evidence.script_code import ALL_FUNCTIONS, function_name, loose_statements, read_script
from treadle.git.api.syntax import children, text

_NAMES: Final = frozenset(
    "identifier property_identifier shorthand_property_identifier private_property_identifier field_identifier "
    "package_identifier shorthand_property_identifier_pattern statement_identifier this super".split()
)
_MEMBERS: Final = {
    "member_expression": ("object", "property"),
    "selector_expression": ("operand", "field"),
}
_TYPES: Final = frozenset(
    "type_annotation type_parameters type_arguments type_parameter_list accessibility_modifier import_statement "
    "formal_parameters parameter_list".split()
)
_CALLS: Final = frozenset({"call_expression", "new_expression"})
_STRINGS: Final = frozenset({"string", "interpreted_string_literal", "raw_string_literal"})
_BINDERS: Final = frozenset(
    "formal_parameters parameter_list variable_declarator short_var_declaration for_in_statement range_clause "
    "catch_clause required_parameter optional_parameter arrow_function".split()
)
_IMPORTS: Final = frozenset({"import_statement", "import_declaration"})


def script_file(path: str, source: str) -> CodeFile:
    """A file, piece by piece; a `SyntaxError` if the grammar does not fit."""
    root = read_script(path, source).root
    units = [*_function_units(root), *_statement_units(root)]
    imports = {
        text(it): text(it)
        for node in children(root)
        if node.type in _IMPORTS
        for it in _all(node)
        if it.type in ("identifier", "package_identifier")
    }
    top = {text(_named(one)) for one in children(root)} | {
        text(it.child_by_field_name("name")) for one in children(root) for it in _all(one) if _is_top(it, root)
    }
    return CodeFile(tuple(units), imports, frozenset(top - {""}))


def _function_units(root: Node) -> Iterator[CodeUnit]:
    for node in _all(root):
        if node.type not in ALL_FUNCTIONS:
            continue
        line = node.start_point.row + 1
        body = node.child_by_field_name("body")
        parts = (_part(body),) if body is not None else ()
        yield CodeUnit(_title(node) or function_name(node, ""), line, (), {}, parts, _bound(node))


def _statement_units(root: Node) -> Iterator[CodeUnit]:
    for _, node, line in loose_statements(root, "the module"):
        yield CodeUnit("", line, (), {}, (_part(node),), frozenset())


def _title(function: Node) -> str:
    """The text that a test runner calls a function by: `adds` of `test("adds", () => …)`."""
    above = function.parent
    first = next(iter(children(above)), None) if above is not None and above.type == "arguments" else None
    return text(first) if first is not None and first.type in _STRINGS else ""


def _is_top(node: Node, root: Node) -> bool:
    above = node.parent.parent if node.parent is not None else None
    return node.type == "variable_declarator" and above in (root, *children(root))


def _named(node: Node) -> Node | None:
    inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
    return inner.child_by_field_name("name") if inner is not None else None


def _all(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.named_children)


def _bound(function: Node) -> frozenset[str]:
    """Names that a function, or one around it, binds."""
    names: set[str] = set()
    around: Node | None = function
    while around is not None and around.parent is not None:
        if around.type in ALL_FUNCTIONS:
            names |= set(_bindings(around))
        around = around.parent
    return frozenset(names)


def _bindings(function: Node) -> Iterator[str]:
    for node in _all(function):
        if node.type in _BINDERS:
            bound = [node.child_by_field_name(name) for name in ("name", "left", "parameter", "pattern")]
            places = [one for one in bound if one is not None]
            if node.type in ("formal_parameters", "parameter_list"):
                places = children(node)
            yield from (text(it) for one in places for it in _all(one) if it.type in _NAMES)


def _part(node: Node) -> CodePart:
    line = node.start_point.row + 1
    if node.type in ALL_FUNCTIONS:
        return CodePart("function", "", (), line)
    if node.type in _NAMES:
        return CodePart("name", text(node), (), line)
    if node.type in _MEMBERS:
        owner, member = (node.child_by_field_name(field) for field in _MEMBERS[node.type])
        inner = _part(owner) if owner is not None else CodePart("leaf")
        if inner.kind == "name":
            return CodePart("name", f"{inner.text}.{text(member)}", (), line)
        return CodePart("member", text(member), (inner,), line)
    if node.type in _CALLS:
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        given = node.child_by_field_name("arguments")
        listed = [CodePart("argument", "", (_part(one),), line) for one in children(given)]
        called = _part(callee) if callee is not None else CodePart("leaf")
        return CodePart("call", "", (called, *listed), line)
    if not node.named_children or node.type in _STRINGS:
        said = text(node)
        return CodePart("leaf", said[1:-1] if node.type == "string" else said, (), line)
    inside = [one for one in node.children if one.type not in _TYPES and one.type != "comment"]
    signs = " ".join(one.type for one in inside if not one.is_named and one.type not in (",", ";"))
    parts = [_part(one) for one in inside if one.is_named]
    return CodePart(node.type, "", (CodePart("leaf", signs), *parts), line)
