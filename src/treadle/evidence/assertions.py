"""Finds the assertions of Python tests: code of a function that can run and fail it, and the functions with such code.

Only test files count. A function's calls count as its own, as long as the called function is in one of these files.
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeGuard

from treadle.evidence.code_shapes import (
    Function,
    Named,
    imported_path,
    last_name,
    module_files,
    modules_by_name,
    parse_python,
)
from treadle.evidence.subject import Subject
from treadle.evidence.unittest_assertions import is_assertion, plain_assertion

# The part of a Python function that can run and can make it fail: not dead, and not swallowed by a handler.

_CATCHES_ASSERTIONS: Final = frozenset({"AssertionError", "Exception", "BaseException"})
_LEAVES: Final = ast.Return | ast.Raise | ast.Continue | ast.Break
_SPEAKS: Final = ("fail", "assert", "exit")


def live(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node that can run, except where a failure would be caught and ignored."""
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
    return any(plain_assertion(inner) for statement in body for inner in ast.walk(statement))


def _is_false(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and not test.value


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


# Code that a test hands to threads and processes. A failed assertion there ends only the thread; it reaches the test
# by the result of a future, if the test asks for it.

_APART: Final = frozenset({"Thread", "Process", "Timer", "start_new_thread"})
_FUTURES: Final = frozenset({"submit", "run_in_executor", "apply_async", "map_async"})
_RESULTS: Final = frozenset({"result", "get", "exception", "gather"})


def run_apart(test: Function) -> set[int]:
    """Return the nodes of a test with assertions that cannot fail it: code of threads, and of unread futures."""
    nodes = list(ast.walk(test))
    reads = any(isinstance(one, ast.Await) or last_name(one) in _RESULTS for one in nodes)
    names = _APART if reads else _APART | _FUTURES
    handed = [one for one in nodes if isinstance(one, ast.Call) and last_name(one.func) in names]
    given = [part for one in handed for part in (*one.args, *one.keywords)]
    found = {id(node) for part in given for node in ast.walk(part)}
    used = {one.id for one in nodes if isinstance(one, ast.Name) and id(one) not in found}
    started = {one.id for part in given for one in ast.walk(part) if isinstance(one, ast.Name)} - used
    inner = [one for one in nodes if isinstance(one, Function) and one is not test and one.name in started]
    return found | {id(node) for one in inner for node in ast.walk(one)}


def names_called(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (last_name(one.func) for one in nodes if isinstance(one, ast.Call))


def names_handed_over(nodes: Iterable[ast.AST], apart: Collection[int] = ()) -> Iterator[str]:
    """Yield the names of functions that other functions are to call: `pool.submit(check)`, `addCleanup(self.check)`."""
    for one in nodes:
        if isinstance(one, ast.Call):
            given = [*one.args, *(word.value for word in one.keywords)]
            yield from (last_name(part) for part in given if id(part) not in apart)


def never_awaited(nodes: Iterable[ast.AST], coroutines: Collection[str]) -> set[int]:
    """Return the calls of coroutines that nothing awaits, so that their bodies do not run."""
    alone = [one.value for one in nodes if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
    return {id(one) for one in alone if last_name(one.func) in coroutines}


# Finds the functions that assert something, by their bodies: in a test file, and in other files that it imports.

_MOST: Final = 30
"""Files that are read for one file of tests."""
_LARGEST: Final = 500_000
_CALLED: Final = frozenset({"fail", "raises", "warns"})


async def asserting_beside(s: Subject, file: str) -> set[str]:
    """The names by which a file of Python tests can call functions that assert something, in other files of tests."""
    named = modules_by_name(path for path in await s.entries() if s.tests.is_test(path))
    texts = {file: await s.text(file) or ""}
    around = [path for path in named.get("conftest", ()) if file.startswith(path.removesuffix("conftest.py"))]
    due = [*around, *_imported_files(file, texts[file], named)]
    while due and len(texts) < _MOST:
        path = due.pop(0)
        if path not in texts:
            texts[path] = await s.text(path) or ""
            due += _imported_files(path, texts[path], named)
    return asserting_functions(texts)


def asserting_functions(texts: Mapping[str, str]) -> set[str]:
    """Return the names of the functions in some files that assert something, directly or through a call."""
    modules = [module for text in texts.values() if (module := _parsed(text)) is not None]
    functions = [one for module in modules for one in ast.walk(module) if isinstance(one, Function)]
    defined = {one.name for one in functions}
    found = {one.name for one in functions if _asserts(one, defined)}
    calls = [(one.name, set(_called(one))) for one in functions]
    others = [
        (one.asname, {one.name})
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.asname
    ]
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, used in (*calls, *others) if used & found}
    return found


def _asserts(function: Function, defined: Collection[str]) -> bool:
    """Whether a body has something by which it makes a test fail, by itself or by an assertion from elsewhere."""
    nodes = list(live(function.body))
    return (
        any(map(is_failure, nodes))
        or not _CALLED.isdisjoint(_called(function))
        or any(is_assertion(one) and one not in defined for one in _called(function))
        or any(is_assertion(one.func.attr) for one in nodes if isinstance(one, ast.Call) and _is_inherited(one.func))
    )


def _is_inherited(callee: ast.expr) -> TypeGuard[ast.Attribute]:
    """Whether a call goes to a method that another class has: `super().assertEqual`, `TestCase.assertEqual`."""
    owner = callee.value if isinstance(callee, ast.Attribute) else callee
    return owner is not callee and last_name(owner.func if isinstance(owner, ast.Call) else owner) in (
        "super",
        "TestCase",
        "IsolatedAsyncioTestCase",
    )


def is_failure(node: ast.AST) -> bool:
    """Whether a node is an assertion, or raises an exception that may be one.

    Builtin exceptions other than `AssertionError` have other reasons, as in a fake.
    """
    if not isinstance(node, ast.Raise) or node.exc is None:
        return isinstance(node, ast.Assert | ast.Raise)
    raised = ast.unparse(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    return raised == "AssertionError" or not hasattr(builtins, raised)


def _called(function: Function) -> Iterator[str]:
    nodes, apart = list(live(function.body)), run_apart(function)
    within = [one for one in nodes if id(one) not in apart]
    yield from names_called(within)
    yield from names_handed_over(within, apart)


def _imported_files(file: str, text: str, named: Named) -> list[str]:
    """The files that another one imports."""
    wanted: list[str] = []
    for node in ast.walk(_parsed(text) or ast.Module(body=[], type_ignores=[])):
        match node:
            case ast.Import(names=names):
                wanted += [imported_path(one.name, 0, file) for one in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                above = imported_path(module, level, file)
                wanted += [above, *(f"{above}/{one.name}".lstrip("/") for one in names)]
    return [one for path in dict.fromkeys(wanted) for one in module_files(path, named)]


def _parsed(text: str) -> ast.Module | None:
    return parse_python(text) if len(text) <= _LARGEST else None
