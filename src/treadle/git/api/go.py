"""The reader for Go: a package exports the names that begin with a capital letter."""

from collections.abc import Iterator
from pathlib import PurePosixPath

import tree_sitter_go
from tree_sitter import Node

from treadle.git.api.languages import FileExports, Symbol, make_symbol, merge_apis
from treadle.git.api.syntax import SyntaxSource, children, parse_syntax, signature, structure, text


def syntax(_path: str, source: bytes) -> SyntaxSource:
    """Parse the file; raise a `SyntaxError` if it is not Go."""
    return parse_syntax(source, tree_sitter_go.language)


def read(path: str, source: bytes) -> FileExports:
    """Return the exports of a Go file; raise `SyntaxError` if it cannot be parsed."""
    file = syntax(path, source)
    folder = str(PurePosixPath(path).parent)
    clauses = [one for one in children(file.root) if one.type == "package_clause"]
    names = [text(one) for clause in clauses for one in children(clause)]
    package = folder if folder != "." else next(iter(names), "main")
    found = merge_apis({name: one} for name, one in _definitions(file))
    return FileExports(symbols={f"{package}.{name}": one for name, one in found.items() if _is_exported(name)})


def _is_exported(name: str) -> bool:
    return all(part[:1].isupper() for part in name.split("."))


def _definitions(file: SyntaxSource) -> Iterator[tuple[str, Symbol]]:
    for node in children(file.root):
        match node.type:
            case "function_declaration":
                yield text(node.child_by_field_name("name")), _function(file, node)
            case "method_declaration":
                yield f"{_owner(node)}.{text(node.child_by_field_name('name'))}", _function(file, node)
            case "type_declaration":
                for one in children(node):
                    yield from _type(file, one)
            case "const_declaration" | "var_declaration":
                yield from _values(file, node)


def _function(file: SyntaxSource, node: Node) -> Symbol:
    body = node.child_by_field_name("body")
    receiver = children(node.child_by_field_name("receiver"))
    names = [one for part in receiver for one in part.children_by_field_name("name")]  # callers never see its name
    return make_symbol(signature(node, [one for one in (body, *names) if one is not None]), structure(file, body))


def _owner(method: Node) -> str:
    """Return the type that a method belongs to."""
    stack = [one.child_by_field_name("type") for one in children(method.child_by_field_name("receiver"))]
    while stack and (node := stack.pop()) is not None:
        if node.type == "type_identifier":
            return text(node)
        stack += children(node)[:1]
    return "?"


def _type(file: SyntaxSource, node: Node) -> Iterator[tuple[str, Symbol]]:
    name, shape = text(node.child_by_field_name("name")), node.child_by_field_name("type")
    if shape is None or shape.type != "struct_type":
        yield name, make_symbol(f"type {signature(node)}")
        return
    fields = [one for part in children(shape) for one in children(part)]
    offered = [(label, one) for one in fields for label in _labels(one) if _is_exported(label)]
    hidden = [one for one in fields if not any(_is_exported(label) for label in _labels(one))]
    head = signature(node, [one for one in children(shape) if one.type == "field_declaration_list"])
    yield name, make_symbol(f"type {head}", "\n".join(structure(file, one) for one in hidden))
    for label, one in offered:
        others = [each for each in one.children_by_field_name("name") if text(each) != label]
        commas = [each for each in one.children if each.type == ","]
        yield f"{name}.{label}", make_symbol(signature(one, [*others, *commas]))


def _labels(field: Node) -> list[str]:
    """Return the names of a field; an embedded type has the name of the type."""
    names = [text(one) for one in field.children_by_field_name("name")]
    return names or [text(field.child_by_field_name("type")).partition("[")[0].rpartition(".")[2].lstrip("*")]


def _values(file: SyntaxSource, node: Node) -> Iterator[tuple[str, Symbol]]:
    kind = "const" if node.type == "const_declaration" else "var"
    specs = [one for part in children(node) for one in (children(part) if part.type == "var_spec_list" else [part])]
    last = ""
    for number, spec in enumerate(specs):
        typed, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
        names = [one for one in spec.children_by_field_name("name") if one.is_named]
        last = structure(file, value) if value is not None or kind == "var" else last
        counted = f"{number} {last}" if value is None or "iota" in last else last  # iota counts lines
        for place, name in enumerate(names):
            shown = f"{kind} {text(name)}" + (f" {signature(typed)}" if typed is not None else "")
            several = f"{place} {counted}" if len(names) > 1 else counted
            yield text(name), make_symbol(shown, several)
