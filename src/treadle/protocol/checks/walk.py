"""Walks a template with the shapes of its variables and collects what it does that cannot work."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from treadle.protocol.checks.presence import failing, holding, written
from treadle.protocol.checks.shapes import Members, Shape, describe, is_optional, item_of, parts_of, present
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol

FILTERS: Final = frozenset({*JINJA_FILTERS, "fence"})
"""The filters that templates may use: Jinja's own, and the one that quotes foreign text."""
_SAME: Final = frozenset({"sort", "list", "reverse", "unique", "selectattr", "rejectattr", "select", "reject", "slice"})
_ITEM: Final = frozenset({"first", "last", "random", "min", "max"})
_COUNTING: Final = frozenset({"join", "length", "count", "map", "sum", "batch", "groupby"})
_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LOCAL: Final = frozenset({"loop", "caller", "varargs", "kwargs", "self", "super"})

Facts = dict[str, str]
"""What is fixed for one use of a template: `mode.type`, `step`."""
Load = Callable[[str], "nodes.Template | None"]


class Fault(NamedTuple):
    """Something wrong in a template."""

    template: str
    line: int
    message: str
    hint: str


class Walk:
    """One pass over a template and what it includes, as one step would render it."""

    def __init__(self, protocol: Protocol, load: Load, facts: Facts) -> None:
        self.protocol, self.load, self.facts = protocol, load, facts
        self.faults: list[Fault] = []
        self.used: set[str] = set()
        """Slots that are looked at, as `step.Exit`."""
        self.open: list[str] = []
        self.opened: set[str] = set()
        self.sure: frozenset[str] = frozenset()
        """Optional values that are known to be there at this point, as they are written."""

    def template(self, name: str, scope: dict[str, Shape]) -> None:
        """Walk a template by name."""
        self.opened.add(name)
        tree = self.load(name)
        if tree is None or name in self.open:
            return
        self.open.append(name)
        self.body(tree.body, scope)
        self.open.pop()

    def fault(self, node: nodes.Node, message: str, hint: str = "") -> None:
        self.faults.append(Fault(self.open[-1], node.lineno, message, hint))

    def body(self, statements: list[nodes.Node], scope: dict[str, Shape]) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: nodes.Node, scope: dict[str, Shape]) -> None:
        match node:
            case nodes.Output():
                for part in node.nodes:
                    self.value(part, scope)
            case nodes.If():
                self._if(node, scope)
            case nodes.For():
                self._for(node, scope)
            case nodes.Macro() | nodes.CallBlock():
                self._macro(node, scope)
            case nodes.Assign():
                self._assign(node.target, self.value(node.node, scope), scope)
            case nodes.With():
                inner = dict(scope)
                for goal, value in zip(node.targets, node.values, strict=False):
                    self._assign(goal, self.value(value, scope), inner)
                self.body(node.body, inner)
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                self._other(node, scope)
            case _:
                self._rest(node, scope)

    def _rest(self, node: nodes.Node, scope: dict[str, Shape]) -> None:
        if isinstance(node, nodes.AssignBlock):
            self._assign(node.target, None, scope)
        for child in node.iter_child_nodes(exclude=("target",)):
            if isinstance(child, nodes.Expr):
                self.value(child, scope)
            else:
                self.statement(child, scope)

    def _if(self, node: nodes.If, scope: dict[str, Shape]) -> None:
        before = self.sure
        verdict = self._verdict(node.test)
        self.value(node.test, scope)
        if verdict is not False:
            self.sure = before | holding(node.test)
            self.body(node.body, scope)
        self.sure = before | failing(node.test)
        if verdict is not True:
            for branch in node.elif_:
                self._if(branch, scope)
            self.body(node.else_, scope)
        self.sure = before

    def _verdict(self, test: nodes.Node) -> bool | None:
        """Whether a test is decided by who renders the template; None if it is not."""
        match test:
            case nodes.Not():
                inner = self._verdict(test.node)
                return None if inner is None else not inner
            case nodes.Compare(expr=left, ops=[nodes.Operand(op=op, expr=right)]):
                fact = self.facts.get(written(left))
                if fact is None or op not in ("eq", "ne", "in", "notin"):
                    return None
                values = [item.value for item in getattr(right, "items", [right]) if isinstance(item, nodes.Const)]
                return (fact in values) == (op in ("eq", "in"))
        return None

    def _for(self, node: nodes.For, scope: dict[str, Shape]) -> None:
        items = self.value(node.iter, scope)
        self._must_be_there(node.iter, items, "loops over")
        inner = {**scope, "loop": None}
        self._assign(node.target, item_of(items), inner)
        before = self.sure
        if node.test is not None:
            self.value(node.test, inner)
            self.sure = before | holding(node.test)
        self.body(node.body, inner)
        self.sure = before
        self.body(node.else_, dict(scope))

    def _macro(self, node: nodes.Macro | nodes.CallBlock, scope: dict[str, Shape]) -> None:
        inner = {**scope, **dict.fromkeys(("caller", "varargs", "kwargs"))}
        for default in node.defaults:
            self.value(default, scope)
        if isinstance(node, nodes.CallBlock):
            self.value(node.call, scope)
        else:
            scope[node.name] = inner[node.name] = None
        inner.update({argument.name: None for argument in node.args})
        self.body(node.body, inner)

    def _assign(self, goal: nodes.Node, shape: Shape, scope: dict[str, Shape]) -> None:
        if isinstance(goal, nodes.Name):
            scope[goal.name] = shape
            self.sure = frozenset(path for path in self.sure if path.partition(".")[0] != goal.name)
        for name in goal.find_all(nodes.Name):
            if name is not goal:
                scope[name.name] = None

    def _other(
        self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends, scope: dict[str, Shape]
    ) -> None:
        if not isinstance(node.template, nodes.Const) or not isinstance(node.template.value, str):
            self.fault(node, "names another template by an expression", "write its name as a text")
            return
        name = node.template.value
        known = self.protocol.templates
        if name not in known:
            self.fault(node, f"includes unknown template '{name}'", suggest(name, known) or f"write templates/{name}")
        elif isinstance(node, nodes.Include | nodes.Extends) or node.with_context:
            self.template(name, dict(scope))
        else:
            self.template(name, dict.fromkeys(DEFAULT_NAMESPACE))
        match node:
            case nodes.Import():
                scope[node.target] = None
            case nodes.FromImport():
                scope.update(dict.fromkeys(part if isinstance(part, str) else part[1] for part in node.names))

    # expressions

    def value(self, node: nodes.Node, scope: dict[str, Shape]) -> Shape:
        """The shape of an expression; on the way everything in it is looked at."""
        match node:
            case nodes.Name():
                return self._name(node, scope)
            case nodes.Getattr():
                return self._part(node, node.node, node.attr, scope)
            case nodes.Getitem(arg=nodes.Const(value=str(name))):
                return self._part(node, node.node, name, scope)
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
            case nodes.TemplateData() | nodes.Const():
                return None
            case _:
                self._children(node, scope)
                return None

    def _children(self, node: nodes.Node, scope: dict[str, Shape], skip: nodes.Node | None = None) -> None:
        for child in node.iter_child_nodes():
            if child is not skip:
                self.value(child, scope)

    def _name(self, node: nodes.Name, scope: dict[str, Shape], whole: bool = True) -> Shape:
        if node.name in scope:
            shape = scope[node.name]
            if whole and isinstance(shape, Members):
                self.used.update(f"{shape.label}.{part}" for part in shape.parts)
            return shape
        if node.name not in DEFAULT_NAMESPACE and node.name not in _LOCAL:
            hint = suggest(node.name, scope) or "declare it in `needs`"
            self.fault(node, f"uses '{node.name}', which is not declared", hint)
        return None

    def _part(self, node: nodes.Expr, owner: nodes.Expr, name: str, scope: dict[str, Shape]) -> Shape:
        shape = self._name(owner, scope, whole=False) if isinstance(owner, nodes.Name) else self.value(owner, scope)
        path = written(owner)
        if name.startswith("_"):
            self.fault(node, f"looks into '{name}', which templates may not", "use declared fields only")
            return None
        if is_optional(shape) and path not in self.sure:
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

    def _must_be_there(self, node: nodes.Node, shape: Shape, verb: str) -> None:
        path = written(node)
        if is_optional(shape) and path and path not in self.sure:
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

    def _filter(self, node: nodes.Filter, scope: dict[str, Shape]) -> Shape:
        shape = self.value(node.node, scope) if node.node is not None else None
        for child in (*node.args, *node.kwargs):
            self.value(child, scope)
        if node.name not in FILTERS:
            self.fault(node, f"uses unknown filter '{node.name}'", suggest(node.name, FILTERS) or "see Jinja's filters")
        if node.name in ("default", "d"):
            return present(shape)
        if node.node is not None and node.name in _COUNTING | _SAME | _ITEM:
            self._must_be_there(node.node, shape, f"takes '{node.name}' of")
        return shape if node.name in _SAME else item_of(shape) if node.name in _ITEM else None

    def _test(self, node: nodes.Test, scope: dict[str, Shape]) -> Shape:
        if node.name not in JINJA_TESTS:
            self.fault(node, f"uses unknown test '{node.name}'", suggest(node.name, JINJA_TESTS) or "see Jinja's tests")
        self._children(node, scope)
        return None

    def _junction(self, node: nodes.And | nodes.Or, scope: dict[str, Shape]) -> Shape:
        """`a and a.b` reads b only where a is there; `a or b` is whichever is there."""
        left = self.value(node.left, scope)
        before = self.sure
        self.sure = before | (holding(node.left) if isinstance(node, nodes.And) else failing(node.left))
        right = self.value(node.right, scope)
        self.sure = before
        if isinstance(node, nodes.Or):
            return present(left) if left is not None else None
        return right

    def _choice(self, node: nodes.CondExpr, scope: dict[str, Shape]) -> Shape:
        self.value(node.test, scope)
        before = self.sure
        self.sure = before | holding(node.test)
        shape = self.value(node.expr1, scope)
        self.sure = before | failing(node.test)
        if node.expr2 is not None:
            self.value(node.expr2, scope)
        self.sure = before
        return shape
