"""Check 15, the expressions of a template: the values they read exist, they can be computed, and they stay small."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.tests import TESTS as JINJA_TESTS

from treadle.protocol.checks.shapes import (
    ListShape,
    MacroShape,
    ObjectShape,
    Shape,
    describe,
    is_optional,
    item_of,
    parts_of,
    present,
)
from treadle.protocol.fields import EnumType, ListType, RecordType, ScalarType
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol
from treadle.protocol.templates import FILTERS

# Check 15, oversized expressions: constants that would blow up are found before anything is rendered.

MAX_ROUNDS: Final = 100_000
"""How often constants may make a loop go round."""
MAX_NUMBER: Final = 10**9
_MAX_EXPONENT: Final = 64
_CLAMP: Final = 10**40


def excess(node: nodes.Node) -> str:
    """Return why an expression's result would be too large, as the rest of a sentence; empty if it is not."""
    match node:
        case nodes.Mul() | nodes.Pow():
            value = constant_number(node)
            large = value is not None and abs(value) > MAX_NUMBER
            if isinstance(node, nodes.Mul):
                return f"makes a number beyond {MAX_NUMBER}" if large else ""
            exponent = constant_number(node.right)  # enough by itself: the base may be a variable
            large = large or (exponent is not None and exponent > _MAX_EXPONENT)
            return "raises a number to an enormous power" if large else ""
        case nodes.Call(node=nodes.Name(name="range")):
            count = constant_rounds(node)
            return f"counts to {count}" if count is not None and count > MAX_ROUNDS else ""
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
    # Not `len(range(…))`, which overflows for such numbers.
    return max(0, -((start - stop) // step)) if step > 0 else max(0, -((stop - start) // -step))


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
            if left is None or right is None:
                return None
            match node:
                case nodes.Add():
                    result = left + right
                case nodes.Sub():
                    result = left - right
                case nodes.Mul():
                    result = left * right
                case _ if right < 0:
                    return None
                case _:
                    result = left**right if right <= _MAX_EXPONENT else _CLAMP
            return max(-_CLAMP, min(_CLAMP, result))
    return None


# Check 15, type errors: operators and filters that fail on the declared types of their values.

Kind = Literal["", "number", "text", "list", "object"]
"""The kind of a value in a computation; empty if unknown."""
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


_KIND_NAMES: Final = {"number": "a number", "text": "a text", "list": "a list", "object": "an object", "": "a value"}


def kind_of(node: nodes.Node, shape: Shape) -> Kind:
    """Return the kind of a value, from its shape or its literal."""
    match present(shape):
        case ScalarType(name=name):
            return "text" if name in ("text", "path") else "number"
        case EnumType(values=values):
            texts = {isinstance(value, str) for value in values}
            return "" if len(texts) > 1 else "text" if True in texts else "number"
        case ListType() | ListShape():
            return "list"
        case RecordType():
            return "object"
        case ObjectShape(parts=parts):
            return "object" if parts else ""
        case MacroShape():
            return ""
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
    if kind == "number" and node.name in _OF_MANY:
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
        return "gives range something that is no number"
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
    path = expression_text(test)
    return frozenset(_prefixes(path)) if path else frozenset()


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


def is_present(path: str, sure: frozenset[str], *, slot: bool) -> bool:
    """Whether a value is certainly present; `is defined` proves that only for a slot: an absent field is null."""
    return path in sure or (slot and path + _DEFINED in sure)


def _defined(node: nodes.Node) -> frozenset[str]:
    """Return the values that are certainly present if an expression is defined: all its prefixes, and a slot itself."""
    path = expression_text(node)
    return frozenset({*list(_prefixes(path))[:-1], path + _DEFINED}) if path else frozenset()


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))


_GLOBALS: Final = frozenset(DEFAULT_NAMESPACE) - {"lipsum"}
_SAME: Final = frozenset({"sort", "list", "reverse", "unique", "selectattr", "rejectattr", "select", "reject"})
_ITEM: Final = frozenset({"first", "last", "min", "max"})
_COUNTING: Final = frozenset({"join", "length", "count", "map"})
_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LOCAL: Final = frozenset({"self", "super"})

Scope = dict[str, Shape]
"""The variables at a place in a template, with their shapes."""


class TemplateFault(NamedTuple):
    """Something wrong in a template."""

    template: str
    line: int
    message: str
    hint: str


class ExpressionChecker:
    """A walk over the expressions of one template, which collects the names they use and their faults."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.faults: list[TemplateFault] = []
        self.used: set[str] = set()
        """What is looked at: names, and slots as `step.Exit`."""
        self.open: list[str] = []
        """The template being walked, after those that include it."""
        self.sure: frozenset[str] = frozenset()
        """Optional values that are known to be there at this point, as they are written."""
        self.conditions = 0
        """How many conditions and loops are around this point."""

    def fault(self, node: nodes.Node, message: str, hint: str = "") -> None:
        self.faults.append(TemplateFault(self.open[-1], node.lineno, message, hint))

    def value(self, node: nodes.Node, scope: Scope) -> Shape:
        """The shape of an expression; on the way everything in it is looked at."""
        if too_much := excess(node):
            self.fault(node, too_much, "ask for less; a template only shows what it is given")
            return None
        match node:
            case nodes.Name():
                return self._name(node, scope)
            case nodes.Getattr():
                return self._part(node, node.node, node.attr, scope)
            case nodes.Getitem(arg=nodes.Const(value=str(name))):
                return self._part(node, node.node, name, scope)
            case nodes.Getitem(arg=nodes.Slice()):
                self.value(node.arg, scope)
                return self.value(node.node, scope)
            case nodes.Getitem(arg=nodes.Const(value=int())):
                return item_of(self.value(node.node, scope))
            case nodes.Filter():
                return self._filter(node, scope)
            case nodes.And() | nodes.Or():
                return self._junction(node, scope)
            case nodes.CondExpr():
                self.value(node.test, scope)
                shape = self._perhaps_value(node.expr1, scope, present_if_true(node.test))
                if node.expr2 is not None:
                    self._perhaps_value(node.expr2, scope, present_if_false(node.test))
                return shape
            case nodes.List() | nodes.Tuple():
                # The items of a list that is written out have the parts of each of them.
                items = [self.value(item, scope) for item in node.items]
                known = [item for item in items if isinstance(item, ObjectShape) and item.parts]
                if not known or len(known) < len(items):
                    return None
                parts = {name: part for item in known for name, part in item.parts.items()}
                return ListShape(ObjectShape(known[0].label, parts, any(item.optional for item in known)))
            case _:
                self._compute(node, scope)
                return None

    def _compute(self, node: nodes.Node, scope: Scope) -> None:
        """Look at an expression whose result has no known parts."""
        match node:
            case nodes.Test():
                if node.name not in JINJA_TESTS:
                    hint = suggest(node.name, JINJA_TESTS) or "see Jinja's tests"
                    self.fault(node, f"uses unknown test '{node.name}'", hint)
                self._children(node, scope)
            case nodes.Call(node=nodes.Getattr(attr=method) as callee) if method in _METHODS:
                self.value(callee.node, scope)
                self._children(node, scope, skip=callee)
            case nodes.Call():
                if node.node == nodes.Name("range", "load") and "range" not in scope:
                    self._refuse(node, range_fault(node, [self._kind(argument, scope) for argument in node.args]))
                self.call(node, scope)
            case nodes.Mul() | nodes.Pow() | nodes.Mod() | nodes.Div() | nodes.FloorDiv() | nodes.Add() | nodes.Sub():
                fault = operation_fault(node, self._kind(node.left, scope), self._kind(node.right, scope))
                self._refuse(node, fault)
            case nodes.Neg() | nodes.Pos():
                kind = self._kind(node.node, scope)
                if kind not in ("", "number"):
                    self._refuse(node, f"uses {_SIGNS[type(node)]} on {_KIND_NAMES[kind]}, not on a number")
            case nodes.Compare():
                left = self._kind(node.expr, scope)
                for operand in node.ops:
                    right = self._kind(operand.expr, scope)
                    self._refuse(operand.expr, order_fault(operand.op, left, right), "compare values of one kind")
                    left = right
            case nodes.TemplateData() | nodes.Const():
                pass
            case _:
                self._children(node, scope)

    def _refuse(self, node: nodes.Node, fault: str, hint: str = "write out what is wanted") -> None:
        if fault:
            self.fault(node, fault, hint)

    def _kind(self, node: nodes.Node, scope: Scope) -> Kind:
        return kind_of(node, self.value(node, scope))

    def call(self, node: nodes.Call, scope: Scope) -> None:
        """Check the callee and the arguments of a call."""
        self._children(node, scope)

    def _children(self, node: nodes.Node, scope: Scope, skip: nodes.Node | None = None) -> None:
        for child in node.iter_child_nodes():
            if child is not skip:
                self.value(child, scope)

    def _name(self, node: nodes.Name, scope: Scope, whole: bool = True) -> Shape:
        if node.name in scope:
            shape = scope[node.name]
            self.used.add(node.name)
            if whole and isinstance(shape, ObjectShape):
                self.used.update(f"{shape.label}.{part}" for part in shape.parts)
            return shape
        if node.name not in _GLOBALS and node.name not in _LOCAL:
            hint = suggest(node.name, scope) or "declare it in `needs`"
            self.fault(node, f"uses '{node.name}', which is not declared", hint)
        return None

    def _part(self, node: nodes.Expr, owner: nodes.Expr, name: str, scope: Scope) -> Shape:
        shape = self._name(owner, scope, whole=False) if isinstance(owner, nodes.Name) else self.value(owner, scope)
        path = expression_text(owner)
        if name.startswith("_"):
            self.fault(node, f"looks into '{name}', which templates may not", "use declared fields only")
            return None
        if is_optional(shape) and not self.is_sure(path, shape):
            self.fault(node, f"reads '{path}.{name}', but '{path}' may be absent", f"put it inside `if {path}`")
        parts = parts_of(self.protocol, shape)
        if parts is None or (isinstance(shape, ObjectShape) and shape.optional and not parts):
            return None
        if name not in parts:
            self._unknown_part(node, shape, path, name, parts)
            return None
        if isinstance(shape, ObjectShape):
            self.used.add(f"{shape.label}.{name}")
        return parts[name]

    def is_sure(self, path: str, shape: Shape) -> bool:
        """Whether an optional value is known to be there at this point."""
        return is_present(path, self.sure, slot=isinstance(shape, ObjectShape | ListShape))

    def must_be_there(self, node: nodes.Node, shape: Shape, verb: str) -> None:
        """Report a value that may be absent but is used without a test."""
        core = node
        while isinstance(core, nodes.Filter) and core.node is not None:
            core = core.node
        path = expression_text(core)
        if is_optional(shape) and path and not self.is_sure(path, shape):
            self.fault(node, f"{verb} '{path}', which may be absent", f"put it inside `if {path}`")

    def _unknown_part(self, node: nodes.Expr, shape: Shape, path: str, name: str, parts: Mapping[str, Shape]) -> None:
        near = suggest(name, parts)
        slots = isinstance(shape, ObjectShape) and all(
            isinstance(part, ObjectShape) or part is None for part in parts.values()
        )
        if slots and parts:
            message = f"uses '{path}.{name}', which is not declared"
            self.fault(node, message, near or f"add '{path}.{name}' to `needs`")
            return
        listed = f"its fields are {', '.join(sorted(parts)[:8])}" if parts else "it has no fields"
        self.fault(node, f"reads '{path}.{name}', but {describe(shape)} has no field '{name}'", near or listed)

    def _filter(self, node: nodes.Filter, scope: Scope) -> Shape:
        shape = self.value(node.node, scope) if node.node is not None else None
        for child in (*node.args, *node.kwargs):
            self.value(child, scope)
        if node.name not in FILTERS:
            hint = suggest(node.name, FILTERS) or f"there are {', '.join(sorted(FILTERS))}"
            self.fault(node, f"uses unknown filter '{node.name}'", hint)
        if node.name in ("default", "d"):
            # Only `default(x, true)` replaces none, which is what an absent value is.
            flags = [*node.args[1:2], *(pair.value for pair in node.kwargs if pair.key == "boolean")]
            replaces = any(isinstance(flag, nodes.Const) and bool(flag.value) for flag in flags)
            return present(shape) if replaces else shape
        for argument in (*node.args, *(pair.value for pair in node.kwargs)):
            if isinstance(argument, nodes.Const) and str(argument.value).startswith("_"):
                self.fault(node, f"looks into '{argument.value}', which templates may not", "use declared fields only")
        if node.node is not None:
            items = [self._kind(item, scope) for item in getattr(node.node, "items", ())]
            self._refuse(node, filter_fault(node, kind_of(node.node, shape), items))
            if node.name in _COUNTING | _SAME | _ITEM:
                self.must_be_there(node.node, shape, f"takes '{node.name}' of")
        return shape if node.name in _SAME else item_of(shape) if node.name in _ITEM else None

    def _junction(self, node: nodes.And | nodes.Or, scope: Scope) -> Shape:
        """`a and a.b` reads b only where a is there; `a or b` is whichever is there."""
        left = self.value(node.left, scope)
        if isinstance(node, nodes.And):
            return self._perhaps_value(node.right, scope, present_if_true(node.left))
        self._perhaps_value(node.right, scope, present_if_false(node.left))
        return present(left)

    def _perhaps_value(self, node: nodes.Node, scope: Scope, sure: frozenset[str]) -> Shape:
        """Look at an expression that is computed under a condition, which makes some values sure."""
        before = self.sure
        self.sure = before | sure
        self.conditions += 1
        shape = self.value(node, scope)
        self.conditions -= 1
        self.sure = before
        return shape
