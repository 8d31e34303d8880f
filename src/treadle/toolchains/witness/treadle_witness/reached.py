"""Finds tests that passed without reaching any of their assertions: such a test has checked nothing.

It marks only assertions that a run may skip, and only if the test makes no other check. A loop that finds none of the
things that must not be there (`assert "secret" not in line`), or a check for some machines only, is no finding.
"""

from __future__ import annotations

import ast
import re
from inspect import unwrap
from typing import Any, Callable, Iterator  # noqa: UP035 - this runs on old versions too

from .written import FUNCTIONS, SCOPES, as_written, fetch_first, inside, load, placed

_REACH = "@reach"
_ASKS = re.compile(
    r"_*(assert|check|expect|verif|ensure|should|must|fail|raises|warns|deprecated_call|skip|xfail|exit|compare|validate)"
)
"""The names of functions that make checks themselves."""
_MACHINES = frozenset({"sys", "os", "platform", "environ", "caplog", "recwarn", "catch_warnings"})
_NEGATIVE = (ast.NotEq, ast.NotIn, ast.IsNot)


class Reached:
    """The marked assertions of one run, and those that a test has reached."""

    def __init__(self) -> None:
        self._met: set[int] = set()
        self.reach: Callable[[int], None] = self._met.add
        self._marked: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
        self._count = 0
        self._passed: dict[tuple[str, str, int], str] = {}

    def put_marks(self, module: Any, file: str) -> None:
        """Mark the assertions of a file of tests, before anything else is done to it."""
        functions = [node for node in ast.walk(module) if isinstance(node, FUNCTIONS)]
        asking = {node.name for node in functions if any(isinstance(one, ast.Assert) for one in ast.walk(node))}
        for node in functions:
            if node.name.startswith("test"):
                found = list(_avoidable(node, asking))
                if found:
                    key = (file, node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)]))
                    self._marked[key] = [self._mark(body, one) for body, one in found]
                    fetch_first(node, _REACH, "@pytest_ar", "_reach")

    def _mark(self, body: list[Any], statement: Any) -> tuple[int, int]:
        self._count += 1
        called = ast.Call(func=load(_REACH), args=[ast.Constant(value=self._count)], keywords=[])
        body.insert(body.index(statement), placed(ast.Expr(called), statement))
        return self._count, statement.lineno

    def passed(self, item: Any) -> None:
        """Hear of a test that passed."""
        function = as_written(getattr(item, "function", None))
        code = getattr(unwrap(function), "__code__", None) if function else None
        if code is not None:
            self._passed.setdefault((code.co_filename, code.co_name, code.co_firstlineno), item.nodeid)

    def missed(self) -> Iterator[tuple[str, str]]:
        """Yield the tests that passed without reaching an assertion with any parameters, and the assertions' lines."""
        for key, test in self._passed.items():
            marked = self._marked.get(key, [])
            if marked and not self._met.intersection(number for number, _ in marked):
                yield test.partition("[")[0], ", ".join(str(line) for _, line in marked[:5])


def _avoidable(function: Any, asking: set[str]) -> Iterator[tuple[list[Any], Any]]:
    """Yield the skippable assertions of a test, each with its block; none if the test may check elsewhere, too."""
    nodes = list(inside(function))
    called = {_name(one.func) for one in nodes if isinstance(one, ast.Call)}
    leaves = any(isinstance(one, ast.Return) for one in nodes)
    if called & asking or any(_ASKS.match(name) for name in called):
        return
    if any(isinstance(one, ast.Raise) or _name(one) in _MACHINES for one in nodes):
        return
    if not leaves and _has_certain(function.body):
        return
    found = list(_asserts(function))
    if all(_is_positive(one.test) for _, one in found):
        yield from found


def _has_certain(body: list[Any]) -> bool:
    """Whether every path through some statements reaches an assertion."""
    return any(
        isinstance(one, ast.Assert) or (isinstance(one, (ast.With, ast.AsyncWith)) and _has_certain(one.body))
        for one in body
    )


def _asserts(node: Any) -> Iterator[tuple[list[Any], Any]]:
    """Yield the assertions of a function itself, except those in handlers of exceptions."""
    for _, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else ():
            if isinstance(one, ast.Assert):
                yield value, one
            elif isinstance(one, ast.AST) and not isinstance(one, (*SCOPES, ast.ExceptHandler)):
                yield from _asserts(one)


def _is_positive(test: Any) -> bool:
    """Whether an assertion requires a fact: it is neither a negation nor a constant."""
    if isinstance(test, ast.Compare):
        return not any(isinstance(one, _NEGATIVE) for one in test.ops)
    return not isinstance(test, ast.Constant) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _name(node: Any) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
