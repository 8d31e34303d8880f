"""What a project's table says that cannot be, told at its own lines with what to write there."""

import re
from collections.abc import Iterator
from typing import Any, Final

from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.reading.part import quoted
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.compile import merge_rules
from treadle.protocol.rules.overrides import HUMAN, STEPS, asks, entries, left_out, requires, rows, without_needs
from treadle.protocol.rules.table import DONE, RuleTable

_TEAM: Final = "team_roles"
_WORDS: Final = ("row", "title", "spawn", "cancel")
"""Keys of a step that may hold the name of a row and do not lead to it."""


def faults(default: Node, rules: Node, graph: Node) -> Iterator[Finding]:
    """What is wrong with the rows that a table names; the rest is for the reader of the whole."""
    known = rows(default)
    for name in entries(rules):
        if name in known:
            hint = f"write it below `steps:`, as `steps: {{{name}: …}}`"
            yield Finding(
                rules.key_place(name), "", f"{quoted(name)} is a row of the table", hint, code="protocol.rules"
            )
    steps = entries(rules).get(STEPS)
    if steps is not None and not isinstance(steps.value, dict):
        yield Finding(
            steps.place, STEPS, "'steps' must be a mapping of rows", "write `steps: {STEP: {…}}`", code="protocol.rules"
        )
    for name, row in rows(rules).items():
        if not isinstance(row.value, dict | None):
            yield _at(rules, name, f"the row {quoted(name)} must be a mapping", f"write `{name}: {{key: value}}`")
        if row.value is None and name not in known:
            hint = suggest(name, known) or f"its rows: {', '.join(known)}"
            yield _at(rules, name, f"there is no row {quoted(name)} to leave out", hint)
        yield from _alone(default, name, row) if name in known else ()
        yield from _roles(known[name], name, row) if name in known else ()
    for name in left_out(default, rules):
        yield from _missed(default, rules, graph, name)


def stranded(table: RuleTable, default: Node, rules: Node, start: str) -> Iterator[Finding]:
    """Rows that nothing leads to any more."""
    seen, todo = {start}, [start]
    while todo:
        rule = table.steps.get(todo.pop())
        found = {str(node.value) for node in (rule.passes, *rule.fails.values())} if rule else set()
        todo += sorted(found - seen - {DONE})
        seen |= found
    for name, rule in table.steps.items():
        if name not in seen:
            hint = f"write `{name}: null` to leave it out, or let `next_on_pass` of a row lead to it"
            causes = [table.steps[row].passes.place for row in _before(default, name) if row in table.steps]
            place = next((cause for cause in causes if cause.file == rules.place.file), rule.place)
            yield Finding(place, f"steps.{name}", f"nothing leads to {quoted(name)}", hint, code="protocol.rules")


def _at(rules: Node, name: str, message: str, hint: str) -> Finding:
    return Finding(_place(rules, name), f"steps.{name}", message, hint, code="protocol.rules")


def _place(rules: Node, name: str) -> Place:
    steps = entries(rules).get(STEPS)
    return steps.key_place(name) if steps is not None else rules.place


def _alone(default: Node, name: str, row: Node) -> Iterator[Finding]:
    """A question that would be put to nobody."""
    found = entries(row).get(HUMAN)
    if found is None or found.value is not False or not asks(rows(default)[name]):
        return
    target = _leads(rows(default)[name])
    past = ", ".join(f"`{other}: {{next_on_pass: {target}}}`" for other in _before(default, name))
    hint = f"remove it; {past} leads past it, and a person is asked only where a reason leads there"
    message = f"nobody works at {quoted(name)}, so without a person nothing would be decided there"
    yield Finding(found.place, f"steps.{name}", message, hint, code="protocol.rules")


def _roles(known: Node, name: str, row: Node) -> Iterator[Finding]:
    """A team has the roles that its lead can give tasks to."""
    roles, given = entries(entries(known).get(_TEAM)), entries(row).get(_TEAM)
    if given is None or not roles:
        return
    if given.value is None:
        hint = "write `dispatch_mode: {S: single, M: single, L: single}`, which does without teams"
        yield Finding(
            given.place, f"steps.{name}", "the roles of the team cannot be left out", hint, code="protocol.rules"
        )
    for role, node in entries(given).items():
        if role not in roles:
            hint = suggest(role, roles) or f"its roles: {', '.join(roles)}; each may be given other paths"
            yield Finding(
                given.key_place(role),
                f"steps.{name}",
                f"the team has no role {quoted(role)}",
                hint,
                code="protocol.rules",
            )
        elif node.value is None:
            hint = "write `claude_writes: []` for one that changes nothing; `dispatch_mode` says who has a team"
            message = f"the role {quoted(role)} cannot be left out: the lead may need it"
            yield Finding(given.key_place(role), f"steps.{name}", message, hint, code="protocol.rules")


def _missed(default: Node, rules: Node, graph: Node, name: str) -> Iterator[Finding]:
    """Why a row cannot be left out, or what has to lead elsewhere then."""
    reader = next(_readers(graph, default, name), "")
    if reader:
        hint = "keep the row; what it does, and where it leads, is yours to say"
        yield _at(rules, name, f"{quoted(name)} cannot be left out: {reader} cannot do without it", hint)
        return
    for row, key in _leading(merge_rules(default, rules), name):
        hint = f"say where instead, as `{row}: {key}`"
        yield _at(rules, name, f"{quoted(row)} still leads to what is left out", hint)


def _readers(graph: Node, default: Node, name: str) -> Iterator[str]:
    """Whoever cannot do without a row: other rows that need its pass, and what the protocol has beside the table."""
    yield from (quoted(row) for row, node in rows(default).items() if row != name and requires(node, name))
    for step, node in rows(graph).items():
        if _mentions(without_needs(node, [name]), name):
            yield f"the protocol's own step {quoted(step)}"
    for key in ("start", "ends", "budgets", "handlers"):
        if _mentions(entries(graph).get(key), name):
            yield f"`{key}` of the protocol"
    for key in ("sized_by", "effects"):
        if _mentions(entries(default).get(key), name):
            yield f"`{key}` of the table"


def _leading(table: Node, name: str) -> Iterator[tuple[str, str]]:
    """The rows that lead to another, and by which key."""
    for row, node in rows(table).items():
        if _leads(node) == name:
            yield row, "{next_on_pass: …}"
        for reason, to in entries(entries(node).get("on_fail")).items():
            if to.value == name:
                yield row, f"{{on_fail: {{{reason}: …}}}}"


def _before(default: Node, name: str) -> list[str]:
    return [row for row, node in rows(default).items() if _leads(node) == name]


def _leads(row: Node) -> str:
    found = entries(row).get("next_on_pass")
    return str(found.value) if found is not None else ""


def _mentions(node: Node | None, name: str) -> bool:
    named = re.compile(rf"\^?{re.escape(name)}([.].*)?")
    return node is not None and any(named.fullmatch(text) for text in _texts(node.plain()))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for key, item in value.items() if key not in _WORDS for text in _texts(item))
        case list():
            yield from (text for item in value for text in _texts(item))
