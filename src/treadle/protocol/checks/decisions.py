"""Check 23: what somebody decides makes a difference."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from treadle.protocol.checks.earnings import good_outcomes
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.guards import GuardError, parse
from treadle.protocol.model import Exit, Route, Rows, Send, Step, base_of, row, tag_of

_VARIABLE = re.compile(r"\bvars\.(\w+)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def decisions_make_a_difference(subject: Subject) -> Iterator[Finding]:
    """23. Routed fields, variables and guards decide something; approval, abort and attempts are what they say."""
    tables = [_Table(flow.name, name, key, rows) for flow in subject.flows.values() for name, key, rows in _rows(flow)]
    for name, exit_ in subject.protocol.exits.items():
        yield from _unread(subject, name, exit_, tables)
    shown = {name for text in subject.protocol.templates.values() for name in _VARIABLE.findall(text)}
    lines = [text for role in subject.protocol.roles.values() for text in role.params.values()]
    shown |= {name for text in lines for name in _PLACEHOLDER.findall(text)}
    for flow in subject.flows.values():
        own = [table for table in tables if table.graph == flow.name]
        read = {full for table in own for way in table.rows for full in _mentions(way)}
        yield from _idle_variables(subject, flow, own, shown)
        for table in own:
            yield from _idle_guard(subject, table)
        for name, step in flow.graph.steps.items():
            yield from _idle_approval(subject, flow, name, step, read)
            yield from _false_abort(subject, flow, name, step)
            yield from _half_retry(subject, flow, name, step)


class _Table(NamedTuple):
    """The rows of one key."""

    graph: str
    step: str
    key: str
    rows: Rows

    @property
    def path(self) -> str:
        owner = f"{step_path(self.graph, self.step)}.routes" if self.step else f"graphs.{self.graph}.system"
        return f"{owner}.{self.key}"


def _rows(flow: Flow) -> Iterator[tuple[str, str, Rows]]:
    for name, step in flow.graph.steps.items():
        for key, rows in step.routes.items():
            yield name, key, rows
    for key, rows in flow.graph.system.items():
        yield "", key, rows


def _mentions(way: Route) -> set[str]:
    """The names that a row looks at."""
    found: set[str] = set()
    for text in (way.when, *way.sets.values()):
        try:
            found |= parse(text).names if text else set()
        except GuardError:
            continue
    return found


def _unread(subject: Subject, name: str, exit_: Exit, tables: list[_Table]) -> Iterator[Finding]:
    routing = [table for table in tables if tag_of(table.key) == name]
    if not routing:
        return
    read = {full for table in routing for way in table.rows for full in _mentions(way)}
    for field_name, field in exit_.fields.items():
        if field.route == "value" and field.by == "agent" and f"data.{field_name}" not in read:
            message = f"field '{field_name}' is routed, but no row of '{name}' looks at it"
            hint = "look at it in a guard, or remove `route: true`"
            yield subject.finding(23, name, f"exits.{name}.{field_name}", message, hint)
        if field.route == "asked" and "same_question" not in read:
            message = f"field '{field_name}' is routed as a question, but no row of '{name}' counts it"
            hint = "look at `same_question` in a guard, or remove `route: asked`"
            yield subject.finding(23, name, f"exits.{name}.{field_name}", message, hint)


def _idle_variables(subject: Subject, flow: Flow, tables: list[_Table], shown: set[str]) -> Iterator[Finding]:
    read = {full for table in tables for way in table.rows for full in _mentions(msgspec.structs.replace(way, sets={}))}
    for name in flow.graph.vars:
        if name not in read | shown:
            message = f"variable '{name}' decides nothing: no guard and no template reads it"
            path = f"graphs.{flow.name}.vars.{name}"
            yield subject.finding(23, flow.name, path, message, "read it in a guard or a template, or remove it")


def _idle_guard(subject: Subject, table: _Table) -> Iterator[Finding]:
    """A guarded row that does what all rows after it do."""
    for n, first in enumerate(table.rows[:-1], 1):
        if first.when and all(_effect(first) == _effect(other) for other in table.rows[n:]):
            where = f"{table.graph}.{base_of(table.step)}" if table.step else table.graph
            message = f"the guard '{first.when}' decides nothing: what follows in '{table.key}' does the same"
            yield subject.finding(23, where, table.path, message, "let them differ, or remove one")


def _effect(way: Route) -> Route:
    return msgspec.structs.replace(way, when="")


def _idle_approval(subject: Subject, flow: Flow, name: str, step: Step, read: set[str]) -> Iterator[Finding]:
    """An approval that leads where a refusal leads, with nobody looking back at it."""
    exits = [(tag, subject.protocol.exits[tag]) for tag in step.exits if tag in subject.protocol.exits]
    for tag in (tag for tag, exit_ in exits if exit_.proves == "approval"):
        others = [other for other, exit_ in exits if not exit_.proves and exit_.severity != "INFO"]
        for other in others:
            if f"last.{name}" not in read and row(flow.graph, name, tag) == row(flow.graph, name, other):
                message = f"'{tag}' leads where '{other}' leads, so the approval decides nothing"
                path = f"{step_path(flow.name, name)}.routes.{tag}"
                yield subject.finding(23, f"{flow.name}.{name}", path, message, "let them differ, or look at `last`")


def _false_abort(subject: Subject, flow: Flow, name: str, step: Step) -> Iterator[Finding]:
    """Whoever chooses `abort` gives something up: this instance, or the one that asked."""
    good = good_outcomes(subject, flow.name)
    for way in step.routes.get("abort", ()) if step.kind == "ask" else ():
        passed_on = any(isinstance(action, Send) and action.to == "sender" for action in way.do)
        if not passed_on and not (way.to.startswith("@end:") and way.to[5:] not in good):
            message = f"'abort' leads to '{way.to}', which gives nothing up"
            path = f"{step_path(flow.name, name)}.routes.abort"
            where = f"{flow.name}.{base_of(name)}"
            yield subject.finding(23, where, path, message, "lead it to an outcome that is not good, or rename it")


def _half_retry(subject: Subject, flow: Flow, name: str, step: Step) -> Iterator[Finding]:
    """A claim that was refused for its form and one refused by a gate are both tried again, or neither is."""
    if step.kind != "agent" or step.attempts < 2 or not step.gates:
        return
    again = {key: _tries_again(row(flow.graph, name, key), name) for key in ("!gate", "!invalid")}
    if not all(again.values()):
        lost = next(key for key, tries in again.items() if not tries)
        message = f"has {step.attempts} attempts, but {lost} does not try again"
        path = f"{step_path(flow.name, name)}.routes"
        yield subject.finding(
            23, f"{flow.name}.{name}", path, message, f"add `'{lost}': '@self'`, or allow one attempt"
        )


def _tries_again(rows: Rows | None, name: str) -> bool:
    return any(way.to == name for way in rows or ())
