"""Guards: a small, closed expression language over the values that a route may read.

The text is parsed with Python's grammar and compiled to closures, node by node, from a whitelist: no calls, no
attributes beyond `data.x`, `last.x`, `spent.x`, no powers. Evaluation never fails: a missing value is None, an ordering
with a value of another kind is false, arithmetic treats non-numbers as 0 and stays within bounds.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from treadle.protocol.items import Json
from treadle.protocol.model import Exit, Proof

Value = Any
Lookup = Callable[[str, str], Value]
"""(root, name) → value; plain names have an empty second part."""
_Compiled = Callable[[Lookup], Value]

ROOTS: Final = frozenset({"data", "last", "spent"})
NAMES: Final = frozenset({"attempt", "same_failure", "same_question", "depth", "root"})
_BOUND: Final = 10**9
_NUMBERS: Final = (int, float)  # made once: guards are evaluated for every event
_MAX_TEXT: Final = 300
_MAX_DEPTH: Final = 16
_ORDER: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_OPERATORS: Final[dict[type[ast.operator] | type[ast.unaryop], str]] = {
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Invert: "~",
    ast.UAdd: "+ before a value",
    ast.USub: "-",
    ast.Not: "not",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
}
_KINDS: Final[tuple[tuple[tuple[type[ast.expr], ...], str], ...]] = (
    ((ast.Call,), "a call"),
    ((ast.Attribute,), "an attribute"),
    ((ast.Subscript,), "a subscript"),
    ((ast.Lambda,), "a lambda"),
    ((ast.IfExp,), "`if … else`"),
    ((ast.JoinedStr, ast.FormattedValue), "a formatted text"),
    ((ast.Dict, ast.Set), "braces"),
    ((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), "a comprehension"),
    ((ast.NamedExpr,), "an assignment"),
    ((ast.Starred,), "a star"),
    ((ast.Await, ast.Yield, ast.YieldFrom), "a keyword of Python"),
    ((ast.Compare, ast.BoolOp), "a comparison"),
    ((ast.Name,), "a name"),
    ((ast.Tuple, ast.List), "a list"),
    ((ast.Constant,), "this value"),
)


class GuardError(ValueError):
    """A text that is not a guard; the message gives the reason."""


class Comparison(NamedTuple):
    """A name compared with literals, for the checker: `last.review == 'Approved'`."""

    name: str
    literals: tuple[Value, ...]


class Guard(NamedTuple):
    """A compiled guard and the names it mentions (`data.count`, `last.review`, `attempt`, …)."""

    text: str
    names: frozenset[str]
    comparisons: tuple[Comparison, ...]
    evaluate: _Compiled


@cache
def parse(text: str) -> Guard:
    """Compile a guard, or raise GuardError."""
    if len(text) > _MAX_TEXT:
        raise GuardError(f"has {len(text)} characters, the limit is {_MAX_TEXT}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        detail = getattr(error, "msg", None) or str(error)
        raise GuardError(f"cannot be read: {detail}") from None
    compiler = _GuardCompiler()
    evaluate = compiler.compile(tree.body, 0)
    return Guard(text, frozenset(compiler.names), tuple(compiler.comparisons), evaluate)


def holds(text: str, lookup: Lookup) -> bool:
    """Whether a guard is true; the empty guard always is."""
    return not text or bool(parse(text).evaluate(lookup))


class _GuardCompiler:
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.comparisons: list[Comparison] = []

    def compile(self, node: ast.expr, depth: int) -> _Compiled:
        if depth > _MAX_DEPTH:
            raise GuardError(f"is nested more than {_MAX_DEPTH} deep")
        match node:
            case ast.Constant():
                value = _literal(node)
                return lambda _: value
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._name(node)
            case ast.BoolOp(op=op, values=values):
                parts = [self.compile(value, depth + 1) for value in values]
                junction = all if isinstance(op, ast.And) else any
                return lambda look: junction(part(look) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                negated = self.compile(operand, depth + 1)
                return lambda look: not negated(look)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                opposite = self.compile(operand, depth + 1)
                return lambda look: -_number(opposite(look))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                combine = _ARITHMETIC[type(op)]
                first, second = self.compile(left, depth + 1), self.compile(right, depth + 1)
                return lambda look: max(-_BOUND, min(_BOUND, combine(_number(first(look)), _number(second(look)))))
            case ast.Compare():
                return self._compare(node, depth)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                literals = tuple(_literal(item) for item in items)
                return lambda _: literals
        raise GuardError(f"may not contain {_describe(node)}")

    def _name(self, node: ast.Name | ast.Attribute | ast.Subscript) -> _Compiled:
        if isinstance(node, ast.Name):
            plain = node.id
            self.names.add(plain)
            return lambda look: look(plain, "")
        base, _, name = _name_of(node).partition(".")
        if base in ROOTS:
            self.names.add(f"{base}.{name}")
            return lambda look: look(base, name)
        raise GuardError(f"may not contain {_describe(node)}; only data.x, last.x and spent.x have parts")

    def _compare(self, node: ast.Compare, depth: int) -> _Compiled:
        operands = [node.left, *node.comparators]
        literals = tuple(value for operand in operands for value in _literals_of(operand))
        if literals:
            self.comparisons += [Comparison(name, literals) for name in map(_name_of, operands) if name]
        values = [self.compile(operand, depth + 1) for operand in operands]
        tests = [_comparison(op) for op in node.ops]
        if len(tests) == 1:
            only, left, right = tests[0], *values
            return lambda look: only(left(look), right(look))

        def evaluate(look: Lookup) -> bool:
            results = [value(look) for value in values]
            return all(test(a, b) for test, a, b in zip(tests, results, results[1:], strict=False))

        return evaluate


def _comparison(op: ast.cmpop) -> Callable[[Value, Value], bool]:
    match op:
        case ast.Eq():
            return lambda a, b: bool(a == b)
        case ast.NotEq():
            return lambda a, b: bool(a != b)
        case ast.In():
            return lambda a, b: isinstance(b, tuple) and a in b
        case ast.NotIn():
            return lambda a, b: not (isinstance(b, tuple) and a in b)
    order = _ORDER.get(type(op))
    if order is None:
        raise GuardError("may only compare with == != < <= > >= in not in")

    def compare(a: Value, b: Value) -> bool:
        numbers = isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS)
        return (numbers or (isinstance(a, str) and isinstance(b, str))) and order(a, b)

    return compare


def _number(value: Value) -> int | float:
    return value if isinstance(value, _NUMBERS) else 0


def _literal(node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, bool | str):
            return value
        case ast.Constant(value=int(value) | float(value)) if abs(value) <= _BOUND:
            return value
        case ast.Constant(value=int() | float()):
            raise GuardError(f"may not contain a number beyond {_BOUND}")
        case ast.Constant():
            raise GuardError(f"may not contain {_describe(node)}; values are numbers, texts, True, False and None")
    raise GuardError(f"may not contain {_describe(node)} here; a list holds literals only")


def _literals_of(node: ast.expr) -> list[Value]:
    if isinstance(node, ast.Tuple | ast.List):
        return [_literal(item) for item in node.elts]
    return [_literal(node)] if isinstance(node, ast.Constant) else []


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=base), attr=name):
            return f"{base}.{name}"
        case ast.Subscript(value=ast.Name(id=base), slice=ast.Constant(value=str(name))):
            return f"{base}.{name}"
    return ""


def _describe(node: ast.expr) -> str:
    """Describe an expression for a message: its kind, and its source text."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        kind = f"`{_OPERATORS.get(type(node.op), 'this operator')}`"
    else:
        kind = next((words for types, words in _KINDS if isinstance(node, types)), "this")
    return f"{kind} ({ast.unparse(node)[:40]!r})"


# The proof of an accepted exit: always the same, or only with some values of its fields (`proves_when`).


def proof_of(exit_: Exit, fields: Mapping[str, Json]) -> Proof:
    """Return the proof of an exit accepted with these fields; empty if it proves nothing."""

    def lookup(root: str, name: str) -> Json:
        return fields.get(name) if root == "data" else None

    return exit_.proves if holds(exit_.proves_when, lookup) else ""
