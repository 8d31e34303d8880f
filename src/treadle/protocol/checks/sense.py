"""Check 18, guards that decide nothing: constants, kinds that do not go together, tests that always end the same."""

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Final, Literal

from treadle.protocol.guards import Guard

Kind = Literal["", "number", "text", "list"]
"""What a part of a guard is; empty if that is not known, or nothing at all."""
Values = Mapping[str, "list[object]"]
"""Name → all the values that it can have, for the names of which they can be listed."""
_MOST: Final = 20_000
"""How many combinations of values are tried."""
_SIGNS: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def senseless(guard: Guard, kind_of: Callable[[str], Kind]) -> str:
    """What in an expression compares or computes with values of the wrong kind, as the rest of a sentence."""
    tree = ast.parse(guard.text.strip(), mode="eval").body
    return next(_mistakes(tree, kind_of), "")


def undecided(guard: Guard, values: Values) -> str:
    """Why a guard always comes out the same, as the rest of a sentence; empty if it may not."""
    if not guard.names:
        return "looks at nothing, so it decides nothing"
    if not guard.names <= values.keys():
        return ""
    names = sorted(guard.names)
    lists = [values[name] for name in names]
    if prod(map(len, lists)) > _MOST:
        return ""
    results = {bool(guard.evaluate(_lookup(dict(zip(names, chosen, strict=True))))) for chosen in product(*lists)}
    if len(results) != 1:
        return ""
    ranges = "; ".join(f"{name} is {_shown(found)}" for name, found in zip(names, lists, strict=True))
    return f"{'always' if True in results else 'never'} holds ({ranges})"


def _lookup(chosen: Mapping[str, object]) -> Callable[[str, str], object]:
    return lambda root, name: chosen[f"{root}.{name}" if name else root]


def _shown(values: list[object]) -> str:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values) and len(values) > 1:
        return f"{values[0]} to {values[-1]}"
    words = [str(value) for value in values]
    return " or ".join(words[:6]) + (" …" if len(words) > 6 else "")


def _mistakes(node: ast.expr, kind_of: Callable[[str], Kind]) -> Iterator[str]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for one, op, other in zip([left, *others], ops, others, strict=False):
                yield from _compared(one, op, other, kind_of)
        case ast.BinOp(left=left, right=right):
            yield from (_no_number(side) for side in (left, right) if _kind(side, kind_of) in ("text", "list"))
        case ast.UnaryOp(op=ast.USub(), operand=operand) if _kind(operand, kind_of) in ("text", "list"):
            yield _no_number(operand)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _mistakes(child, kind_of)


def _no_number(node: ast.expr) -> str:
    return f"computes with {ast.unparse(node)}, which is no number"


def _compared(one: ast.expr, op: ast.cmpop, other: ast.expr, kind_of: Callable[[str], Kind]) -> Iterator[str]:
    left, right = _kind(one, kind_of), _kind(other, kind_of)
    if isinstance(op, ast.In | ast.NotIn):
        if right != "list":
            yield f"looks for {ast.unparse(one)} in {ast.unparse(other)}, which is no list"
    elif "list" in (left, right) or (left and right and left != right) or _orders_nothing(op, one, other):
        yield f"compares {ast.unparse(one)} {_SIGNS[type(op)]} {ast.unparse(other)}, which are of different kinds"


def _orders_nothing(op: ast.cmpop, *sides: ast.expr) -> bool:
    """`attempt < None`: what is absent has no order."""
    absent = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return absent and not isinstance(op, ast.Eq | ast.NotEq)


def _kind(node: ast.expr, kind_of: Callable[[str], Kind]) -> Kind:
    match node:
        case ast.Constant(value=str()):
            return "text"
        case ast.Constant(value=int() | float()) | ast.BinOp() | ast.Compare():
            return "number"
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            return "number"
        case ast.Tuple() | ast.List():
            return "list"
        case ast.Name(id=name):
            return kind_of(name)
        case ast.Attribute(value=ast.Name(id=root), attr=name):
            return kind_of(f"{root}.{name}")
        case ast.Subscript(value=ast.Name(id=root), slice=ast.Constant(value=str(name))):
            return kind_of(f"{root}.{name}")
    return ""
