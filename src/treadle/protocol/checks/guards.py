"""Check 18: guards and assignments can be read, mention known names, and compare with values that can occur."""

from collections.abc import Iterable, Iterator

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.lookup import copied, written
from treadle.protocol.checks.results import result_fields
from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import EnumType, TypeNotationError, bare, parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import NAMES, ROOTS, Guard, GuardError, parse
from treadle.protocol.model import Field, Route, base_of, system_keys, tag_of

MAP_FIELDS = {"total": Field(type="int", route="value"), "failed": Field(type="int", route="value")}
"""What guards may see of a map's result."""


def guards_can_be_read(subject: Subject) -> Iterator[Finding]:
    """18. Every `when` and every value of `sets` parses and speaks of what is there."""
    for flow in subject.flows.values():
        for variable in flow.graph.vars:
            if variable in NAMES | ROOTS:
                message = f"variable '{variable}' cannot be read: in guards that name means something else"
                yield subject.finding(18, flow.name, f"graphs.{flow.name}.vars.{variable}", message, "rename it")
        for name, step in flow.graph.steps.items():
            where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            for key, rows in step.routes.items():
                fields = _fields(subject, flow, name, key)
                for way in rows:
                    yield from _row(subject, flow, where, f"{path}.routes.{key}", way, fields)
            for becomes in step.becomes:
                yield from _expression(subject, flow, where, f"{path}.becomes", becomes.when, {})
        for key, rows in flow.graph.system.items():
            for way in rows:
                yield from _row(subject, flow, flow.name, f"graphs.{flow.name}.system.{key}", way, {})


def _row(
    subject: Subject, flow: Flow, where: str, path: str, way: Route, fields: dict[str, Field]
) -> Iterator[Finding]:
    for text in (way.when, *way.sets.values()):
        yield from _expression(subject, flow, where, path, text, fields)


def _expression(
    subject: Subject, flow: Flow, where: str, path: str, text: str, fields: dict[str, Field]
) -> Iterator[Finding]:
    if not text:
        return
    try:
        guard = parse(text)
    except GuardError as error:
        yield subject.finding(18, where, path, f"guard `{text[:80]}` {error}", "see the table of `when`")
        return
    for message, hint in (*_names(flow, guard, fields), *_literals(flow, guard, fields)):
        yield subject.finding(18, where, path, f"guard `{text}` {message}", hint)


def _fields(subject: Subject, flow: Flow, name: str, key: str) -> dict[str, Field]:
    """What `data.` can mean in the rows of a key. A parent's answer brings what its exit routes."""
    step = flow.graph.steps[name]
    if step.kind == "map":
        return MAP_FIELDS if step.over else result_fields(subject, flow.name, name) or {}
    if step.kind == "ask" and (step.asks != "parent" or key not in subject.protocol.exits):
        return _all_fields(subject) if step.asks == "parent" else {}
    exit_ = subject.protocol.exits.get(tag_of(key))
    return dict(exit_.fields) if exit_ else {}


def _all_fields(subject: Subject) -> dict[str, Field]:
    exits = subject.protocol.exits.values()
    return {name: field for exit_ in exits for name, field in exit_.fields.items() if field.route}


def _names(flow: Flow, guard: Guard, fields: dict[str, Field]) -> Iterator[tuple[str, str]]:
    graph = flow.graph
    for full in sorted(guard.names):
        root, _, name = full.partition(".")
        match root:
            case "data":
                if name not in fields:
                    yield _unknown("field", name, fields, "this exit has no such field")
                elif not fields[name].route:
                    yield f"looks at field '{name}', which is not routed", "add `route: true` to the field"
            case "last" if name not in graph.steps:
                yield _unknown_step(name, list(graph.steps))
            case "spent" if name not in graph.budgets:
                yield _unknown("budget", name, graph.budgets, "name a budget of this graph")
            case _ if not name and root not in NAMES and root not in graph.vars:
                known = [*NAMES, *graph.vars]
                yield _unknown("name", root, known, f"names are data.x, last.x, spent.x, {', '.join(sorted(known))}")


def _unknown_step(name: str, steps: list[str]) -> tuple[str, str]:
    copies = [step for step in steps if base_of(step) == name]
    if copies:
        why, hint = copied(copies)
        return f"looks at '{name}', {why}", f"{hint}, as in `last['{copies[0]}']`"
    return _unknown("step", name, written(steps), "name a step of this graph")


def _unknown(what: str, name: str, known: Iterable[str], otherwise: str) -> tuple[str, str]:
    return f"mentions unknown {what} '{name}'", suggest(name, known) or otherwise


def _literals(flow: Flow, guard: Guard, fields: dict[str, Field]) -> Iterator[tuple[str, str]]:
    for name, literals in guard.comparisons:
        values = _values(flow, name, fields)
        for literal in literals:
            if values and literal not in values:
                shown = [str(value) for value in values if value is not None]
                hint = suggest(str(literal), shown) or f"values are {', '.join(shown[:8])}"
                yield f"compares '{name}' with {literal!r}, which it never is", hint


def _values(flow: Flow, full: str, fields: dict[str, Field]) -> list[object]:
    """The values a name can have, if they can be listed."""
    root, _, name = full.partition(".")
    if root == "last" and name in flow.graph.steps:
        step = flow.graph.steps[name]
        return [None, *dict.fromkeys([*flow.keys(name), *system_keys(step)])]
    if root == "data" and name in fields:
        try:
            expr = bare(parse_type(fields[name].type))
        except TypeNotationError:
            return []
        return [None, *expr.values] if isinstance(expr, EnumType) else []
    return []
