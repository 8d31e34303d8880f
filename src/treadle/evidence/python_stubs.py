"""Bodies that are not written yet, in Python: where they are, and a program in which they return something silly."""

import ast
from collections.abc import Callable, Iterator
from typing import Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
_WORDS: Final = ("not implemented", "todo", "unimplemented")


def stubs(source: str) -> list[tuple[str, int]]:
    """Name and line of each function that says it is not implemented; a `SyntaxError` if it is no program."""
    return [(function.name, function.lineno) for function in _stubs(ast.parse(source))]


def stub_functions(source: str) -> list[Function]:
    """The functions that say they are not implemented; none if it is no program."""
    try:
        return list(_stubs(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def with_stubs_returning(source: str, value: Callable[[Function], str]) -> str | None:
    """The program with `return <value>` in place of what is not implemented; None if nothing is missing."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = list(_stubs(module))
    for function in found:
        function.body = ast.parse(f"return {value(function)}").body
    return ast.unparse(ast.fix_missing_locations(module)) if found else None


def _stubs(module: ast.Module) -> Iterator[Function]:
    for node in ast.walk(module):
        if isinstance(node, Function) and not _is_abstract(node) and _is_stub(node.body):
            yield node


def _is_abstract(function: Function) -> bool:
    names = {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}
    return bool(names & {"abstractmethod", "overload", "abstractproperty"})


def _is_stub(body: list[ast.stmt]) -> bool:
    """A body that only raises `NotImplementedError`, whatever documentation precedes it."""
    rest = [one for one in body if not _is_text(one)]
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and _is_not_implemented(rest[0].exc)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_not_implemented(raised: ast.expr | None) -> bool:
    if raised is None:
        return False
    name = ast.unparse(raised.func if isinstance(raised, ast.Call) else raised)
    if name.rpartition(".")[2] in ("NotImplementedError", "NotImplemented"):
        return True
    said = [one.value for one in ast.walk(raised) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return any(text.lower().startswith(_WORDS) for text in said)
