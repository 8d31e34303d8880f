"""Which functions assert something, by their bodies: those of a file of tests, and those that it has from other files.

Only files of the tests count. What a function calls counts as its own, as long as it is written in one of these files.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import Final

from treadle.evidence.live_code import live
from treadle.evidence.python_imports import Named, by_name, files_of, imported_path
from treadle.evidence.subject import Subject

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MOST: Final = 30
"""Files that are read for one file of tests."""
_LARGEST: Final = 500_000
_CALLED: Final = frozenset({"fail", "raises", "warns"})


async def asserting_beside(s: Subject, file: str) -> set[str]:
    """The names by which a file of Python tests can call functions that assert something, in other files of tests."""
    named = by_name(path for path in await s.entries() if s.tests.is_test(path))
    texts = {file: await s.text(file) or ""}
    around = [path for path in named.get("conftest", ()) if file.startswith(path.removesuffix("conftest.py"))]
    due = [*around, *_imported(file, texts[file], named)]
    while due and len(texts) < _MOST:
        path = due.pop(0)
        if path not in texts:
            texts[path] = await s.text(path) or ""
            due += _imported(path, texts[path], named)
    return asserting(texts)


def asserting(texts: Mapping[str, str]) -> set[str]:
    """The names of the functions in some files that assert something, by themselves or by calling one that does."""
    modules = [module for text in texts.values() if (module := _parsed(text)) is not None]
    functions = [one for module in modules for one in ast.walk(module) if isinstance(one, Function)]
    found = {one.name for one in functions if _asserts(one)}
    calls = [(one.name, set(_called(one))) for one in functions]
    others = [(one.asname, {one.name}) for module in modules for one in _aliases(module) if one.asname]
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, used in (*calls, *others) if used & found}
    return found


def _asserts(function: Function) -> bool:
    """Whether a body has something by which it makes a test fail."""
    nodes = list(live(function.body))
    return any(map(_is_failure, nodes)) or not _CALLED.isdisjoint(_called(function))


def _is_failure(node: ast.AST) -> bool:
    """An assertion, or an exception that may be one: those that are built in have other reasons, as in a fake."""
    if not isinstance(node, ast.Raise) or node.exc is None:
        return isinstance(node, ast.Assert | ast.Raise)
    raised = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    return raised == "AssertionError" or not hasattr(builtins, raised)


def _called(function: Function) -> Iterator[str]:
    for one in live(function.body):
        if isinstance(one, ast.Call):
            yield one.func.attr if isinstance(one.func, ast.Attribute) else getattr(one.func, "id", "")


def _aliases(module: ast.Module) -> Iterator[ast.alias]:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            yield from node.names


def _imported(file: str, text: str, named: Named) -> list[str]:
    """The files that another one imports."""
    module = _parsed(text)
    wanted = [path for node in ast.walk(module) for path in _wanted(node, file)] if module is not None else []
    return [one for path in dict.fromkeys(wanted) for one in files_of(path, named)]


def _wanted(node: ast.AST, file: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (imported_path(one.name, 0, file) for one in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = imported_path(module, level, file)
            yield from (above, *(f"{above}/{one.name}".lstrip("/") for one in names))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if len(text) <= _LARGEST else None
    except (SyntaxError, ValueError, RecursionError):
        return None
