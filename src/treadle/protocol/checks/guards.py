"""Check 18: guards and assignments can be read, mention known names, and decide between values that can occur."""

from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.lookup import copied, written
from treadle.protocol.checks.results import result_fields
from treadle.protocol.checks.sense import senseless, undecided
from treadle.protocol.checks.sight import Sight
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import NAMES, ROOTS, Guard, GuardError, parse
from treadle.protocol.model import Field, Route, Step, base_of, tag_of

MAP_FIELDS = {"total": Field(type="int", route="value"), "failed": Field(type="int", route="value")}
"""What guards may see of a map's result."""
_SHOWN: Final = 80


def guards_can_be_read(subject: Subject) -> Iterator[Finding]:
    """18. Every `when` and every value of `sets` parses and speaks of what is there; every `when` decides something."""
    for flow in subject.flows.values():
        for variable in flow.graph.vars:
            if variable in NAMES | ROOTS:
                message = f"variable '{variable}' cannot be read: in guards that name means something else"
                yield subject.finding(18, flow.name, f"graphs.{flow.name}.vars.{variable}", message, "rename it")
        for name, step in flow.graph.steps.items():
            where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            for key, rows in step.routes.items():
                seen = Sight(flow, _fields(subject, flow, name, key), _attempts(step))
                for way in rows:
                    yield from _row(subject, seen, where, f"{path}.routes.{key}", way)
            for becomes in step.becomes:
                seen = Sight(flow, {}, _attempts(step))
                yield from _expression(subject, seen, where, f"{path}.becomes", becomes.when, decides=True)
        seen = Sight(flow, {}, max(map(_attempts, flow.graph.steps.values()), default=0))
        for key, rows in flow.graph.system.items():
            for way in rows:
                yield from _row(subject, seen, flow.name, f"graphs.{flow.name}.system.{key}", way)


def _attempts(step: Step) -> int:
    """How often a step is tried; questions and maps count their entries without an end."""
    return step.attempts if step.kind in ("agent", "effect", "check") else 0


def _row(subject: Subject, seen: Sight, where: str, path: str, way: Route) -> Iterator[Finding]:
    yield from _expression(subject, seen, where, path, way.when, decides=True)
    for text in way.sets.values():
        yield from _expression(subject, seen, where, path, text, decides=False)


def _expression(subject: Subject, seen: Sight, where: str, path: str, text: str, *, decides: bool) -> Iterator[Finding]:
    if not text:
        return
    try:
        guard = parse(text)
    except GuardError as error:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        yield subject.finding(18, where, path, f"guard `{shown}` {error}", "see the table of `when`")
        return
    faults = [*_names(seen.flow, guard, seen.fields), *_literals(seen, guard)]
    for message, hint in faults or _idle(seen, guard, decides):
        yield subject.finding(18, where, path, f"guard `{text}` {message}", hint)


def _idle(seen: Sight, guard: Guard, decides: bool) -> Iterator[tuple[str, str]]:
    """What parses and speaks of what is there, and yet makes no sense."""
    if message := senseless(guard, seen.kind):
        yield message, "compare numbers with numbers, texts with texts, and look `in (…)`"
    elif decides and (message := undecided(guard, seen.listed(guard.names))):
        yield message, "look at something that differs, or leave the guard away"


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
                elif fields[name].route in ("", "asked"):
                    yield f"looks at field '{name}', which is not routed", "add `route: true` to the field"
            case "same_question" if all(field.route != "asked" for field in fields.values()):
                yield "counts a question, and this exit asks none", "add `route: asked` to the field that asks"
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


def _literals(seen: Sight, guard: Guard) -> Iterator[tuple[str, str]]:
    for name, literals in guard.comparisons:
        values = seen.words(name)
        for literal in literals:
            if values and literal not in values:
                shown = [str(value) for value in values if value is not None]
                hint = suggest(str(literal), shown) or f"values are {', '.join(shown[:8])}"
                yield f"compares '{name}' with {literal!r}, which it never is", hint
