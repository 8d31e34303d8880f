"""Verifies that the running tests match their files, and use the functions that their files name."""

from __future__ import annotations

import ast
import dis
import sys
from bisect import bisect_right
from types import CodeType, FunctionType, ModuleType
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

import pytest

# Small pieces of syntax to read test files, and to insert into them.

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


def load(name: str) -> Any:
    """Make a node that reads a name."""
    return ast.Name(id=name, ctx=ast.Load())


def placed(node: Any, at: Any) -> Any:
    """Give a new node the line of an existing one."""
    return ast.fix_missing_locations(ast.copy_location(node, at))


def fetch_first(function: Any, name: str, owner: str, attribute: str) -> None:
    """Let a function bind an attribute before its first call, so a later exchange has no effect in it."""
    value = ast.Attribute(value=load(owner), attr=attribute, ctx=ast.Load())
    fetched = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
    at = 1 if ast.get_docstring(function, clean=False) is not None else 0
    function.body.insert(at, placed(fetched, function.body[0]))


def inside(node: Any) -> Iterator[Any]:
    """Yield the nodes of a function, without those of inner scopes."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, SCOPES):
            yield one
            yield from inside(one)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of every function and class in some code, however deep."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from codes(one)


_LARGEST = 1_000_000
_KINDS = (FunctionType, type, ModuleType)
_compile, _starts, _position = compile, dis.findlinestarts, bisect_right
_RAISE = dis.opmap["RAISE_VARARGS"]


class Written:
    """The files of tests as they were before they were imported, and their names as they were right after."""

    def __init__(self) -> None:
        self._asserts: dict[str, dict[tuple[str, int], list[tuple[int, int]]]] = {}
        self._free: dict[str, set[str]] = {}
        self._names: dict[str, tuple[Any, dict[str, tuple[Any, Any]]]] = {}

    def read(self, collector: Any) -> None:
        """Look at a file of tests before it is imported."""
        if not isinstance(collector, pytest.Module):
            return
        try:
            text = collector.path.read_text(encoding="utf-8")
            if len(text) > _LARGEST:
                return
            tree = _compile(text, str(collector.path), "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
            plain = _compile(text, str(collector.path), "exec", dont_inherit=True, optimize=0)
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return
        self._free[collector.nodeid] = _rebound(tree)
        self._asserts[collector.nodeid] = _asserts(tree, plain)

    def lost(self, item: Any) -> list[int]:
        """Return the lines of a test's assertions that its code lacks; remember the values of its file's names."""
        function, module = as_written(getattr(item, "function", None)), getattr(item, "module", None)
        file = item.nodeid.partition("::")[0]
        if isinstance(module, ModuleType) and file in self._free and file not in self._names:
            self._names[file] = (module, _named(module))
        if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__") or sys.flags.optimize:
            return []
        code = function.__code__
        expected = self._asserts.get(file, {}).get((code.co_name, code.co_firstlineno), [])
        raising = set(_raising(code)) if expected else set()
        return [first for first, last in expected if not raising.intersection(range(first, last + 1))]

    def exchanged(self) -> Iterator[str]:
        """Yield the names in test files that now mean another function, class or module."""
        for file, (module, before) in self._names.items():
            after = _named(module)
            for name, value in before.items():
                now = after.get(name, (None, None))
                if name not in self._free[file] and not (now[0] is value[0] and now[1] is value[1]):
                    yield f"{file}: {name}"


def as_written(function: Any) -> Any:
    """The function that hypothesis calls with examples, in place of the one that it puts in front of it."""
    held = vars(function).get("hypothesis") if isinstance(function, FunctionType) else None
    return getattr(held, "inner_test", function)


def _named(module: ModuleType) -> dict[str, tuple[Any, Any]]:
    found = dict(vars(module))
    return {
        name: (value, getattr(value, "__code__", None) if isinstance(value, FunctionType) else None)
        for name, value in found.items()
        if isinstance(value, _KINDS) and not name.startswith("@")
    }


def _rebound(tree: Any) -> set[str]:
    """The names that a file of tests may well bind anew while its tests run."""
    nodes = list(ast.walk(tree))
    found = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    by_hand = {"globals", "setattr", "vars", "reload", "__dict__", "modules"}
    if any(getattr(node, "id", getattr(node, "attr", "")) in by_hand for node in nodes):
        found |= {name for node in nodes for name in _bound(node)}
    return found


def _bound(node: Any) -> list[str]:
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    return [node.name] if isinstance(node, SCOPES[:3]) else [node.id] if isinstance(node, ast.Name) else []


def _asserts(tree: Any, plain: CodeType) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """By name and first line of each function, the lines of the assertions in it that can fail."""
    raising = {(code.co_name, code.co_firstlineno): set(_raising(code)) for code in codes(plain)}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            key = (node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)]))
            lines = [(one.lineno, one.end_lineno or one.lineno) for one in inside(node) if isinstance(one, ast.Assert)]
            known = raising.get(key, set())
            found[key] = [(first, last) for first, last in lines if known.intersection(range(first, last + 1))]
    return found


def _raising(code: CodeType) -> Iterator[int]:
    """The lines of some code that raise something."""
    starts = list(_starts(code))
    offsets = [offset for offset, _ in starts]
    for number, operation in enumerate(code.co_code[::2]):  # what is between them are arguments
        if operation == _RAISE:
            yield starts[_position(offsets, number * 2) - 1][1] or 0
