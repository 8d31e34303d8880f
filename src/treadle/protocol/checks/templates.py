"""Check 15, the templates: they parse, use declared variables, and look only into fields that exist.

The check walks the syntax tree instead of rendering samples, because a walk sees both sides of every condition, knows
which values the condition makes sure, and can point at every fault with its line.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE
from jinja2.tests import TESTS as JINJA_TESTS

from treadle.protocol.checks.expressions import (
    MAX_ROUNDS,
    OF_MANY,
    ONE_ITEM,
    SAME_ITEMS,
    constant_rounds,
    excess,
    expression_text,
    filter_fault,
    is_present,
    literal_kind,
    operation_fault,
    order_fault,
    present_if_false,
    present_if_true,
    range_fault,
    sign_fault,
)
from treadle.protocol.checks.shapes import (
    ALL_NEEDS,
    INT,
    RESERVED,
    UNKNOWN,
    Kind,
    Macro,
    TemplateVariables,
    ValueShape,
    list_of,
    object_of,
    variable_name,
)
from treadle.protocol.checks.subject import Flow, ProtocolSubject
from treadle.protocol.checks.termination import components, shortest_cycle
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Protocol, base_of
from treadle.protocol.paths import path_fault
from treadle.protocol.templates import FILTERS, parse_template

_COUNTS: Final = ("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0")
_LOOP: Final = object_of(
    "loop", {**dict.fromkeys(_COUNTS, INT), **dict.fromkeys(("previtem", "nextitem", "cycle", "changed"), UNKNOWN)}
)
_IN_MACROS: Final = ("caller", "varargs", "kwargs")
_EVERYWHERE: Final = frozenset(DEFAULT_NAMESPACE) - {"lipsum"} | {"self", "super"}
_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LEADING: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)

Scope = dict[str, ValueShape]
"""The variables at a place in a template."""


class TemplateFault(NamedTuple):
    """Something wrong in a template."""

    template: str
    line: int
    message: str
    hint: str


class TemplateChecker:
    """One pass over a template and its includes, as one step would render it.

    It collects the faults and the names that are used; assignments change the variables as the template would.
    """

    def __init__(self, protocol: Protocol, facts: dict[str, str]) -> None:
        self.protocol, self.facts = protocol, facts
        """The facts are the values fixed for one use of a template: `mode.type`, `step`."""
        self.faults: list[TemplateFault] = []
        self.used: set[str] = set()
        """The names and slots (as `step.Exit`) that the template reads."""
        self.opened: set[str] = set()
        self.open: list[str] = []
        """The template being walked, after those that include it."""
        self.sure: frozenset[str] = frozenset()
        """Optional values that are known to be there at this point, as they are written."""
        self.conditions = 0
        """How many conditions and loops are around this point."""
        self.calls: list[tuple[nodes.Macro, int]] = []
        """The macros being walked, with the conditions around each call; one that calls itself is walked once."""
        self.rounds = 1
        """How often the loops around this point go round, as far as constants say so."""

    def fault(self, node: nodes.Node, message: str, hint: str = "write out what is wanted") -> None:
        """Report a fault; an empty message is none."""
        if message:
            self.faults.append(TemplateFault(self.open[-1], node.lineno, message, hint))

    @contextmanager
    def _where(self, sure: frozenset[str]) -> Iterator[None]:
        """Walk something that is reached under a condition, which makes some values sure."""
        before = self.sure
        self.sure |= sure
        self.conditions += 1
        yield
        self.conditions -= 1
        self.sure = before

    # Statements.

    def template(self, name: str, scope: Scope) -> None:
        """Walk a template by name."""
        self.opened.add(name)
        tree = _tree(self.protocol, name)
        if tree is not None and name not in self.open:
            self.open.append(name)
            self._body(tree.body, scope)
            self.open.pop()

    def _body(self, statements: Iterable[nodes.Node], scope: Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, node: nodes.Node, scope: Scope) -> None:
        match node:
            case nodes.Output():
                for part in node.nodes:
                    self._value(part, scope)
            case nodes.If():
                verdict = self._verdict(node.test)
                self._value(node.test, scope)
                if verdict is not False:
                    with self._where(present_if_true(node.test)):
                        self._body(node.body, scope)
                if verdict is not True:
                    with self._where(present_if_false(node.test)):
                        self._body([*node.elif_, *node.else_], scope)
            case nodes.For():
                self._for(node, scope)
            case nodes.Macro() | nodes.CallBlock():
                self._macro(node, scope)
            case nodes.Assign():
                self._assign(node.target, self._value(node.node, scope), scope)
            case nodes.With():
                inner = dict(scope)
                for goal, value in zip(node.targets, node.values, strict=False):
                    self._assign(goal, self._value(value, scope), inner)
                self._body(node.body, inner)
            case nodes.Include() | nodes.Import() | nodes.FromImport() | nodes.Extends():
                self._other_template(node, scope)
            case _:
                if isinstance(node, nodes.AssignBlock):
                    self._assign(node.target, UNKNOWN, scope)
                for child in node.iter_child_nodes(exclude=("target",)):
                    if isinstance(child, nodes.Expr):
                        self._value(child, scope)
                    else:
                        self._statement(child, scope)

    def _verdict(self, test: nodes.Node) -> bool | None:
        """Return a test's result if the facts of the rendering step decide it; None if they do not."""
        match test:
            case nodes.Not():
                inner = self._verdict(test.node)
                return None if inner is None else not inner
            case nodes.Compare(expr=left, ops=[nodes.Operand(op=("eq" | "ne" | "in" | "notin") as op, expr=right)]):
                fact = self.facts.get(expression_text(left))
                values = [item.value for item in getattr(right, "items", [right]) if isinstance(item, nodes.Const)]
                return None if fact is None else (fact in values) == (op in ("eq", "in"))
        return None

    def _for(self, node: nodes.For, scope: Scope) -> None:
        items = self._value(node.iter, scope)
        self._must_be_there(node.iter, items, "loops over")
        inner = {**scope, "loop": _LOOP}
        self._assign(node.target, items.item or UNKNOWN, inner)
        outside = self.rounds
        self.rounds *= max(1, constant_rounds(node.iter) or 1)
        if outside <= MAX_ROUNDS < self.rounds and not excess(node.iter):
            self.fault(node, f"goes round {self.rounds} times, the loops around it counted", "count less")
        if node.test is not None:
            self._value(node.test, inner)
        with self._where(present_if_true(node.test) if node.test else frozenset()):
            self._body(node.body, inner)
        self.rounds = outside
        with self._where(frozenset()):
            self._body(node.else_, dict(scope))

    def _macro(self, node: nodes.Macro | nodes.CallBlock, scope: Scope) -> None:
        inner = {**scope, **dict.fromkeys(_IN_MACROS, UNKNOWN)}
        for default in node.defaults:
            self._value(default, scope)
        before = self.sure
        if isinstance(node, nodes.CallBlock):
            self._value(node.call, scope)
        else:
            scope[node.name] = inner[node.name] = ValueShape(macro=Macro(node, self.open[-1], scope))
            self.sure = frozenset()  # a macro runs elsewhere
        inner.update({argument.name: UNKNOWN for argument in node.args})
        self._body(node.body, inner)
        self.sure = before

    def _assign(self, goal: nodes.Node, shape: ValueShape, scope: Scope) -> None:
        if isinstance(goal, nodes.Name):
            scope[goal.name] = shape
            self.sure = frozenset(path for path in self.sure if path.partition(".")[0] != goal.name)
        for name in goal.find_all(nodes.Name):
            if name is not goal:
                scope[name.name] = UNKNOWN

    def _other_template(
        self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends, scope: Scope
    ) -> None:
        if not isinstance(node.template, nodes.Const) or not isinstance(node.template.value, str):
            self.fault(node, "names another template by an expression", "write its name as a text")
            return
        name = node.template.value
        if name not in self.protocol.templates:
            hint = suggest(name, self.protocol.templates) or f"write templates/{name}"
            if path_fault(name):
                hint = "templates are named by their path below templates/, as in '_part.jinja'"
            self.fault(node, f"includes unknown template '{name}'", hint)
        else:
            self.opened.add(name)
            if isinstance(node, nodes.Include | nodes.Extends):
                self.template(name, dict(scope))
        if isinstance(node, nodes.Import | nodes.FromImport):
            self._import(node, name, scope)

    def _import(self, node: nodes.Import | nodes.FromImport, name: str, scope: Scope) -> None:
        """Bind the names that an imported template offers: its macros and its assignments."""
        seen = dict(scope) if node.with_context else dict.fromkeys(DEFAULT_NAMESPACE, UNKNOWN)
        inner = dict(seen)
        known = name in self.protocol.templates and name not in self.open and _tree(self.protocol, name) is not None
        if known:
            self.template(name, inner)
        offered = {key: shape for key, shape in inner.items() if key not in seen or shape is not seen[key]}
        if isinstance(node, nodes.Import):
            scope[node.target] = object_of(node.target, offered) if known else UNKNOWN
            return
        for part in node.names:
            wanted, local = (part, part) if isinstance(part, str) else part
            if known and wanted not in offered:
                hint = suggest(wanted, offered) or f"it offers {', '.join(offered) or 'nothing'}"
                self.fault(node, f"imports '{wanted}', which '{name}' does not offer", hint)
            scope[local] = offered.get(wanted, UNKNOWN)

    # Expressions.

    def _value(self, node: nodes.Node, scope: Scope) -> ValueShape:
        """The shape of an expression; on the way everything in it is looked at."""
        if too_much := excess(node):
            self.fault(node, too_much, "ask for less; a template only shows what it is given")
            return UNKNOWN
        match node:
            case nodes.TemplateData() | nodes.Const():
                return UNKNOWN
            case nodes.Name():
                return self._name(node, scope)
            case nodes.Getattr():
                return self._part(node, node.node, node.attr, scope)
            case nodes.Getitem(arg=nodes.Const(value=str(name))):
                return self._part(node, node.node, name, scope)
            case nodes.Getitem(arg=nodes.Slice()):
                self._value(node.arg, scope)
                return self._value(node.node, scope)
            case nodes.Getitem(arg=nodes.Const(value=int())):
                return self._value(node.node, scope).item or UNKNOWN
            case nodes.Filter():
                return self._filter(node, scope)
            case nodes.And():  # `a and a.b` reads b only where a is there
                self._value(node.left, scope)
                with self._where(present_if_true(node.left)):
                    return self._value(node.right, scope)
            case nodes.Or():  # whichever is there
                left = self._value(node.left, scope)
                with self._where(present_if_false(node.left)):
                    self._value(node.right, scope)
                return left._replace(absent="")
            case nodes.CondExpr():
                self._value(node.test, scope)
                with self._where(present_if_true(node.test)):
                    shape = self._value(node.expr1, scope)
                if node.expr2 is not None:
                    with self._where(present_if_false(node.test)):
                        self._value(node.expr2, scope)
                return shape
            case nodes.List() | nodes.Tuple():
                # The items of a list that is written out have the parts of each of them.
                items = [self._value(item, scope) for item in node.items]
                if not items or not all(item.parts for item in items):
                    return UNKNOWN
                parts = {name: part for item in items for name, part in (item.parts or {}).items()}
                optional = next((item for item in items if item.absent), items[0])
                return list_of(object_of(items[0].label, parts)._replace(absent=optional.absent))
        self._compute(node, scope)
        return UNKNOWN

    def _compute(self, node: nodes.Node, scope: Scope) -> None:
        """Check an expression that gives a result without known parts."""
        match node:
            case nodes.Test():
                if node.name not in JINJA_TESTS:
                    hint = suggest(node.name, JINJA_TESTS) or "see Jinja's tests"
                    self.fault(node, f"uses unknown test '{node.name}'", hint)
                self._children(node, scope)
            case nodes.Call(node=nodes.Getattr(attr=method) as callee) if method in _METHODS:
                self._value(callee.node, scope)
                self._children(node, scope, skip=callee)
            case nodes.Call():
                if node.node == nodes.Name("range", "load") and "range" not in scope:
                    self.fault(node, range_fault(node, [self._kind(argument, scope) for argument in node.args]))
                self._call(node, scope)
            case nodes.Mul() | nodes.Pow() | nodes.Mod() | nodes.Div() | nodes.FloorDiv() | nodes.Add() | nodes.Sub():
                self.fault(node, operation_fault(node, self._kind(node.left, scope), self._kind(node.right, scope)))
            case nodes.Neg() | nodes.Pos():
                self.fault(node, sign_fault(node, self._kind(node.node, scope)))
            case nodes.Compare():
                left = self._kind(node.expr, scope)
                for operand in node.ops:
                    right = self._kind(operand.expr, scope)
                    self.fault(operand.expr, order_fault(operand.op, left, right), "compare values of one kind")
                    left = right
            case _:
                self._children(node, scope)

    def _kind(self, node: nodes.Node, scope: Scope) -> Kind:
        return self._value(node, scope).kind or literal_kind(node)

    def _children(self, node: nodes.Node, scope: Scope, skip: nodes.Node | None = None) -> None:
        for child in node.iter_child_nodes():
            if child is not skip:
                self._value(child, scope)

    def _call(self, node: nodes.Call, scope: Scope) -> None:
        """Walk a macro with the shapes of its arguments."""
        callee = self._value(node.node, scope)
        macro = callee.macro
        literal = isinstance(node.node, nodes.Const | nodes.List | nodes.Tuple | nodes.Dict)
        is_loop = callee.label == "loop"  # a recursive loop is called by this name
        if literal or not (macro or is_loop or callee == UNKNOWN):
            self.fault(node, "calls a value as if it were a macro", "remove the parentheses")
        around = [conditions for other, conditions in self.calls if macro and other is macro.node]
        if macro is None or around:
            self._children(node, scope, skip=node.node)
            if macro and self.conditions in around:  # with no condition on the way from its call to here
                self.fault(node, f"calls the macro '{macro.node.name}' inside of itself", "let a condition end it")
            return
        positional = [self._argument(argument, scope) for argument in node.args]
        named = {pair.key: self._argument(pair.value, scope) for pair in node.kwargs}
        names = [argument.name for argument in macro.node.args]
        unknown = dict.fromkeys((*names, *_IN_MACROS), UNKNOWN)
        before, self.sure = self.sure, frozenset()
        self.calls.append((macro.node, self.conditions))
        self.open.append(macro.template)
        self._body(macro.node.body, {**macro.scope, **unknown, **dict(zip(names, positional, strict=False)), **named})
        self.open.pop()
        self.calls.pop()
        self.sure = before

    def _argument(self, node: nodes.Expr, scope: Scope) -> ValueShape:
        shape = self._value(node, scope)
        if not shape.kind and not shape.macro:
            return UNKNOWN
        return shape._replace(absent="") if is_present(expression_text(node), shape, self.sure) else shape

    def _name(self, node: nodes.Name, scope: Scope, whole: bool = True) -> ValueShape:
        if node.name in scope:
            shape = scope[node.name]
            self.used.add(node.name)
            if whole:
                self.used.update(f"{shape.label}.{part}" for part in shape.parts or ())
            return shape
        if node.name not in _EVERYWHERE:
            hint = suggest(node.name, scope) or "declare it in `needs`"
            self.fault(node, f"uses '{node.name}', which is not declared", hint)
        return UNKNOWN

    def _part(self, node: nodes.Expr, owner: nodes.Expr, name: str, scope: Scope) -> ValueShape:
        shape = self._name(owner, scope, whole=False) if isinstance(owner, nodes.Name) else self._value(owner, scope)
        path = expression_text(owner)
        if name.startswith("_"):
            self.fault(node, f"looks into '{name}', which templates may not", "use declared fields only")
            return UNKNOWN
        if not is_present(path, shape, self.sure):
            self.fault(node, f"reads '{path}.{name}', but '{path}' may be absent", f"put it inside `if {path}`")
        parts = shape.parts
        if parts is None:
            return UNKNOWN
        if name in parts:
            self.used.add(f"{shape.label}.{name}")
            return parts[name]
        near = suggest(name, parts)
        if shape.slots and parts:
            message = f"uses '{path}.{name}', which is not declared"
            self.fault(node, message, near or f"add '{path}.{name}' to `needs`")
        else:
            described = f"'{shape.label}'" if shape.label else "a list"
            listed = f"its fields are {', '.join(sorted(parts)[:8])}" if parts else "it has no fields"
            self.fault(node, f"reads '{path}.{name}', but {described} has no field '{name}'", near or listed)
        return UNKNOWN

    def _must_be_there(self, node: nodes.Node, shape: ValueShape, verb: str) -> None:
        """Report a value that may be absent but is used without a test."""
        core = node
        while isinstance(core, nodes.Filter) and core.node is not None:
            core = core.node
        path = expression_text(core)
        if path and not is_present(path, shape, self.sure):
            self.fault(node, f"{verb} '{path}', which may be absent", f"put it inside `if {path}`")

    def _filter(self, node: nodes.Filter, scope: Scope) -> ValueShape:
        shape = self._value(node.node, scope) if node.node is not None else UNKNOWN
        for child in (*node.args, *node.kwargs):
            self._value(child, scope)
        if node.name not in FILTERS:
            hint = suggest(node.name, FILTERS) or f"choose from {', '.join(sorted(FILTERS))}"
            self.fault(node, f"uses unknown filter '{node.name}'", hint)
        if node.name in ("default", "d"):
            # Only `default(x, true)` replaces none, which is what an absent value is.
            flags = [*node.args[1:2], *(pair.value for pair in node.kwargs if pair.key == "boolean")]
            replaces = any(isinstance(flag, nodes.Const) and bool(flag.value) for flag in flags)
            return shape._replace(absent="") if replaces else shape
        for argument in (*node.args, *(pair.value for pair in node.kwargs)):
            if isinstance(argument, nodes.Const) and str(argument.value).startswith("_"):
                self.fault(node, f"looks into '{argument.value}', which templates may not", "use declared fields only")
        if node.node is not None:
            items = [self._kind(item, scope) for item in getattr(node.node, "items", ())]
            self.fault(node, filter_fault(node, shape.kind or literal_kind(node.node), items))
            if node.name in OF_MANY | {"join"}:
                self._must_be_there(node.node, shape, f"takes '{node.name}' of")
        return shape if node.name in SAME_ITEMS else (node.name in ONE_ITEM and shape.item) or UNKNOWN


class TemplateLink(NamedTuple):
    """An include, import or extends: from a template to one it names."""

    source: str
    goal: str
    line: int


def _links(name: str, tree: nodes.Template) -> Iterator[TemplateLink]:
    """The links to other templates, also where an expression chooses between them."""
    try:
        for node in tree.find_all(_LEADING):
            for text in (node.template, *node.template.find_all(nodes.Const)):  # type: ignore[attr-defined]
                if isinstance(text, nodes.Const) and isinstance(text.value, str):
                    yield TemplateLink(name, text.value, text.lineno)
    except RecursionError:
        return  # the walk over the template reports it


def _tree(protocol: Protocol, name: str) -> nodes.Template | None:
    tree = parse_template(protocol.templates[name])
    return tree if isinstance(tree, nodes.Template) else None


def templates_fit_their_steps(subject: ProtocolSubject) -> Iterator[Finding]:
    """15. Templates can be read and come to an end; each is walked as every step that uses it would render it."""
    protocol = subject.protocol
    for name, graph in protocol.graphs.items():
        if graph.input[0] in RESERVED:
            message = f"is given '{graph.input[0]}', but in templates that means something else"
            yield subject.finding(15, name, f"graphs.{name}.input", message, "rename the input")
    causes: set[str] = set()
    links: list[TemplateLink] = []
    for name, text in protocol.templates.items():
        tree = parse_template(text)
        if isinstance(tree, nodes.Template):
            links += [link for link in _links(name, tree) if link.goal in protocol.templates]
        else:
            line, reason = tree
            causes.add(name)
            message = f"is not a template: {reason}"
            yield subject.finding(15, name, f"templates.{name}", message, "see the Jinja syntax", line=line)
    # A template that includes itself, directly or not, on any condition, never finishes rendering.
    for part in components(protocol.templates, links):
        if inner := [link for link in links if link.source in part and link.goal in part]:
            causes |= part
            circle = shortest_cycle(inner)
            shown = " → ".join([*(link.source for link in circle), circle[0].source])
            hint = "let one of them stand alone" if len(circle) > 1 else "remove it"
            fault = TemplateFault(circle[0].source, circle[0].line, f"leads back to itself: {shown}", hint)
            yield _finding(subject, fault.template, fault)

    scopes = TemplateVariables(subject)
    seen: set[TemplateFault] = set()
    opened: set[str] = set()
    complete = not causes
    for flow in subject.flows.values():
        # The copies of a question differ only in where they lead.
        for base, name in {base_of(name): name for name in flow.graph.steps}.items():
            step = flow.graph.steps[name]
            template = subject.template_of(step)
            if template not in protocol.templates:
                complete = complete and not template
                continue
            walk = TemplateChecker(protocol, {"mode.type": step.mode, "step": base})
            try:
                walk.template(template, scopes.of_step(flow, name))
            except RecursionError:
                walk.faults.append(TemplateFault(template, 1, "is nested too deeply", "write it flatter"))
            opened |= walk.opened
            if walk.opened & causes:
                continue  # what it would find follows from the causes
            for fault in walk.faults:
                if fault not in seen:
                    yield _finding(subject, f"{flow.name}.{base}", fault)
                seen.add(fault)
            yield from _need_faults(subject, flow, base, name, walk.used)
    for name in protocol.templates if complete else ():
        if name not in opened:
            message = f"template '{name}' is never used"
            yield subject.finding(15, "", f"templates.{name}", message, "use it or remove it", level="warning")


def _finding(subject: ProtocolSubject, where: str, fault: TemplateFault) -> Finding:
    message = f"template {fault.message}"
    return subject.finding(15, where, f"templates.{fault.template}", message, fault.hint, line=fault.line)


def _need_faults(subject: ProtocolSubject, flow: Flow, base: str, name: str, used: set[str]) -> Iterator[Finding]:
    """Report the needs that a template never shows, and those that it cannot show because their name is taken."""
    needs = flow.graph.steps[name].needs
    for need in needs:
        exit_ = subject.protocol.exits.get(need.exit)
        variable = f"{'up.' if need.up else ''}{variable_name(need.step)}.{need.exit}"
        shown = variable in used or (ALL_NEEDS in used and not need.up)
        if need.step and exit_ is not None and exit_.fields and not shown:
            message = f"needs '{need}', but its template never shows it"
            hint = "use it in the template, or remove it"
            yield subject.at_step(15, flow, base, message, hint, "needs", level="warning")
    taken = RESERVED | {flow.graph.input[0]}
    for hidden in sorted({need.step for need in needs if not need.up and variable_name(need.step) in taken}):
        message = f"reads step '{hidden}', but in templates '{variable_name(hidden)}' means something else"
        yield subject.at_step(15, flow, base, message, "rename the step")
