"""Check 15, the templates: they parse, use declared variables, and look only into fields that exist."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from jinja2 import nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from treadle.protocol.checks.children import result_fields
from treadle.protocol.checks.expressions import (
    MAX_ROUNDS,
    ExpressionChecker,
    Scope,
    TemplateFault,
    constant_rounds,
    excess,
    expression_text,
    present_if_false,
    present_if_true,
)
from treadle.protocol.checks.shapes import (
    ALL_NEEDS,
    ListShape,
    MacroShape,
    ObjectShape,
    Shape,
    hidden_names,
    hides_another,
    item_of,
    present,
    type_of,
    variable_name,
    variables,
)
from treadle.protocol.checks.subject import Flow, ProtocolSubject
from treadle.protocol.checks.termination import components, shortest_way
from treadle.protocol.fields import parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Exit, Need, Protocol, Send, Step, base_of, tag_of
from treadle.protocol.paths import path_fault
from treadle.protocol.templates import parse_template

# The walk over the statements of a template and its includes, as one step would render it.

Facts = dict[str, str]
"""The values fixed for one use of a template: `mode.type`, `step`."""
_COUNTS: Final = ("index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0")
_LOOP: Final = ObjectShape(
    "loop",
    {**dict.fromkeys(_COUNTS, parse_type("int")), **dict.fromkeys(("previtem", "nextitem", "cycle", "changed"))},
)
Load = Callable[[str], "nodes.Template | None"]


class TemplateChecker(ExpressionChecker):
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
            self.sure = before | present_if_true(node.test)
            self._perhaps(node.body, scope)
        if verdict is not True:
            self.sure = before | present_if_false(node.test)
            self._perhaps([*node.elif_, *node.else_], scope)
        self.sure = before

    def _perhaps(self, statements: list[nodes.Node], scope: Scope) -> None:
        self.conditions += 1
        self.body(statements, scope)
        self.conditions -= 1

    def _verdict(self, test: nodes.Node) -> bool | None:
        """Return a test's result if the facts of the rendering step decide it; None if they do not."""
        match test:
            case nodes.Not():
                inner = self._verdict(test.node)
                return None if inner is None else not inner
            case nodes.Compare(expr=left, ops=[nodes.Operand(op=op, expr=right)]):
                fact = self.facts.get(expression_text(left))
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
        self.rounds *= max(1, constant_rounds(node.iter) or 1)
        if outside <= MAX_ROUNDS < self.rounds and not excess(node.iter):
            self.fault(node, f"goes round {self.rounds} times, the loops around it counted", "count less")
        if node.test is not None:
            self.value(node.test, inner)
            self.sure = before | present_if_true(node.test)
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
            scope[node.name] = inner[node.name] = MacroShape(node, self.open[-1], scope)
        inner.update({argument.name: None for argument in node.args})
        before = self.sure
        self.sure = frozenset() if isinstance(node, nodes.Macro) else before  # a macro runs elsewhere
        self.body(node.body, inner)
        self.sure = before

    def call(self, node: nodes.Call, scope: Scope) -> None:
        """Walk a macro with the shapes of its arguments."""
        callee = self.value(node.node, scope)
        literal = isinstance(node.node, nodes.Const | nodes.List | nodes.Tuple | nodes.Dict)
        is_loop = isinstance(callee, ObjectShape) and callee.label == "loop"  # a recursive loop is called by this name
        if literal or not (callee is None or isinstance(callee, MacroShape) or is_loop):
            self.fault(node, "calls a value as if it were a macro", "leave the brackets away")
        if not isinstance(callee, MacroShape) or any(macro is callee.macro for macro in self.calling):
            self._children(node, scope, skip=node.node)
            for macro, conditions in zip(self.calling, self.entered, strict=True):
                # With no condition on the way from its call to here, it would never end.
                if isinstance(callee, MacroShape) and macro is callee.macro and conditions == self.conditions:
                    self.fault(node, f"calls the macro '{macro.name}' inside of itself", "let a condition end it")
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

    def _given(self, argument: nodes.Expr, scope: Scope) -> Shape:
        shape = self.value(argument, scope)
        if isinstance(shape, ObjectShape) and not shape.parts:
            return None
        return present(shape) if self.is_sure(expression_text(argument), shape) else shape

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
            self._module(node, name, scope)

    def _module(self, node: nodes.Import | nodes.FromImport, name: str, scope: Scope) -> None:
        """Bind the names that an imported template offers: its macros and its assignments."""
        seen = dict(scope) if node.with_context else dict.fromkeys(DEFAULT_NAMESPACE)
        inner = dict(seen)
        walked = name in self.protocol.templates and name not in self.open and self.load(name) is not None
        if walked:
            self.template(name, inner)
        offered = {key: shape for key, shape in inner.items() if key not in seen or shape is not seen[key]}
        if isinstance(node, nodes.Import):
            scope[node.target] = ObjectShape(node.target, offered) if walked else None
            return
        for part in node.names:
            wanted, local = (part, part) if isinstance(part, str) else part
            if walked and wanted not in offered:
                hint = suggest(wanted, offered) or f"it offers {', '.join(offered) or 'nothing'}"
                self.fault(node, f"imports '{wanted}', which '{name}' does not offer", hint)
            scope[local] = offered.get(wanted)


# Check 15, template cycles: a template that includes itself, directly or not, never finishes rendering.

_LEADING: Final = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


class TemplateLink(NamedTuple):
    """An include, import or extends: from a template to one it names."""

    source: str
    goal: str
    line: int


class TemplateCycle(NamedTuple):
    """Templates that lead to each other, and the shortest way round."""

    templates: frozenset[str]
    fault: TemplateFault


def template_cycles(names: Iterable[str], load: Load) -> Iterator[TemplateCycle]:
    """Yield one cycle for each set of templates that include each other in a circle, under any conditions."""
    known = {name: number for number, name in enumerate(names)}
    links = [link for name in known if (tree := load(name)) for link in _links(name, tree) if link.goal in known]
    for part in components(known, links):
        inner = [link for link in links if link.source in part and link.goal in part]
        if not inner:
            continue
        start = min(part, key=known.__getitem__)
        circles = [
            [link, *(shortest_way(link.goal, start, inner) or ())] for link in inner if link.source == start
        ]  # in one component, every link leads back
        circle = min(circles, key=len)
        shown = " → ".join([*(link.source for link in circle), start])
        hint = "let one of them stand alone" if len(circle) > 1 else "remove it"
        yield TemplateCycle(part, TemplateFault(start, circle[0].line, f"leads back to itself: {shown}", hint))


def _links(name: str, tree: nodes.Template) -> list[TemplateLink]:
    """The first link to every other template, also where an expression chooses between them."""
    first: dict[str, TemplateLink] = {}
    try:
        for node in tree.find_all(_LEADING):
            for text in (node.template, *node.template.find_all(nodes.Const)):  # type: ignore[attr-defined]
                if isinstance(text, nodes.Const) and isinstance(text.value, str):
                    first.setdefault(text.value, TemplateLink(name, text.value, text.lineno))
    except RecursionError:
        return []  # the walk over the template reports it
    return list(first.values())


# The data of a signal and of a map's result: the fields of the exits behind them.


def signals_of(subject: ProtocolSubject, flow: Flow, name: str) -> Shape:
    """Return the shape of `signals` for a step; the data is unknown if a signal may come from outside."""
    received = [signal for signal, steps in flow.handled.items() if name in map(base_of, steps)]
    text = parse_type("text")
    fields: dict[str, Shape] = {}
    has_source = False
    for signal in received:
        for exit_ in _sources(subject, signal):
            has_source = True
            fields |= {field_name: type_of(field.type) for field_name, field in exit_.fields.items()}
    known = has_source and all(signal in subject.sent for signal in received)
    data = ObjectShape("signal.data", fields) if known else None
    return ListShape(ObjectShape("signals", {"name": text, "sender": text, "data": data}))


def _sources(subject: ProtocolSubject, signal: str) -> Iterator[Exit]:
    """Yield the exits that a signal takes its payload from: those that send it, and those that lead to a question."""
    for flow, edge in subject.edges():
        goal = flow.graph.steps.get(edge.lands_at)
        asks = goal is not None and goal.asks == "parent" and goal.signal == signal
        sends = any(isinstance(action, Send) and action.signal == signal for action in edge.actions)
        if (asks or sends) and tag_of(edge.key) in subject.protocol.exits:
            yield subject.protocol.exits[tag_of(edge.key)]


def with_results(subject: ProtocolSubject, flow: Flow, step: Step, found: dict[str, Shape]) -> dict[str, Shape]:
    """Return the variables of a step with the known fields of the map results it reads."""
    known = dict(found)
    for need in step.needs:
        source = flow.graph.steps.get(need.step)
        variable = variable_name(need.step)
        owner = known.get(variable)
        if source is not None and source.kind == "map" and not need.up and isinstance(owner, ObjectShape):
            parts = {**owner.parts, need.exit: _result(subject, flow, source, need)}
            known[variable] = owner._replace(parts=parts)
    return known


def _result(subject: ProtocolSubject, flow: Flow, source: Step, need: Need) -> Shape:
    number = parse_type("int")
    label = f"{variable_name(need.step)}.{need.exit}"
    if source.over:
        texts = dict.fromkeys(("key", "instance", "outcome", "left", "commit"), parse_type("text"))
        children = ListShape(ObjectShape(f"{label}.results", {**texts, "said": None}))
        return ObjectShape(label, {"total": number, "failed": number, "results": children}, need.optional)
    fields = result_fields(subject, flow.name, need.step) if need.exit == "AllOk" else None
    if fields is None:
        return ObjectShape(label, {}, optional=True) if need.optional else None
    return ObjectShape(label, {name: type_of(field.type) for name, field in fields.items()}, need.optional)


def templates_fit_their_steps(subject: ProtocolSubject) -> Iterator[Finding]:
    """15. Templates can be read and come to an end; each is walked as every step that uses it would render it."""
    protocol = subject.protocol
    for name, graph in protocol.graphs.items():
        if hides_another(graph.input[0]):
            message = f"is given '{graph.input[0]}', but in templates that means something else"
            yield subject.finding(15, name, f"graphs.{name}.input", message, "rename the input")
    causes: set[str] = set()
    for name, text in protocol.templates.items():
        tree = parse_template(text)
        if not isinstance(tree, nodes.Template):
            line, reason = tree
            causes.add(name)
            message = f"is not a template: {reason}"
            yield subject.finding(15, name, f"templates.{name}", message, "see the Jinja syntax", line=line)
    for ring in template_cycles(protocol.templates, _loader(protocol)):
        causes |= ring.templates
        yield _finding(subject, ring.fault.template, ring.fault)

    seen: set[TemplateFault] = set()
    opened: set[str] = set()
    complete = not causes
    for flow in subject.flows.values():
        # The copies of a question differ only in where they lead.
        for name, step in {base_of(name): step for name, step in flow.graph.steps.items()}.items():
            template = subject.template_of(step)
            if template not in protocol.templates:
                complete = complete and not template
                continue
            walk = _walk(subject, flow, name, step, template)
            opened |= walk.opened
            if walk.opened & causes:
                continue  # what it would find follows from the causes
            for fault in walk.faults:
                if fault not in seen:
                    yield _finding(subject, f"{flow.name}.{name}", fault)
                seen.add(fault)
            yield from _unused_needs(subject, flow, name, step, walk)
            for hidden in hidden_names(flow, step):
                message = f"reads step '{hidden}', but in templates '{variable_name(hidden)}' means something else"
                yield subject.at_step(15, flow, name, message, "rename the step")
    for name in protocol.templates if complete else ():
        if name not in opened:
            message = f"template '{name}' is never used"
            yield subject.finding(15, "", f"templates.{name}", message, "use it or remove it", level="warning")


def _loader(protocol: Protocol) -> Load:
    def load(name: str) -> nodes.Template | None:
        tree = parse_template(protocol.templates[name])
        return tree if isinstance(tree, nodes.Template) else None

    return load


def _walk(subject: ProtocolSubject, flow: Flow, name: str, step: Step, template: str) -> TemplateChecker:
    protocol = subject.protocol
    walk = TemplateChecker(protocol, _loader(protocol), {"mode.type": step.mode, "step": name})
    try:
        found = with_results(subject, flow, step, variables(protocol, flow, step))
        walk.template(template, {**found, "signals": signals_of(subject, flow, name)})
    except RecursionError:
        walk.open = [template]
        walk.faults.append(TemplateFault(template, 1, "is nested too deeply", "write it flatter"))
    return walk


def _finding(subject: ProtocolSubject, where: str, fault: TemplateFault) -> Finding:
    message = f"template {fault.message}"
    return subject.finding(15, where, f"templates.{fault.template}", message, fault.hint, line=fault.line)


def _unused_needs(
    subject: ProtocolSubject, flow: Flow, name: str, step: Step, walk: TemplateChecker
) -> Iterator[Finding]:
    for need in step.needs:
        if ALL_NEEDS in walk.used and not need.up:
            continue
        exit_ = subject.protocol.exits.get(need.exit)
        variable = f"{'up.' if need.up else ''}{variable_name(need.step)}.{need.exit}"
        if need.step and exit_ is not None and exit_.fields and variable not in walk.used:
            message = f"needs '{need}', but its template never shows it"
            hint = "use it in the template, or remove it"
            yield subject.at_step(15, flow, name, message, hint, "needs", level="warning")
