"""The part of a Python function that can run and can make it fail: neither dead, nor swallowed by a handler."""

import ast
from collections.abc import Iterator
from typing import Final

_CATCHES_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVES: Final = ast.Return | ast.Raise | ast.Continue | ast.Break
_SPEAKS: Final = ("fail", "assert", "exit")


def live(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that can run, and whose failure is not caught and forgotten."""
    for statement in body:
        yield from _live(statement)
        if isinstance(statement, _LEAVES):
            return


def dead_reason(body: list[ast.stmt]) -> str:
    """Why an assertion in a function has no effect; empty if none was found that has not."""
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Try) and _is_swallowed(node) and _has_assert(node.body):
            return f"swallows its assertion (line {node.lineno}: the handler lets it pass)"
        if isinstance(node, ast.With) and _suppresses(node) and _has_assert(node.body):
            return f"suppresses its assertion (line {node.lineno})"
        if isinstance(node, ast.If | ast.While) and _is_false(node.test) and _has_assert(node.body):
            return f"asserts only where nothing is ever run (line {node.lineno})"
    return "asserts only after it has ended" if _has_assert(body) else ""


def _live(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While():
            yield from ast.walk(node.test)
            yield from () if _is_false(node.test) else live(node.body)
            yield from () if _is_true(node.test) else live(node.orelse)
        case ast.For() | ast.AsyncFor():
            yield from ast.walk(node.iter)
            yield from (*live(node.body), *live(node.orelse))
        case ast.Try():
            yield from () if _is_swallowed(node) else live(node.body)
            for handler in node.handlers:
                yield from live(handler.body)
            yield from (*live(node.orelse), *live(node.finalbody))
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                yield from ast.walk(item.context_expr)
            yield from () if _suppresses(node) else live(node.body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from live(node.body)  # it is written there to be called
        case _:
            yield from ast.walk(node)


def _is_swallowed(node: ast.Try) -> bool:
    return any(_catches(handler.type) and not _speaks(handler.body) for handler in node.handlers)


def _catches(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(ast.unparse(one).rpartition(".")[2] in _CATCHES_ASSERTIONS for one in kinds)


def _speaks(body: list[ast.stmt]) -> bool:
    """Whether a handler makes the test fail after all."""
    nodes = [inner for statement in body for inner in ast.walk(statement)]
    calls = [ast.unparse(one.func).lower() for one in nodes if isinstance(one, ast.Call)]
    return any(isinstance(one, ast.Raise | ast.Assert) for one in nodes) or any(
        word in name for name in calls for word in _SPEAKS
    )


def _suppresses(node: ast.With | ast.AsyncWith) -> bool:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(
        ast.unparse(one.func).rpartition(".")[2] == "suppress" and any(_catches(kind) for kind in one.args)
        for one in calls
    )


def _has_assert(body: list[ast.stmt]) -> bool:
    return any(isinstance(inner, ast.Assert) for statement in body for inner in ast.walk(statement))


def _is_false(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and not test.value


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
