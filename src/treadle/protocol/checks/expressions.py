"""Check 15, the expressions of a template: how large they grow, which operators fail, and which values are there."""

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from jinja2 import nodes

from treadle.protocol.checks.shapes import Kind, ValueShape

# Oversized expressions: constants that would blow up are found before anything is rendered.

MAX_ROUNDS: Final = 100_000
"""How often constants may make a loop go round."""
MAX_NUMBER: Final = 10**9
_MAX_EXPONENT: Final = 64
_CLAMP: Final = 10**40
_ARITHMETIC: Final[dict[type[nodes.Node], Callable[[Any, Any], int]]] = {
    nodes.Add: operator.add,
    nodes.Sub: operator.sub,
    nodes.Mul: operator.mul,
    nodes.Pow: operator.pow,
}


def excess(node: nodes.Node) -> str:
    """Return why an expression's result would be too large, as the rest of a sentence; empty if it is not."""
    match node:
        case nodes.Mul() if abs(constant_number(node) or 0) > MAX_NUMBER:
            return f"makes a number beyond {MAX_NUMBER}"
        case nodes.Pow():
            exponent = constant_number(node.right) or 0  # enough by itself: the base may be a variable
            large = exponent > _MAX_EXPONENT or abs(constant_number(node) or 0) > MAX_NUMBER
            return "raises a number to an enormous power" if large else ""
        case nodes.Call() if (count := constant_rounds(node) or 0) > MAX_ROUNDS:
            return f"counts to {count}"
    return ""


def constant_rounds(node: nodes.Node) -> int | None:
    """How many items a `range` of constants, or a list that is written out, has; None if that is not known."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return len(node.items)
    if not (isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "range"):
        return None
    numbers = [number for argument in node.args if (number := constant_number(argument)) is not None]
    if len(numbers) < len(node.args) or not 1 <= len(numbers) <= 3 or numbers[2:] == [0]:
        # Not all of it is known. One huge number among variables is still too much.
        return max(numbers) if numbers and max(numbers) > MAX_ROUNDS else None
    start, stop, step = [0, *numbers, 1] if len(numbers) == 1 else [*numbers, 1][:3]
    return max(0, -((start - stop) // step))  # not `len(range(…))`, which overflows for such numbers


def constant_number(node: nodes.Node) -> int | None:
    """The whole number that constants make; None if it is not known. It is clamped before it grows too large."""
    match node:
        case nodes.Const(value=int(value)):
            return int(value)
        case nodes.Neg():
            positive = constant_number(node.node)
            return None if positive is None else -positive
        case nodes.Add() | nodes.Sub() | nodes.Mul() | nodes.Pow():
            left, right = constant_number(node.left), constant_number(node.right)
            if left is None or right is None or (isinstance(node, nodes.Pow) and right < 0):
                return None
            if isinstance(node, nodes.Pow) and right > _MAX_EXPONENT:
                return _CLAMP
            return max(-_CLAMP, min(_CLAMP, _ARITHMETIC[type(node)](left, right)))
    return None


# Type errors: operators and filters that fail on the kinds of their values.

_SIGNS: Final = {
    nodes.Mul: "*",
    nodes.Pow: "**",
    nodes.Mod: "%",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Sub: "-",
    nodes.Neg: "-",
    nodes.Pos: "+",
}
_ORDERS: Final = {"lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
SAME_ITEMS: Final = frozenset("list reject rejectattr reverse select selectattr sort unique".split())
"""Filters that return a list with items of their input."""
ONE_ITEM: Final = frozenset("first last max min".split())
"""Filters that return one item of their input."""
OF_MANY: Final = SAME_ITEMS | ONE_ITEM | {"count", "length", "map"}
"""Filters that fail on a number."""
_ORDERING: Final = frozenset({"sort", "min", "max"})
_KIND_NAMES: Final = {"number": "a number", "text": "a text", "list": "a list", "object": "an object", "": "a value"}


def literal_kind(node: nodes.Node) -> Kind:
    """Return the kind of value that an expression always makes; empty if the kind depends on its parts."""
    match node:
        case nodes.Const(value=str()) | nodes.TemplateData() | nodes.Concat():
            return "text"
        case nodes.Const(value=int() | float()) | nodes.Neg() | nodes.Compare() | nodes.Not() | nodes.Test():
            return "number"
        case nodes.List() | nodes.Tuple():
            return "list"
        case nodes.Dict():
            return "object"
        case nodes.Filter(name="length" | "count" | "wordcount" | "int" | "float"):
            return "number"
        case nodes.Filter(name="join" | "lower" | "upper" | "trim" | "string" | "title" | "capitalize" | "fence"):
            return "text"
    return ""


def sign_fault(node: nodes.UnaryExpr, kind: Kind) -> str:
    """Why a sign fails before a value, as the rest of a sentence; empty if it may not."""
    return f"uses {_SIGNS[type(node)]} on {_KIND_NAMES[kind]}, not on a number" if kind not in ("", "number") else ""


def operation_fault(node: nodes.BinExpr, left: Kind, right: Kind) -> str:
    """Why an operator fails on two values, as the rest of a sentence; empty if it may not."""
    if isinstance(node, nodes.Add):
        mixed = left and right and (left != right or left == "object")
        return f"adds {_KIND_NAMES[left]} and {_KIND_NAMES[right]}" if mixed else ""
    if not {left, right} <= {"", "number"}:
        what = "an object" if "object" in (left, right) else "a text or a list"
        return f"uses {_SIGNS[type(node)]} on {what}, not on numbers"
    if isinstance(node, nodes.Div | nodes.FloorDiv | nodes.Mod):
        literal_zero = isinstance(node.right, nodes.Const) and node.right.value == 0.0
        return "divides by zero" if literal_zero or constant_number(node.right) == 0 else ""
    return ""


def order_fault(op: str, left: Kind, right: Kind) -> str:
    """Why two values have no order, as the rest of a sentence; empty if they may have."""
    if op not in _ORDERS or not left or not right or (left == right and left != "object"):
        return ""
    return f"uses {_ORDERS[op]} between {_KIND_NAMES[left]} and {_KIND_NAMES[right]}"


def filter_fault(node: nodes.Filter, kind: Kind, items: list[Kind]) -> str:
    """Why a filter fails on a value; `items` are those of a list that is written out."""
    if kind == "number" and node.name in OF_MANY:
        return f"takes '{node.name}' of a number"
    known = {item for item in items if item}
    mixed = len(known) > 1 or known == {"object"}
    if node.name in _ORDERING and len(items) > 1 and mixed and not node.kwargs and not node.args:
        kinds = ", ".join(_KIND_NAMES[item] for item in sorted(known))
        return f"takes '{node.name}' of items that have no order: {kinds}"
    return ""


def range_fault(node: nodes.Call, kinds: list[Kind]) -> str:
    """Why a `range` cannot be counted; empty if it may."""
    if not 1 <= len(node.args) <= 3:
        return f"gives range {len(node.args)} numbers; it takes one to three"
    if not set(kinds) <= {"", "number"}:
        return "gives range something that is not a number"
    return "counts in steps of zero" if len(node.args) == 3 and constant_number(node.args[2]) == 0 else ""


# Presence: the values that are certainly there where a template's test is true, or where it is false.

_DEFINED: Final = ".is defined"


def expression_text(node: nodes.Node) -> str:
    """An expression of names and parts as it is written; empty for anything else."""
    match node:
        case nodes.Name(name=name):
            return str(name)
        case nodes.Getattr(node=owner, attr=part) | nodes.Getitem(node=owner, arg=nodes.Const(value=str(part))):
            return f"{path}.{part}" if (path := expression_text(owner)) else ""
    return ""


def present_if_true(test: nodes.Node) -> frozenset[str]:
    """Return the values that are certainly present when a test is true."""
    match test:
        case nodes.And():
            return present_if_true(test.left) | present_if_true(test.right)
        case nodes.Or():
            return present_if_true(test.left) & present_if_true(test.right)
        case nodes.Not():
            return present_if_false(test.node)
        case nodes.Test(name="defined"):
            return _defined(test.node)
        case nodes.Test(name="undefined" | "none"):
            return frozenset()
        case nodes.Test() | nodes.Filter() if test.node is not None:
            return present_if_true(test.node)
        case nodes.Compare(expr=left, ops=[nodes.Operand(op=op, expr=right)]) if op != "notin":
            # A value that equals something, or is in something, is there. Against none it is the other way round.
            with_none = isinstance(right, nodes.Const) and right.value is None
            return present_if_true(left) if with_none == (op == "ne") else frozenset()
    return frozenset(_prefixes(expression_text(test)))


def present_if_false(test: nodes.Node) -> frozenset[str]:
    """Return the values that are certainly present when a test is false."""
    match test:
        case nodes.Not():
            return present_if_true(test.node)
        case nodes.Or():
            return present_if_false(test.left) | present_if_false(test.right)
        case nodes.Test(name="none"):
            return present_if_true(test.node)
        case nodes.Test(name="undefined"):
            return _defined(test.node)
        case nodes.Compare(expr=left, ops=[nodes.Operand(op="eq", expr=nodes.Const(value=None))]):
            return present_if_true(left)
    return frozenset()


def is_present(path: str, shape: ValueShape, sure: frozenset[str]) -> bool:
    """Whether a value is certainly there; `is defined` proves that only for a slot: an absent field is null."""
    return not shape.absent or path in sure or (shape.absent == "unset" and path + _DEFINED in sure)


def _defined(node: nodes.Node) -> frozenset[str]:
    """Return the values that are certainly present if an expression is defined: all its prefixes, and a slot itself."""
    path = expression_text(node)
    return frozenset({*list(_prefixes(path))[:-1], path + _DEFINED}) if path else frozenset()


def _prefixes(path: str) -> Iterator[str]:
    """`a`, `a.b` and `a.b.c` of `a.b.c`; nothing of an empty path."""
    parts = path.split(".") if path else []
    return (".".join(parts[: end + 1]) for end in range(len(parts)))
