"""Examples in Python tests: calls whose result is compared with a value that is written down."""

import ast
from collections.abc import Iterator

import msgspec

_Function = ast.FunctionDef | ast.AsyncFunctionDef
UNKNOWN = "?"
"""In place of an argument that is no plain value."""


class Example(msgspec.Struct, frozen=True):
    """What a test says that a call returns."""

    test: str
    """Name of the test, with that of its class."""
    callee: str
    argument: str
    """The first one, as it would be written; `UNKNOWN` if it is no value, or there is none."""
    expected: str
    is_imported: bool = False
    """The callee is a plain name that the file imports, and that the test has no other meaning for."""


def examples(source: str) -> list[Example]:
    """The examples of a file of tests that every way through their test comes by; none if it is no program."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    imported = _imported(module)
    return [one for name, test in _tests(module) for one in _of(name, test, imported - _own_names(test))]


def mentioned(source: str) -> dict[str, set[str]]:
    """The names that each test of a file uses, and under an empty name, those that anything in it uses."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {"": _names(module), **{name: _names(test) for name, test in _tests(module)}}


def _names(node: ast.AST) -> set[str]:
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _imported(module: ast.Module) -> set[str]:
    """Names that a file has from elsewhere, as they are called there, and nothing else gives a meaning to."""
    listed = [one for node in module.body if isinstance(node, ast.ImportFrom) for one in node.names if not one.asname]
    own = {node.name for node in module.body if isinstance(node, _Function | ast.ClassDef)}
    stored = {one.id for one in ast.walk(module) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return {one.name for one in listed} - own - stored


def _own_names(test: _Function) -> set[str]:
    return {one.arg for one in ast.walk(test.args) if isinstance(one, ast.arg)}


def _tests(module: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in module.body:
        if isinstance(node, _Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}::{one.name}", one) for one in node.body if isinstance(one, _Function))


def _of(name: str, test: _Function, imported: set[str]) -> Iterator[Example]:
    results: dict[str, ast.Call | None] = {}
    for statement in test.body:
        match statement:
            case ast.Return():
                return
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as call):
                results[target] = None if target in results else call
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                for result, value in ((left, right), (right, left)):
                    called = results.get(result.id) if isinstance(result, ast.Name) else result
                    if isinstance(called, ast.Call) and is_value(value):
                        is_imported = isinstance(called.func, ast.Name) and called.func.id in imported
                        yield Example(name, _callee(called), _argument(called), ast.unparse(value), is_imported)


def _callee(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _argument(call: ast.Call) -> str:
    return ast.unparse(call.args[0]) if call.args and is_value(call.args[0]) else UNKNOWN


def is_value(node: ast.expr) -> bool:
    """Whether an expression is a plain value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
