"""Walks the statements of a template and of what it includes, as one step would render it."""

from collections.abc import Callable
from typing import Final

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from treadle.protocol.answers.paths import path_fault
from treadle.protocol.checks.bulk import MAX_ROUNDS, excess, rounds
from treadle.protocol.checks.expressions import Look, Scope
from treadle.protocol.checks.operations import call_fault
from treadle.protocol.checks.presence import failing, holding, written
from treadle.protocol.checks.shapes import Defined, Members, Shape, item_of, present
from treadle.protocol.fields import parse_type
from treadle.protocol.findings import suggest
from treadle.protocol.model import Protocol

Facts = dict[str, str]
"""What is fixed for one use of a template: `mode.type`, `step`."""
_COUNTS: Final = ("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0")
_LOOP: Final = Members(
    "loop",
    {**dict.fromkeys(_COUNTS, parse_type("int")), **dict.fromkeys(("previtem", "nextitem", "cycle", "changed"))},
)
Load = Callable[[str], "nodes.Template | None"]


class Walk(Look):
    """One pass over a template; the variables are changed by assignments as the template would change them."""

    def __init__(self, protocol: Protocol, load: Load, facts: Facts) -> None:
        super().__init__(protocol)
        self.load, self.facts = load, facts
        self.opened: set[str] = set()
        self.calling: list[nodes.Macro] = []
        """The macros being walked; one that calls itself is walked once."""
        self.entered: list[int] = []
        """For each of them, how many conditions were around its call."""
        self.rounds = 1
        """How often the loops around this point go round, as far as constants say so."""

    def template(self, name: str, scope: Scope) -> None:
        """Walk a template by name."""
        self.opened.add(name)
        tree = self.load(name)
        if tree is None or name in self.open:
            return
        self.open.append(name)
        self.body(tree.body, scope)
        self.open.pop()

    def body(self, statements: list[nodes.Node], scope: Scope) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: nodes.Node, scope: Scope) -> None:
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

    def _rest(self, node: nodes.Node, scope: Scope) -> None:
        if isinstance(node, nodes.AssignBlock):
            self._assign(node.target, None, scope)
        for child in node.iter_child_nodes(exclude=("target",)):
            if isinstance(child, nodes.Expr):
                self.value(child, scope)
            else:
                self.statement(child, scope)

    def _if(self, node: nodes.If, scope: Scope) -> None:
        before = self.sure
        verdict = self._verdict(node.test)
        self.value(node.test, scope)
        if verdict is not False:
            self.sure = before | holding(node.test)
            self._perhaps(node.body, scope)
        self.sure = before | failing(node.test)
        if verdict is not True:
            self.conditions += 1
            for branch in node.elif_:
                self._if(branch, scope)
            self.conditions -= 1
            self._perhaps(node.else_, scope)
        self.sure = before

    def _perhaps(self, statements: list[nodes.Node], scope: Scope) -> None:
        self.conditions += 1
        self.body(statements, scope)
        self.conditions -= 1

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

    def _for(self, node: nodes.For, scope: Scope) -> None:
        items = self.value(node.iter, scope)
        self.must_be_there(node.iter, items, "loops over")
        inner = {**scope, "loop": _LOOP}
        self._assign(node.target, item_of(items), inner)
        before, outside = self.sure, self.rounds
        self.rounds *= max(1, rounds(node.iter) or 1)
        if outside <= MAX_ROUNDS < self.rounds and not excess(node.iter):
            self.fault(node, f"goes round {self.rounds} times, the loops around it counted", "count less")
        if node.test is not None:
            self.value(node.test, inner)
            self.sure = before | holding(node.test)
        self._perhaps(node.body, inner)
        self.sure, self.rounds = before, outside
        self._perhaps(node.else_, dict(scope))

    def _macro(self, node: nodes.Macro | nodes.CallBlock, scope: Scope) -> None:
        inner = {**scope, **dict.fromkeys(("caller", "varargs", "kwargs"))}
        for default in node.defaults:
            self.value(default, scope)
        if isinstance(node, nodes.CallBlock):
            self.value(node.call, scope)
        else:
            scope[node.name] = inner[node.name] = Defined(node, self.open[-1], scope)
        inner.update({argument.name: None for argument in node.args})
        before = self.sure
        self.sure = frozenset() if isinstance(node, nodes.Macro) else before  # a macro runs elsewhere
        self.body(node.body, inner)
        self.sure = before

    def call(self, node: nodes.Call, scope: Scope) -> None:
        """Walk a macro with what it is given."""
        callee = self.value(node.node, scope)
        if fault := call_fault(node, callee):
            self.fault(node, fault, "leave the brackets away")
        if not isinstance(callee, Defined) or any(macro is callee.macro for macro in self.calling):
            self._children(node, scope, skip=node.node)
            self._recursion(node, callee)
            return
        given = [self._given(argument, scope) for argument in node.args]
        named = {pair.key: self._given(pair.value, scope) for pair in node.kwargs}
        names = [argument.name for argument in callee.macro.args]
        unknown = dict.fromkeys((*names, "caller", "varargs", "kwargs"))
        inner = {**callee.scope, **unknown, **dict(zip(names, given, strict=False)), **named}
        before, self.sure = self.sure, frozenset()
        self.calling.append(callee.macro)
        self.entered.append(self.conditions)
        self.open.append(callee.template)
        self.body(callee.macro.body, inner)
        self.open.pop()
        self.calling.pop()
        self.entered.pop()
        self.sure = before

    def _recursion(self, node: nodes.Call, callee: Shape) -> None:
        """A macro that comes back to itself whatever it is given never ends."""
        for macro, conditions in zip(self.calling, self.entered, strict=True):
            if isinstance(callee, Defined) and macro is callee.macro and conditions == self.conditions:
                self.fault(node, f"calls the macro '{macro.name}' inside of itself", "let a condition end it")

    def _given(self, argument: nodes.Expr, scope: Scope) -> Shape:
        shape = self.value(argument, scope)
        if isinstance(shape, Members) and not shape.parts:
            return None
        return present(shape) if self.is_sure(written(argument), shape) else shape

    def _assign(self, goal: nodes.Node, shape: Shape, scope: Scope) -> None:
        if isinstance(goal, nodes.Name):
            scope[goal.name] = shape
            self.sure = frozenset(path for path in self.sure if path.partition(".")[0] != goal.name)
        for name in goal.find_all(nodes.Name):
            if name is not goal:
                scope[name.name] = None

    def _other(self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends, scope: Scope) -> None:
        if not isinstance(node.template, nodes.Const) or not isinstance(node.template.value, str):
            self.fault(node, "names another template by an expression", "write its name as a text")
            return
        name = node.template.value
        known = self.protocol.templates
        if name not in known:
            self.fault(node, f"includes unknown template '{name}'", suggest(name, known) or _where_to_write(name))
        else:
            self.opened.add(name)
        if name in known and isinstance(node, nodes.Include | nodes.Extends):
            self.template(name, dict(scope))
        if isinstance(node, nodes.Import | nodes.FromImport):
            self._module(node, name, scope)

    def _module(self, node: nodes.Import | nodes.FromImport, name: str, scope: Scope) -> None:
        """What an imported template offers: its macros, and what it assigns."""
        seen = dict(scope) if node.with_context else dict.fromkeys(DEFAULT_NAMESPACE)
        inner = dict(seen)
        walked = name in self.protocol.templates and name not in self.open and self.load(name) is not None
        if walked:
            self.template(name, inner)
        offered = {key: shape for key, shape in inner.items() if key not in seen or shape is not seen[key]}
        if isinstance(node, nodes.Import):
            scope[node.target] = Members(node.target, offered) if walked else None
            return
        for part in node.names:
            wanted, local = (part, part) if isinstance(part, str) else part
            if walked and wanted not in offered:
                hint = suggest(wanted, offered) or f"it offers {', '.join(offered) or 'nothing'}"
                self.fault(node, f"imports '{wanted}', which '{name}' does not offer", hint)
            scope[local] = offered.get(wanted)


def _where_to_write(name: str) -> str:
    if path_fault(name):
        return "templates are named by their path below templates/, as in '_part.jinja'"
    return f"write templates/{name}"
