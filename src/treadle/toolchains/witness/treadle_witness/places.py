"""Where a test compares with a value that is written down, and how that value can be exchanged."""

from __future__ import annotations

import ast
import copy
from functools import lru_cache
from typing import Any, Callable, Iterator, Mapping  # noqa: UP035 - this runs on old versions too

_HELPERS = ("assertEqual", "assertEquals", "assert_equal")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_PLAIN = (int, bool, float, complex, str, bytes, list, tuple, set, dict, type(None))


class Place:
    """Where a test compares with a value that is written down."""

    def __init__(self, whole: ast.stmt, line: int, text: str, value: Any, expect: Callable[[ast.expr], None]) -> None:
        self.whole, self.line, self.text, self.value, self.expect = whole, line, text, value, expect


def find_places(source: str, name: str, line: int, given: Mapping[str, Any] | None = None) -> list[Place]:
    """The places in a test at which the expected value can be exchanged with certainty; `given`: its parameters."""
    found = [(node, owner) for node, owner in _parsed(source) if _is_at(node, name, line)]
    if len(found) != 1:
        return []
    function, owner = copy.deepcopy(found[0])  # it is changed, and whoever asks again wants it as it is written
    if _may_leave(function) or not all(_is_mark(one) for one in function.decorator_list):
        return []
    function.decorator_list = []
    # A class around it: names with two underscores mean something else there.
    whole: Any = function
    if owner:
        whole = ast.parse(f"class {owner}: pass").body[0]
        whole.body = [function]
    return [
        Place(whole, statement.lineno, _text(source, statement), value, expect)
        for statement in function.body
        for value, expect in _comparison(function, statement, given or {})
    ]


@lru_cache(maxsize=8)
def _parsed(source: str) -> list[tuple[ast.FunctionDef, str]]:
    """Every function of a file of tests; many places are looked for in the same one."""
    try:
        return list(_functions(ast.parse(source), ""))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _assigned(function: ast.FunctionDef, name: str) -> Callable[[ast.expr], None]:
    """Exchanges a parameter itself, which whoever looks at the caller's variables sees as well."""
    first: list[ast.stmt] = []

    def expect(node: ast.expr) -> None:
        if not first:
            first.append(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=node))
            function.body.insert(0, first[0])
        first[0].value = node  # type: ignore[attr-defined]

    return expect


def _way(function: ast.FunctionDef, node: ast.expr, inside: Callable[[ast.expr], None]) -> Callable[[ast.expr], None]:
    """How to exchange a value: where it stands, or as a parameter that is used for nothing else."""
    name = getattr(node, "id", None)
    uses = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
    return _assigned(function, str(name)) if name is not None and len(uses) == 1 else inside


def _comparison(
    function: ast.FunctionDef, statement: ast.stmt, given: Mapping[str, Any]
) -> Iterator[tuple[Any, Callable[[ast.expr], None]]]:
    """The value that a statement compares with, and the way to exchange it; both sides must not be values."""
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        test = statement.test
        right = test.comparators[0]
        if len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            if _is_plain(right, given) and not _is_known(test.left, given):
                inside: Callable[[ast.expr], None] = lambda node: test.comparators.__setitem__(0, node)  # noqa: E731
                yield _known(right, given), _way(function, right, inside)
            elif _is_plain(test.left, given) and not _is_known(right, given):
                yield _known(test.left, given), _way(function, test.left, lambda node: setattr(test, "left", node))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _HELPERS and len(call.args) >= 2:
            sides = [number for number in (0, 1) if _is_known(call.args[number], given)]
            if len(sides) == 1 and _is_plain(call.args[sides[0]], given):
                yield _known(call.args[sides[0]], given), lambda node: call.args.__setitem__(sides[0], node)


def _known(node: ast.expr, given: Mapping[str, Any]) -> Any:
    return given[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)


def _is_plain(node: ast.expr, given: Mapping[str, Any]) -> bool:
    """Whether it is written down, or a parameter of the test that could as well be."""
    return _is_known(node, given) and type(_known(node, given)) in _PLAIN


def _is_known(node: ast.expr, given: Mapping[str, Any]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in given
    try:
        return ast.literal_eval(node) is not ...
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def _functions(node: Any, owner: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            yield one, owner
        elif isinstance(one, ast.ClassDef):
            yield from _functions(one, one.name)


def _is_at(node: ast.FunctionDef, name: str, line: int) -> bool:
    return node.name == name and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == line


def _is_mark(node: ast.expr) -> bool:
    """`pytest.mark.…` says something about a test and leaves its function as it is."""
    names = []
    inner: Any = node.func if isinstance(node, ast.Call) else node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    return isinstance(inner, ast.Name) and [inner.id, *reversed(names)][:2] == ["pytest", "mark"]


def _may_leave(node: Any) -> bool:
    """Whether a function may end before its end without an exception."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.Return) or (not isinstance(one, _SCOPES) and _may_leave(one)):
            return True
    return False


def _text(source: str, statement: ast.stmt) -> str:
    return " ".join((ast.get_source_segment(source, statement) or "").split())[:200]
