"""Tests that fail by themselves: they can never pass, or never meet the code under test. Python only."""

import ast
import builtins
from collections.abc import Iterator
from typing import Final

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_REACHING: Final = frozenset({"open", "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "input"})
_BUILT_IN: Final = frozenset(dir(builtins)) - _REACHING
_INWARD: Final = frozenset(
    "pytest math cmath re json random string itertools functools operator collections datetime decimal fractions"
    " statistics typing dataclasses enum copy textwrap time uuid hashlib base64".split()
)
"""Modules by which no test can reach other code of the project."""


def idle_reason(test: _Function, module: ast.Module) -> str:
    """Why a test fails by itself; empty if the code under test has a say in it."""
    return doomed_reason(test) or ("meets no code of the project" if _is_alone(test, module) else "")


def doomed_reason(test: _Function) -> str:
    """Why a test can never pass, whatever is implemented; empty if it may."""
    may_leave = any(isinstance(one, ast.Return | ast.Yield) for one in ast.walk(test))
    doomed = next((one for one in test.body if _is_doomed(one)), None)
    return f"can never pass: {ast.unparse(doomed)[:120]}" if doomed is not None and not may_leave else ""


def _is_doomed(statement: ast.stmt) -> bool:
    """Something that every call of the test comes to, and that always fails."""
    match statement:
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name in ("NotImplementedError", "AssertionError")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr="fail"))):
            return True
    return False


def _is_alone(test: _Function, module: ast.Module) -> bool:
    """Whether a test uses nothing but its own variables, what is built in, and modules that lead nowhere."""
    arguments = (*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs)
    if arguments or test.decorator_list or any(isinstance(one, ast.Import | ast.ImportFrom) for one in ast.walk(test)):
        return False
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    own = {one.id for one in ast.walk(test) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return names <= own | _BUILT_IN | set(_inward_names(module))


def _inward_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from (one.asname or one.name for one in node.names if one.name in _INWARD)
        elif isinstance(node, ast.ImportFrom) and node.module in _INWARD and not node.level:
            yield from (one.asname or one.name for one in node.names)
