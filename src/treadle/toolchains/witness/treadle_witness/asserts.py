"""Puts a judge in front of the comparisons that tests make, so that it sees the very values that they compare."""

from __future__ import annotations

import ast
from typing import Any, Iterator  # noqa: UP035 - this runs on old versions too

import _pytest.assertion.rewrite as rewriting

from .audit import AUDIT
from .imports import FromSource
from .judge import Judge
from .machinery import is_of_tests
from .reached import Reached
from .written import FUNCTIONS, SCOPES, fetch_first, load, placed

_JUDGE, _JUDGED, _LEFT, _TAKEN = "@judge", "@judged", "@left", "@py_assert_"
_REWRITING = "@pytest_ar"
"""The name by which a file that pytest has rewritten refers to pytest's rewriting module."""
_SIGNS: dict[Any, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}
_EQUALITIES = ("assertEqual", "assertEquals")


def judged(judge: Judge, reached: Reached) -> None:
    """From now on, pytest rewrites assertions so that they are judged; must come before the machinery is taken down."""
    own = rewriting.rewrite_asserts
    rewriting._judge, rewriting._judged = judge, judge.judged  # type: ignore[attr-defined]
    rewriting._reach = reached.reach  # type: ignore[attr-defined]

    def rewrite_asserts(mod: Any, source: bytes, *args: Any, **kwargs: Any) -> None:
        written = _Written(mod, source, judge)
        if b"PYTEST_DONT_REWRITE" not in source:
            reached.put_marks(mod, str(args[0] if args else ""))
        own(mod, source, *args, **kwargs)
        if any(one.asname == _REWRITING for node in mod.body for one in getattr(node, "names", ())):
            written.put_judges(mod)

    rewriting.rewrite_asserts = rewrite_asserts
    FromSource.prepared = staticmethod(lambda data, path: _shared(data, path, judge))


def _shared(data: Any, path: str, judge: Judge) -> Any:
    """A file that tests share and that pytest does not rewrite, with judges; any other as it is."""
    place = path[len(AUDIT.root) + 1 :] if path.startswith(AUDIT.root) else ""
    if not is_of_tests(place) or b"assert" not in data:
        return data
    try:
        module = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return data  # the compiler reports the error
    written = _Written(module, data, judge)
    written.take_apart(module)
    written.put_judges(module)
    return module


class _Written:
    """A file of tests as it is written, and the lines and values that its judges get."""

    def __init__(self, module: Any, source: bytes, judge: Judge) -> None:
        self._lines = source.decode(errors="replace").splitlines()
        self._judge = judge
        self._expected = dict(_expected(module))

    def take_apart(self, module: Any) -> None:
        """Keep both sides of each comparison, as pytest does where it rewrites."""
        after = [node for node in module.body if getattr(node, "module", "") == "__future__"]
        at = module.body.index(after[-1]) + 1 if after else 1 if ast.get_docstring(module) is not None else 0
        for function in [node for node in ast.walk(module) if isinstance(node, FUNCTIONS)]:
            for body in list(_bodies(function)):
                body[:] = [part for statement in body for part in _parts(statement)]
        fetched = ast.Import(names=[ast.alias(name="_pytest.assertion.rewrite", asname=_REWRITING)])
        module.body.insert(at, placed(fetched, module.body[0]))

    def put_judges(self, module: Any) -> None:
        for node in list(ast.walk(module)):
            if isinstance(node, FUNCTIONS):
                statements = [(body, statement) for body in list(_bodies(node)) for statement in list(body)]
                if [one for one in statements if self._of_assert(*one)]:
                    fetch_first(node, _JUDGE, _REWRITING, "_judge")
                if [one for one in statements if self._of_helper(*one)]:
                    fetch_first(node, _JUDGED, _REWRITING, "_judged")

    def _of_assert(self, body: list[Any], statement: Any) -> bool:
        """Put a judge before a comparison that pytest has split; return whether the statement is one."""
        test = getattr(statement, "value", None)
        if not isinstance(statement, ast.Assign) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        sign, sides = _SIGNS.get(type(test.ops[0])), (test.left, test.comparators[0])
        is_taken = getattr(statement.targets[0], "id", "").startswith("@py_assert")
        if not sign or not is_taken or not all(isinstance(one, ast.Name) for one in sides):
            return False
        at = next(number for number, one in enumerate(body) if one is statement)
        body.insert(at, placed(ast.Expr(self._call(_JUDGE, list(sides), sign, statement)), statement))
        return True

    def _of_helper(self, body: list[Any], statement: Any) -> bool:
        """Put a judge between the second side of `assertEqual` and its method; return whether the statement is one.

        A test may check whether its values still live. So no name keeps a side beyond its statement, and Python
        evaluates no side before it looks up the method: the first side has a name only while Python evaluates the
        second.
        """
        call = getattr(statement, "value", None)
        if not isinstance(statement, ast.Expr) or not isinstance(call, ast.Call) or len(call.args) < 2:
            return False
        if getattr(call.func, "attr", "") not in _EQUALITIES or any(isinstance(one, ast.Starred) for one in call.args):
            return False
        kept, gone = [
            ast.NamedExpr(target=ast.Name(id=_LEFT, ctx=ast.Store()), value=value)
            for value in (call.args[0], ast.Constant(value=None))
        ]
        judged = self._call(_JUDGED, [load(_LEFT), call.args[1]], "==", statement)
        judged.args.insert(2, gone)
        call.args[:2] = [placed(kept, statement), placed(judged, statement)]
        at = next(number for number, one in enumerate(body) if one is statement)
        body[at] = placed(ast.Try(body=[statement], handlers=[], orelse=[], finalbody=[_cleared([_LEFT])]), statement)
        return True

    def _call(self, judge: str, sides: list[Any], sign: str, statement: Any) -> Any:
        line = statement.lineno
        text = self._lines[line - 1].strip()[:200] if 0 < line <= len(self._lines) else ""
        # They stand beside the right value: code that reads it from the code of a test reads them, too.
        others = self._judge.others(self._expected[line]) if line in self._expected and sign == "==" else []
        said = [ast.Constant(value=one) for one in (sign, line, text, *others)]
        return ast.Call(func=load(judge), args=[*sides, *said], keywords=[])


def _parts(statement: Any) -> list[Any]:
    """Split an asserted comparison into its sides and its result; return another statement as it is.

    A test may catch the exception, and then check whether its values still live. So the names of the sides end with the
    comparison, before anything is raised, and the name of the result ends with the statement.
    """
    test = getattr(statement, "test", None)
    if not isinstance(statement, ast.Assert) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return [statement]
    names = [f"{_TAKEN}{number}" for number in range(3)]
    sides = (test.left, test.comparators[0], ast.Compare(load(names[0]), test.ops, [load(names[1])]))
    kept = [
        ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
        for name, value in zip(names, sides)  # noqa: B905
    ]
    asserted = ast.Assert(test=load(names[2]), msg=statement.msg)
    whole = ast.Try(body=[*kept, _cleared(names[:2]), asserted], handlers=[], orelse=[], finalbody=[_cleared(names)])
    return [placed(whole, statement)]


def _cleared(names: list[str]) -> Any:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store()) for name in names], value=ast.Constant(value=None))


def _expected(module: Any) -> Iterator[tuple[int, Any]]:
    """The plain values that a file of tests compares with, by line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            for side in (node.test.left, node.test.comparators[0]):
                if isinstance(side, ast.Constant) and type(side.value) in (int, float, str, bytes):
                    yield node.lineno, side.value


def _bodies(node: Any) -> Iterator[list[Any]]:
    """The lists of statements in a function that are not another function's."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and not isinstance(value[0], ast.expr):
            if isinstance(value[0], ast.stmt):
                yield value
            for one in value:
                if isinstance(one, ast.AST) and not isinstance(one, SCOPES):
                    yield from _bodies(one)
