"""The assertions of `unittest`, as the plain assertions that they stand for: one reader judges both.

`self.assertEqual(total(x), 7)` is read as `assert total(x) == 7`. An assertion without such a form (`assertRaises`,
`assertLogs`) still counts as one by its name.
"""

import ast
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Final

from treadle.evidence.code_shapes import Function, last_name

_COMPARISONS: Final[dict[str, type[ast.cmpop]]] = {
    **dict.fromkeys(
        (
            *("assertEqual", "assertEquals", "failUnlessEqual", "assertListEqual", "assertTupleEqual"),
            *("assertDictEqual", "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual"),
        ),
        ast.Eq,
    ),
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
    "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE,
    "assertGreater": ast.Gt,
    "assertGreaterEqual": ast.GtE,
}
_INEXACT: Final = frozenset({"assertCountEqual"})
"""Comparisons that are weaker than `==`."""
_OPTIONS: Final = frozenset({"msg", "places", "delta", "seq_type"})
HOOKS: Final = frozenset(
    "setUp tearDown asyncSetUp asyncTearDown setUpClass tearDownClass setUpModule tearDownModule setup_method"
    " teardown_method setup_class teardown_class setup_module teardown_module".split()
)
"""Functions that run around each test of a class or file, and make it fail."""
_ASSERTION: Final = re.compile(r"assert[A-Z_]|fail(Unless|If|\Z)")


def is_assertion(name: str) -> bool:
    """Whether a function asserts by its name, as the methods of `TestCase` and of mocks do."""
    return _ASSERTION.match(name) is not None


def is_own_assertion(name: str) -> bool:
    """Whether a name is that of an assertion of `TestCase` itself."""
    return is_assertion(name) and name in names_of_test_case()


@cache
def names_of_test_case() -> frozenset[str]:
    """Return the names of `unittest.TestCase`."""
    import unittest  # noqa: PLC0415 - it costs every command as much time as the start of Python

    return frozenset(dir(unittest.TestCase))


def plain_assertion(node: ast.AST) -> ast.Assert | None:
    """Return the plain assertion that an assertion stands for; None for anything else."""
    if isinstance(node, ast.Assert):
        return node
    if not isinstance(node, ast.Call) or not is_own_assertion(name := last_name(node.func)):
        return None
    values = [*node.args, *(one.value for one in node.keywords if one.arg not in _OPTIONS)]
    test = _meaning(name, values, {one.arg: one.value for one in node.keywords if one.arg})
    return ast.fix_missing_locations(ast.copy_location(ast.Assert(test=test), node)) if test is not None else None


def exact_comparison(node: ast.stmt) -> ast.Compare | None:
    """Return the comparison with `==` that a statement of a test demands; None for any other statement."""
    call = node.value if isinstance(node, ast.Expr) else node
    found = plain_assertion(call)
    if found is None or (isinstance(call, ast.Call) and last_name(call.func) in _INEXACT):
        return None
    test = found.test
    return test if isinstance(test, ast.Compare) and [type(one) for one in test.ops] == [ast.Eq] else None


def _meaning(name: str, values: list[ast.expr], options: dict[str, ast.expr]) -> ast.expr | None:
    match name, values:
        case "assertTrue", [value, *_]:
            return value
        case "assertFalse", [value, *_]:
            return ast.UnaryOp(ast.Not(), value)
        case "assertIsNone", [value, *_]:
            return ast.Compare(value, [ast.Is()], [ast.Constant(None)])
        case "assertIsNotNone", [value, *_]:
            return ast.Compare(value, [ast.IsNot()], [ast.Constant(None)])
        case "assertIsInstance", [value, kind, *_]:
            return ast.Call(ast.Name("isinstance", ast.Load()), [value, kind], [])
        case "assertAlmostEqual" | "assertAlmostEquals", [value, near, *rest]:
            return ast.Compare(value, [ast.Eq()], [_approximate(near, rest, options)])
        case _, [left, right, *_] if name in _COMPARISONS:
            return ast.Compare(left, [_COMPARISONS[name]()], [right])
    return None


def _approximate(near: ast.expr, rest: list[ast.expr], options: dict[str, ast.expr]) -> ast.expr:
    places = options.get("places", rest[0] if rest else ast.Constant(7))
    try:
        room = ast.Constant(0.5 * 10.0 ** -int(ast.literal_eval(places)))
    except (ValueError, TypeError, SyntaxError, OverflowError):
        room = ast.Constant(0.0)
    return ast.Call(ast.Name("approx", ast.Load()), [near], [ast.keyword("abs", options.get("delta", room))])


def silent_equalities(functions: Collection[Function], asserting: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and type of each comparison of `addTypeEqualityFunc` that asserts nothing.

    Only a comparison in place, or one of these functions, can be silent here; comparisons of libraries count as real.
    """
    own = {one.name for one in functions}
    for node in (inner for function in functions for inner in ast.walk(function)):
        match node:
            case ast.Call(func=ast.Attribute(attr="addTypeEqualityFunc"), args=[kind, given, *_]):
                names = {last_name(one) for one in ast.walk(given)}
                names |= {str(one.value) for one in ast.walk(given) if isinstance(one, ast.Constant)}
                is_written = isinstance(given, ast.Lambda) or not own.isdisjoint(names)
                if is_written and not any(one in asserting or (one not in own and is_assertion(one)) for one in names):
                    yield node.lineno, ast.unparse(kind)
