"""Tests that show nothing, found by reading them: no assertion, none that can fail, or only of mocks. Python only.

What is certain is a reason to refuse. What only looks weak (a function compared with itself, any exception at all taken
for the expected one, something left to chance) is advice.
"""

import ast
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from treadle.evidence.beside_the_point import beside_the_point, looks_at_files
from treadle.evidence.chance import chance
from treadle.evidence.idle_tests import doomed_reason, idle_reason
from treadle.evidence.live_code import dead_reason, live

_ASSERTING: Final = ("assert", "raises", "warns", "check", "expect", "verify", "fail", "should", "must", "approx")
_MOCKS: Final = frozenset({"Mock", "MagicMock", "AsyncMock", "NonCallableMock"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Smell(msgspec.Struct, frozen=True):
    """A test that shows nothing, and why."""

    test: str
    """Its name, with that of its class."""
    line: int
    what: str
    is_certain: bool = True
    """Or else it may have its reasons, and whoever reads it should know."""


def is_readable(path: str) -> bool:
    """Whether tests in this file can be read."""
    return path.endswith(".py")


def smells(source: str, beside: Collection[str] = ()) -> list[Smell]:
    """The tests in a file that cannot fail, or fail only by accident; none if it cannot be parsed.

    Functions of other files that are known to assert something are told by name.
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    functions = [one for one in ast.walk(module) if isinstance(one, _Function)]
    asserting = {*beside, *(one.name for one in functions if _asserts_directly(one))}
    found: list[Smell] = []
    for name, test in _tests(module):
        if what := doomed_reason(test) or _smell(test, asserting) or idle_reason(test, module):
            found.append(Smell(name, test.lineno, what))
        elif what := _doubt(test, asserting) or _by_chance(test, module):
            found.append(Smell(name, test.lineno, what, is_certain=False))
    return sorted(found, key=lambda one: one.line)


def _tests(module: ast.Module) -> Iterator[tuple[str, _Function]]:
    for node in module.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, _Function) and one.name.startswith("test")]
            yield from ((f"{node.name}::{one.name}", one) for one in methods)


def _smell(test: _Function, asserting: set[str]) -> str:
    nodes = list(live(test.body))
    asserts = [one for one in nodes if isinstance(one, ast.Assert)]
    can_fail = [one for one in asserts if not _always_holds(one.test)]
    if can_fail or _calls_an_assertion(test, nodes, asserting):
        within = {id(node) for one in asserts for node in ast.walk(one)}
        others = _calls_an_assertion(test, [node for node in nodes if id(node) not in within], asserting)
        return _of_mocks(test, asserts) or ("" if others else beside_the_point(test, can_fail))
    if asserts:
        return f"asserts only what always holds: {ast.unparse(asserts[0].test)}"
    return dead_reason(test.body) or "asserts nothing"


def _of_mocks(test: _Function, asserts: list[ast.Assert]) -> str:
    """Assertions about nothing but mocks that were made here and given to nobody."""
    mocks = {
        target.id
        for one in ast.walk(test)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and _name(one.value.func) in _MOCKS
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    loads = [one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    others = set(loads) - mocks - _MOCKS - {"mock", "unittest", "pytest"}
    if mocks and asserts and not others and not test.args.args:
        return f"asserts only what it told a mock itself: {ast.unparse(asserts[0].test)}"
    return ""


def _doubt(test: _Function, asserting: set[str]) -> str:
    """Why a test that can fail may still show little."""
    nodes = list(live(test.body))
    asserts = [one for one in nodes if isinstance(one, ast.Assert) and not _always_holds(one.test)]
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    sounding = [one for one in calls if _name(one.func) in asserting or _sounds_asserting(_name(one.func))]
    if not sounding and asserts and all(_is_with_itself(one.test) for one in asserts):
        return f"compares a call with itself: {ast.unparse(asserts[0].test)}"
    if not asserts and sounding and all(_takes_any_exception(one) for one in sounding):
        return f"takes any exception for the right one: {ast.unparse(sounding[0])}"
    return looks_at_files(asserts)


def _by_chance(test: _Function, module: ast.Module) -> str:
    call = chance(test, module)
    return f"leaves something to chance: {call}" if call else ""


def _is_with_itself(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq | ast.Is)
        and ast.dump(test.left) == ast.dump(test.comparators[0])
    )


def _takes_any_exception(call: ast.Call) -> bool:
    if _name(call.func) not in ("raises", "assertRaises") or any(one.arg == "match" for one in call.keywords):
        return False
    return bool(call.args) and ast.unparse(call.args[0]) in ("Exception", "BaseException")


def _asserts_directly(function: _Function) -> bool:
    return any(isinstance(one, ast.Assert | ast.Raise) for one in ast.walk(function))


def _calls_an_assertion(test: _Function, nodes: list[ast.AST], asserting: set[str]) -> bool:
    """A call of something that asserts, by its name or because its body is known."""
    names = [_name(one.func) for one in nodes if isinstance(one, ast.Call)]
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
        case ast.Compare(left=ast.Call(func=ast.Name(id="len")), ops=[ast.GtE()], comparators=[ast.Constant(value=0)]):
            return True
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]):
            return ast.dump(left) == ast.dump(right) and not any(isinstance(one, ast.Call) for one in ast.walk(left))
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_always_holds(value) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_always_holds(value) for value in values)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
    return False
