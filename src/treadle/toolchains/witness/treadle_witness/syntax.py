"""Small pieces of syntax that the files of tests are read by, and that are put into them."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


def load(name: str) -> Any:
    """A name that is read."""
    return ast.Name(id=name, ctx=ast.Load())


def placed(node: Any, at: Any) -> Any:
    """Something new, in the line of what is there."""
    return ast.fix_missing_locations(ast.copy_location(node, at))


def fetch_first(function: Any, name: str, owner: str, attribute: str) -> None:
    """Have a function fetch something before it calls anything: whoever exchanges it later exchanges nothing there."""
    value = ast.Attribute(value=load(owner), attr=attribute, ctx=ast.Load())
    fetched = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
    at = 1 if ast.get_docstring(function, clean=False) is not None else 0
    function.body.insert(at, placed(fetched, function.body[0]))


def inside(node: Any) -> Iterator[Any]:
    """Everything in a function that is not in another one inside of it."""
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
