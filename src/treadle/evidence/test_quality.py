"""Tests that show nothing, found by reading them: no assertion, or only assertions that always hold. Python only."""

import ast
from collections.abc import Iterator
from typing import Final

import msgspec

_ASSERTING: Final = ("assert", "raises", "warns", "check", "expect", "verify", "fail", "should", "must", "approx")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Smell(msgspec.Struct, frozen=True):
    """A test that shows nothing, and why."""

    test: str
    """Its name, with that of its class."""
    line: int
    what: str


def is_readable(path: str) -> bool:
    """Whether tests in this file can be read."""
    return path.endswith(".py")


def smells(source: str) -> list[Smell]:
    """The tests in a file that cannot fail, or fail only by accident; none if it cannot be parsed."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    asserting = {one.name for one in ast.walk(module) if isinstance(one, _Function) and _asserts_directly(one)}
    found = [Smell(name, test.lineno, what) for name, test in _tests(module) if (what := _smell(test, asserting))]
    return sorted(found, key=lambda one: one.line)


def _tests(module: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in module.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, _Function) and one.name.startswith("test")]
            yield from ((f"{node.name}::{one.name}", one) for one in methods)


def _smell(test: _Function, asserting: set[str]) -> str:
    asserts = [one for one in ast.walk(test) if isinstance(one, ast.Assert)]
    if any(not _always_holds(one.test) for one in asserts) or _calls_an_assertion(test, asserting):
        return ""
    if asserts:
        return f"asserts only what always holds: {ast.unparse(asserts[0].test)}"
    return "asserts nothing"


def _asserts_directly(function: _Function) -> bool:
    return any(isinstance(one, ast.Assert | ast.Raise) for one in ast.walk(function))


def _calls_an_assertion(test: _Function, asserting: set[str]) -> bool:
    """A call of something that asserts, by its name or because it is written in the same file."""
    names = [_name(one.func) for one in ast.walk(test) if isinstance(one, ast.Call)]
    arguments = [one.arg for one in (*test.args.args, *test.args.kwonlyargs)]
    return any(name in asserting or _sounds_asserting(name) for name in names) or any(
        _sounds_asserting(name) or name == "benchmark" for name in arguments
    )


def _sounds_asserting(name: str) -> bool:
    return any(word in name.lower() for word in _ASSERTING)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _always_holds(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements):
            return bool(elements)  # `assert (x == 1, "message")`
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right) and not any(isinstance(one, ast.Call) for one in ast.walk(left))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_always_holds(value) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_always_holds(value) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return False
