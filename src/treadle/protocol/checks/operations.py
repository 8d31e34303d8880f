"""Check 15, what cannot be computed: operators and filters on values of which their types say that it fails."""

from typing import Final, Literal

from jinja2 import nodes

from treadle.protocol.checks.bulk import whole
from treadle.protocol.checks.shapes import Defined, Many, Members, Shape, present
from treadle.protocol.fields import EnumType, ListType, RecordType, ScalarType

Kind = Literal["", "number", "text", "list", "object"]
"""What a value is in a computation; empty if that is not known."""
_SIGNS: Final = {
    nodes.Mul: "*",
    nodes.Pow: "**",
    nodes.Mod: "%",
    nodes.Div: "/",
    nodes.FloorDiv: "//",
    nodes.Sub: "-",
    nodes.Add: "+",
    nodes.Neg: "-",
    nodes.Pos: "+",
}
_ORDERS: Final = {"lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_OF_MANY: Final = frozenset(
    "count first last length list map max min reject rejectattr reverse select selectattr sort unique".split()
)
"""Filters that fail on a number."""
_ORDERING: Final = frozenset({"sort", "min", "max"})


def kind_of(node: nodes.Node, shape: Shape) -> Kind:
    """What a value is, by its shape, or as it is written out."""
    if shape is not None:
        return _shape_kind(present(shape))
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


def _shape_kind(shape: Shape) -> Kind:
    match shape:
        case ScalarType(name=name):
            return "text" if name in ("text", "path") else "number"
        case EnumType(values=values):
            texts = {isinstance(value, str) for value in values}
            return "" if len(texts) > 1 else "text" if True in texts else "number"
        case ListType() | Many():
            return "list"
        case RecordType():
            return "object"
        case Members(parts=parts) if parts:
            return "object"
    return ""


def operation_fault(node: nodes.BinExpr, left: Kind, right: Kind) -> str:
    """Why an operator fails on two values, as the rest of a sentence; empty if it may not."""
    sign = _SIGNS[type(node)]
    if isinstance(node, nodes.Add):
        mixed = left and right and (left != right or left == "object")
        return f"adds {_said(left)} and {_said(right)}" if mixed else ""
    if not {left, right} <= {"", "number"}:
        return f"uses {sign} on {'an object' if 'object' in (left, right) else 'a text or a list'}, not on numbers"
    zero = isinstance(node, nodes.Div | nodes.FloorDiv | nodes.Mod) and _is_zero(node.right)
    return "divides by zero" if zero else ""


def sign_fault(node: nodes.Neg | nodes.Pos, kind: Kind) -> str:
    """Why a sign fails on a value; empty if it may not."""
    return f"uses {_SIGNS[type(node)]} on {_said(kind)}, not on a number" if kind not in ("", "number") else ""


def order_fault(op: str, left: Kind, right: Kind) -> str:
    """Why two values have no order, as the rest of a sentence; empty if they may have."""
    if op not in _ORDERS or not left or not right or (left == right and left != "object"):
        return ""
    return f"uses {_ORDERS[op]} between {_said(left)} and {_said(right)}"


def filter_fault(node: nodes.Filter, kind: Kind, items: list[Kind]) -> str:
    """Why a filter fails on a value; `items` are those of a list that is written out."""
    if kind == "number" and node.name in _OF_MANY:
        return f"takes '{node.name}' of a number"
    known = {item for item in items if item}
    mixed = len(known) > 1 or known == {"object"}
    if node.name in _ORDERING and len(items) > 1 and mixed and not node.kwargs and not node.args:
        return f"takes '{node.name}' of items that have no order: {', '.join(map(_said, sorted(known)))}"
    return ""


def range_fault(node: nodes.Call, kinds: list[Kind]) -> str:
    """Why a `range` cannot be counted; empty if it may."""
    if not 1 <= len(node.args) <= 3:
        return f"gives range {len(node.args)} numbers; it takes one to three"
    if not set(kinds) <= {"", "number"}:
        return "gives range something that is no number"
    return "counts in steps of zero" if len(node.args) == 3 and whole(node.args[2]) == 0 else ""


def call_fault(node: nodes.Call, shape: Shape) -> str:
    """Why something cannot be called; empty if it may."""
    callable_ = shape is None or isinstance(shape, Defined) or (isinstance(shape, Members) and shape.label == "loop")
    if callable_ and not isinstance(node.node, nodes.Const | nodes.List | nodes.Tuple | nodes.Dict):
        return ""
    return "calls a value as if it were a macro"


def _is_zero(node: nodes.Node) -> bool:
    return whole(node) == 0 or (isinstance(node, nodes.Const) and node.value == 0.0 and not isinstance(node.value, str))


def _said(kind: Kind) -> str:
    return {"number": "a number", "text": "a text", "list": "a list", "object": "an object"}.get(kind, "a value")
