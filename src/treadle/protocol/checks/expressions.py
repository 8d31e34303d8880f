"""Looks at the expressions of a template: what they read, and whether that is there."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.tests import TESTS as JINJA_TESTS

from treadle.protocol.checks.bulk import excess
from treadle.protocol.checks.operations import (
    Kind,
    filter_fault,
    kind_of,
    operation_fault,
    order_fault,
    range_fault,
    sign_fault,
)
from treadle.protocol.checks.presence import failing, holding, is_there, written
from treadle.protocol.checks.shapes import Many, Members, Shape, describe, is_optional, item_of, parts_of, present
from treadle.protocol.filters import FILTERS
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol

_GLOBALS: Final = frozenset(DEFAULT_NAMESPACE) - {"lipsum"}
_SAME: Final = frozenset({"sort", "list", "reverse", "unique", "selectattr", "rejectattr", "select", "reject"})
_ITEM: Final = frozenset({"first", "last", "min", "max"})
_COUNTING: Final = frozenset({"join", "length", "count", "map"})
_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LOCAL: Final = frozenset({"self", "super"})

Scope = dict[str, Shape]
"""The variables that can be used at a place, and what is known about them."""


class Fault(NamedTuple):
    """Something wrong in a template."""

    template: str
    line: int
    message: str
    hint: str


class Look:
    """What has been seen in the expressions of one template, and what is wrong with them."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.faults: list[Fault] = []
        self.used: set[str] = set()
        """What is looked at: names, and slots as `step.Exit`."""
        self.open: list[str] = []
        """The template being walked, after those that include it."""
        self.sure: frozenset[str] = frozenset()
        """Optional values that are known to be there at this point, as they are written."""
        self.conditions = 0
        """How many conditions and loops are around this point."""

    def fault(self, node: nodes.Node, message: str, hint: str = "") -> None:
        self.faults.append(Fault(self.open[-1], node.lineno, message, hint))

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
            case nodes.Test():
                return self._test(node, scope)
            case nodes.And() | nodes.Or():
                return self._junction(node, scope)
            case nodes.CondExpr():
                return self._choice(node, scope)
            case nodes.Call(node=nodes.Getattr(attr=method) as callee) if method in _METHODS:
                self.value(callee.node, scope)
                self._children(node, scope, skip=callee)
                return None
            case nodes.Call():
                if node.node == nodes.Name("range", "load") and "range" not in scope:
                    self._refuse(node, range_fault(node, [self._kind(argument, scope) for argument in node.args]))
                self.call(node, scope)
                return None
            case nodes.List() | nodes.Tuple():
                return self._listed([self.value(item, scope) for item in node.items])
            case nodes.Mul() | nodes.Pow() | nodes.Mod() | nodes.Div() | nodes.FloorDiv() | nodes.Add() | nodes.Sub():
                fault = operation_fault(node, self._kind(node.left, scope), self._kind(node.right, scope))
                self._refuse(node, fault)
                return None
            case nodes.Neg() | nodes.Pos():
                self._refuse(node, sign_fault(node, self._kind(node.node, scope)))
                return None
            case nodes.Compare():
                return self._compared(node, scope)
            case nodes.TemplateData() | nodes.Const():
                return None
            case _:
                self._children(node, scope)
                return None

    def _refuse(self, node: nodes.Node, fault: str, hint: str = "write out what is wanted") -> None:
        if fault:
            self.fault(node, fault, hint)

    def _kind(self, node: nodes.Node, scope: Scope) -> Kind:
        return kind_of(node, self.value(node, scope))

    def _compared(self, node: nodes.Compare, scope: Scope) -> Shape:
        left = self._kind(node.expr, scope)
        for operand in node.ops:
            right = self._kind(operand.expr, scope)
            self._refuse(operand.expr, order_fault(operand.op, left, right), "compare values of one kind")
            left = right
        return None

    def _listed(self, items: list[Shape]) -> Shape:
        """A list that is written out: its items have the parts of each of them."""
        known = [item for item in items if isinstance(item, Members) and item.parts]
        if not known or len(known) < len(items):
            return None
        parts = {name: part for item in known for name, part in item.parts.items()}
        return Many(Members(known[0].label, parts, any(item.optional for item in known)))

    def call(self, node: nodes.Call, scope: Scope) -> None:
        """Look at what is called, and with what."""
        self._children(node, scope)

    def _children(self, node: nodes.Node, scope: Scope, skip: nodes.Node | None = None) -> None:
        for child in node.iter_child_nodes():
            if child is not skip:
                self.value(child, scope)

    def _name(self, node: nodes.Name, scope: Scope, whole: bool = True) -> Shape:
        if node.name in scope:
            shape = scope[node.name]
            self.used.add(node.name)
            if whole and isinstance(shape, Members):
                self.used.update(f"{shape.label}.{part}" for part in shape.parts)
            return shape
        if node.name not in _GLOBALS and node.name not in _LOCAL:
            hint = suggest(node.name, scope) or "declare it in `needs`"
            self.fault(node, f"uses '{node.name}', which is not declared", hint)
        return None

    def _part(self, node: nodes.Expr, owner: nodes.Expr, name: str, scope: Scope) -> Shape:
        shape = self._name(owner, scope, whole=False) if isinstance(owner, nodes.Name) else self.value(owner, scope)
        path = written(owner)
        if name.startswith("_"):
            self.fault(node, f"looks into '{name}', which templates may not", "use declared fields only")
            return None
        if is_optional(shape) and not self.is_sure(path, shape):
            self.fault(node, f"reads '{path}.{name}', but '{path}' may be absent", f"put it inside `if {path}`")
        parts = parts_of(self.protocol, shape)
        if parts is None or (isinstance(shape, Members) and shape.optional and not parts):
            return None
        if name not in parts:
            self._unknown_part(node, shape, path, name, parts)
            return None
        if isinstance(shape, Members):
            self.used.add(f"{shape.label}.{name}")
        return parts[name]

    def is_sure(self, path: str, shape: Shape) -> bool:
        """Whether an optional value is known to be there at this point."""
        return is_there(path, self.sure, slot=isinstance(shape, Members | Many))

    def must_be_there(self, node: nodes.Node, shape: Shape, verb: str) -> None:
        """Say so if a value that may be absent is used as if it were there."""
        core = node
        while isinstance(core, nodes.Filter) and core.node is not None:
            core = core.node
        path = written(core)
        if is_optional(shape) and path and not self.is_sure(path, shape):
            self.fault(node, f"{verb} '{path}', which may be absent", f"put it inside `if {path}`")

    def _unknown_part(self, node: nodes.Expr, shape: Shape, path: str, name: str, parts: Mapping[str, Shape]) -> None:
        slots = isinstance(shape, Members) and all(isinstance(part, Members) or part is None for part in parts.values())
        if slots and parts:
            hint = suggest(name, parts) or f"add '{path}.{name}' to `needs`"
            self.fault(node, f"uses '{path}.{name}', which is not declared", hint)
            return
        hint = suggest(name, parts) or (
            f"its fields are {', '.join(sorted(parts)[:8])}" if parts else "it has no fields"
        )
        self.fault(node, f"reads '{path}.{name}', but {describe(shape)} has no field '{name}'", hint)

    def _filter(self, node: nodes.Filter, scope: Scope) -> Shape:
        shape = self.value(node.node, scope) if node.node is not None else None
        for child in (*node.args, *node.kwargs):
            self.value(child, scope)
        if node.name not in FILTERS:
            hint = suggest(node.name, FILTERS) or f"there are {', '.join(sorted(FILTERS))}"
            self.fault(node, f"uses unknown filter '{node.name}'", hint)
        if node.name in ("default", "d"):
            return present(shape) if _replaces_none(node) else shape
        for argument in (*node.args, *(pair.value for pair in node.kwargs)):
            if isinstance(argument, nodes.Const) and str(argument.value).startswith("_"):
                self.fault(node, f"looks into '{argument.value}', which templates may not", "use declared fields only")
        if node.node is not None:
            items = [self._kind(item, scope) for item in getattr(node.node, "items", ())]
            self._refuse(node, filter_fault(node, kind_of(node.node, shape), items))
        if node.node is not None and node.name in _COUNTING | _SAME | _ITEM:
            self.must_be_there(node.node, shape, f"takes '{node.name}' of")
        return shape if node.name in _SAME else item_of(shape) if node.name in _ITEM else None

    def _test(self, node: nodes.Test, scope: Scope) -> Shape:
        if node.name not in JINJA_TESTS:
            self.fault(node, f"uses unknown test '{node.name}'", suggest(node.name, JINJA_TESTS) or "see Jinja's tests")
        self._children(node, scope)
        return None

    def _junction(self, node: nodes.And | nodes.Or, scope: Scope) -> Shape:
        """`a and a.b` reads b only where a is there; `a or b` is whichever is there."""
        left = self.value(node.left, scope)
        before = self.sure
        self.sure = before | (holding(node.left) if isinstance(node, nodes.And) else failing(node.left))
        right = self._perhaps_value(node.right, scope)
        self.sure = before
        if isinstance(node, nodes.Or):
            return present(left) if left is not None else None
        return right

    def _choice(self, node: nodes.CondExpr, scope: Scope) -> Shape:
        self.value(node.test, scope)
        before = self.sure
        self.sure = before | holding(node.test)
        shape = self._perhaps_value(node.expr1, scope)
        self.sure = before | failing(node.test)
        if node.expr2 is not None:
            self._perhaps_value(node.expr2, scope)
        self.sure = before
        return shape

    def _perhaps_value(self, node: nodes.Node, scope: Scope) -> Shape:
        self.conditions += 1
        shape = self.value(node, scope)
        self.conditions -= 1
        return shape


def _replaces_none(node: nodes.Filter) -> bool:
    """`default(x, true)`: without the second argument, an absent value stays none."""
    flags = [*node.args[1:2], *(pair.value for pair in node.kwargs if pair.key == "boolean")]
    return any(isinstance(flag, nodes.Const) and bool(flag.value) for flag in flags)
