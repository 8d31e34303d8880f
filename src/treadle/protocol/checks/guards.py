"""Check 18: guards and assignments can be read, mention known names, and decide between values that can occur."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, NamedTuple

from treadle.protocol.checks.children import result_fields
from treadle.protocol.checks.names import authored_names, clone_fault
from treadle.protocol.checks.shapes import Kind, value_kind
from treadle.protocol.checks.subject import TRYING_KINDS, Flow, ProtocolSubject, step_path
from treadle.protocol.fields import BareType, EnumType, ListType, ScalarType, TypeNotationError, bare, parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import NAMES, ROOTS, Guard, GuardError, parse
from treadle.protocol.model import Exit, Field, base_of, system_keys, tag_of

# Check 18, guards that decide nothing: constants, mixed kinds, tests with a constant result.

_MOST: Final = 20_000
"""How many combinations of values are tried."""
_SIGNS: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def kind_mistakes(guard: Guard, kind_of: Callable[[str], Kind]) -> Iterator[str]:
    """The uses of values of the wrong kind, each as the rest of a sentence."""
    for node in ast.walk(ast.parse(guard.text.strip(), mode="eval")):
        computed: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                for one, op, other in zip([left, *others], ops, others, strict=False):
                    yield from _comparison_mistakes(one, op, other, kind_of)
            case ast.BinOp(left=left, right=right):
                computed = [left, right]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                computed = [operand]
        for part in computed:
            if _expression_kind(part, kind_of) in ("text", "list"):
                yield f"computes with {ast.unparse(part)}, which is not a number"


def constant_result(guard: Guard, values: Mapping[str, list[object]]) -> str:
    """Why a guard always comes out the same, as the rest of a sentence; empty if it may not.

    `values` lists all possible values of the names that have a finite list of them.
    """
    if not guard.names:
        return "looks at nothing, so it decides nothing"
    if not guard.names <= values.keys():
        return ""
    names = sorted(guard.names)
    lists = [values[name] for name in names]
    if prod(map(len, lists)) > _MOST:
        return ""

    def evaluate(chosen: tuple[object, ...]) -> bool:
        found = dict(zip(names, chosen, strict=True))
        return bool(guard.evaluate(lambda root, name: found[f"{root}.{name}" if name else root]))

    results = {evaluate(chosen) for chosen in product(*lists)}
    if len(results) != 1:
        return ""
    ranges = "; ".join(f"{name} is {_range_text(found)}" for name, found in zip(names, lists, strict=True))
    return f"{'always' if True in results else 'never'} holds ({ranges})"


def _range_text(values: list[object]) -> str:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values) and len(values) > 1:
        return f"{values[0]} to {values[-1]}"
    words = [str(value) for value in values]
    return " or ".join(words[:6]) + (" …" if len(words) > 6 else "")


def _comparison_mistakes(
    one: ast.expr, op: ast.cmpop, other: ast.expr, kind_of: Callable[[str], Kind]
) -> Iterator[str]:
    left, right = _expression_kind(one, kind_of), _expression_kind(other, kind_of)
    if isinstance(op, ast.In | ast.NotIn):
        if right != "list":
            yield f"looks for {ast.unparse(one)} in {ast.unparse(other)}, which is not a list"
        return
    # Absent values have no order, as in `attempt < None`.
    absent = any(isinstance(side, ast.Constant) and side.value is None for side in (one, other))
    unordered = absent and not isinstance(op, ast.Eq | ast.NotEq)
    if "list" in (left, right) or (left and right and left != right) or unordered:
        yield f"compares {ast.unparse(one)} {_SIGNS[type(op)]} {ast.unparse(other)}, which are of different kinds"


def _expression_kind(node: ast.expr, kind_of: Callable[[str], Kind]) -> Kind:
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


# The scope of one row's guards: the names they may read, with their possible values where these can be listed.

_NUMBERS: Final = ("attempt", "same_failure", "same_question", "depth")
_DEEPEST: Final = 100
"""The deepest that any run goes; the protocol's own limit does not count, because a project may raise it."""


class GuardScope(NamedTuple):
    """The graph, the fields of the exit that is being routed, and how often its step is tried (0: without an end)."""

    flow: Flow
    fields: dict[str, Field]
    attempts: int

    def kind(self, full: str) -> Kind:
        """Whether a name stands for a number or a text; true and false count as numbers."""
        root, _, name = full.partition(".")
        if root == "last":
            return "text"
        if root == "data":
            type_ = _type_of(self.fields, name)
            if isinstance(type_, ListType):
                return "number"  # routes see how many items it has
            return value_kind(type_) if type_ else ""
        return "number" if root in (*_NUMBERS, "spent", "root") else ""

    def words(self, full: str) -> list[object]:
        """The words and the like that a name can be, if they can be listed; None where it may be absent."""
        root, _, name = full.partition(".")
        if root == "last" and name in self.flow.graph.steps:
            step = self.flow.graph.steps[name]
            return [None, *dict.fromkeys([*self.flow.keys(name), *system_keys(step)])]
        type_ = _type_of(self.fields, name) if root == "data" else None
        return [None, *type_.values] if isinstance(type_, EnumType) else []

    def listed(self, names: frozenset[str]) -> dict[str, list[object]]:
        """Return all possible values of each name that has a finite list of them."""
        return {name: values for name in names if (values := self.words(name) or self._range(name))}

    def _range(self, full: str) -> list[object]:
        root, _, name = full.partition(".")
        match root:
            case "attempt":
                return list(range(self.attempts + 1)) if self.attempts else []
            case "depth":
                return list(range(_DEEPEST + 1))
            case "root":
                return [False, True]
            case "spent" if name in self.flow.graph.budgets:
                return list(range(self.flow.graph.budgets[name].max + 1))
            case "data" if _type_of(self.fields, name) == ScalarType("bool"):
                return [None, False, True]
        return []


def _type_of(fields: Mapping[str, Field], name: str) -> BareType | None:
    """The type of a field, if it can be read."""
    try:
        return bare(parse_type(fields[name].type)) if name in fields else None
    except TypeNotationError:
        return None


MAP_FIELDS = {"total": Field(type="int", route="value"), "failed": Field(type="int", route="value")}
"""The fields of a map's result that guards may read."""
_SHOWN: Final = 80


def guards_can_be_read(subject: ProtocolSubject) -> Iterator[Finding]:
    """18. Every `when` and every value of `sets` parses and uses existing names; every `when` decides something."""
    for flow in subject.flows.values():
        for variable in flow.graph.vars:
            if variable in NAMES | ROOTS:
                message = f"variable '{variable}' cannot be read: in guards that name means something else"
                yield subject.finding(18, flow.name, f"graphs.{flow.name}.vars.{variable}", message, "rename it")
        steps = flow.graph.steps
        # Steps of other kinds count their entries without an end.
        attempts = {name: step.attempts if step.kind in TRYING_KINDS else 0 for name, step in steps.items()}
        for name, key, rows, where, path in flow.tables:
            fields = _fields(subject, flow, name, key) if name else {}
            scope = GuardScope(flow, fields, attempts[name] if name else max(attempts.values(), default=0))
            for way in rows:
                yield from _expression_faults(subject, scope, where, path, way.when, decides=True)
                for text in way.sets.values():
                    yield from _expression_faults(subject, scope, where, path, text, decides=False)
        for name, step in steps.items():
            where, path = f"{flow.name}.{base_of(name)}", f"{step_path(flow.name, name)}.becomes"
            for becomes in step.becomes:
                scope = GuardScope(flow, {}, attempts[name])
                yield from _expression_faults(subject, scope, where, path, becomes.when, decides=True)


def _fields(subject: ProtocolSubject, flow: Flow, name: str, key: str) -> dict[str, Field]:
    """Return the fields of `data.` in the rows of a key; a parent's answer brings its exit's routed fields."""
    step, exits = flow.graph.steps[name], subject.protocol.exits
    if step.kind == "map":
        return MAP_FIELDS if step.over else result_fields(subject, flow.name, name) or {}
    if step.kind == "ask" and step.asks != "parent":
        return {}
    if step.kind == "ask" and key not in exits:
        return {name: field for exit_ in exits.values() for name, field in exit_.fields.items() if field.route}
    return dict(exits[tag_of(key)].fields) if tag_of(key) in exits else {}


def _expression_faults(
    subject: ProtocolSubject, scope: GuardScope, where: str, path: str, text: str, *, decides: bool
) -> Iterator[Finding]:
    if not text:
        return
    try:
        guard = parse(text)
    except GuardError as error:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        yield subject.finding(18, where, path, f"guard `{shown}` {error}", "see the table of `when`")
        return
    faults = [*_unknown_names(scope, guard), *_impossible_values(guard, scope.words)]
    # A guard that names unknown things cannot be evaluated; only one that is sound so far is tried.
    if not faults and (message := next(kind_mistakes(guard, scope.kind), "")):
        faults.append((message, "compare numbers with numbers, texts with texts, and look `in (…)`"))
    elif not faults and decides and (message := constant_result(guard, scope.listed(guard.names))):
        faults.append((message, "look at something that differs, or remove the guard"))
    for message, hint in faults:
        yield subject.finding(18, where, path, f"guard `{text}` {message}", hint)


def _unknown_names(scope: GuardScope, guard: Guard) -> Iterator[tuple[str, str]]:
    graph, fields = scope.flow.graph, scope.fields

    def unknown(what: str, name: str, known: Iterable[str], otherwise: str) -> tuple[str, str]:
        return f"mentions unknown {what} '{name}'", suggest(name, known) or otherwise

    for full in sorted(guard.names):
        root, _, name = full.partition(".")
        match root:
            case "data":
                if name not in fields:
                    yield unknown("field", name, fields, "this exit has no such field")
                elif fields[name].route in ("", "asked"):
                    yield f"looks at field '{name}', which is not routed", "add `route: true` to the field"
            case "same_question" if all(field.route != "asked" for field in fields.values()):
                yield "counts a question, and this exit asks none", "add `route: asked` to the field that asks"
            case "last" if name not in graph.steps:
                if copies := [step for step in graph.steps if base_of(step) == name]:
                    why, hint = clone_fault(copies)
                    yield f"looks at '{name}', {why}", f"{hint}, as in `last['{copies[0]}']`"
                else:
                    yield unknown("step", name, authored_names(graph.steps), "name a step of this graph")
            case "spent" if name not in graph.budgets:
                yield unknown("budget", name, graph.budgets, "name a budget of this graph")
            case _ if not name and root not in NAMES and root not in graph.vars:
                known = [*NAMES, *graph.vars]
                yield unknown("name", root, known, f"names are data.x, last.x, spent.x, {', '.join(sorted(known))}")


def _impossible_values(guard: Guard, values_of: Callable[[str], Sequence[object]]) -> Iterator[tuple[str, str]]:
    """The literals that a name is compared with and never is; `values_of` is empty where anything is possible."""
    for name, literals in guard.comparisons:
        values = values_of(name)
        for literal in literals:
            if values and literal not in values:
                shown = [str(value) for value in values if value is not None]
                hint = suggest(str(literal), shown) or f"values are {', '.join(shown[:8])}"
                yield f"compares '{name}' with {literal!r}, which it never is", hint


# Check 18, `proves_when`: it parses, and compares the exit's own fields with values they can have.


def proofs_can_be_read(subject: ProtocolSubject) -> Iterator[Finding]:
    """18. Every `proves_when` parses, and looks at nothing but fields that routes see."""
    for name, exit_ in subject.protocol.exits.items():
        for message, hint in _proof_faults(exit_) if exit_.proves_when else ():
            yield subject.finding(18, name, f"exits.{name}", message, hint)


def _proof_faults(exit_: Exit) -> Iterator[tuple[str, str]]:
    if not exit_.proves:
        yield "has `proves_when`, but proves nothing", "add `proves`, or remove it"
    try:
        guard = parse(exit_.proves_when)
    except GuardError as error:
        yield f"guard `{exit_.proves_when[:_SHOWN]}` {error}", "see the table of `when`"
        return
    shown = f"guard `{exit_.proves_when}`"
    routed = [name for name, field in exit_.fields.items() if field.route or name == exit_.route_on]
    for full in sorted(guard.names):
        root, _, name = full.partition(".")
        if root != "data" or name not in routed:
            near = suggest(name, routed) or f"name one of data.{', data.'.join(routed)}"
            hint = near if routed else "route a field first"
            yield f"{shown} looks at '{full}', which is not a routed field of this exit", hint

    def values_of(full: str) -> Sequence[object]:
        kind = _type_of(exit_.fields, full.partition(".")[2])
        return kind.values if isinstance(kind, EnumType) else ()

    for message, hint in _impossible_values(guard, values_of):
        yield f"{shown} {message}", hint
