"""A project's own step rules over the defaults: their changes, their limits, and the lines of their findings.

If a project's rules cause a fault of the protocol, the finding points at the project's own lines.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.reading.fragments import unite, with_entry
from treadle.protocol.reading.part import Log, quote_name
from treadle.protocol.reading.yaml import Node
from treadle.protocol.rules.compiler import compile_rules, compile_team, merge_rules, weave
from treadle.protocol.rules.table import DONE, RuleTable, read_rules

STEPS: Final = "steps"
HUMAN: Final = "requires_human"
_CONFIRM: Final = "confirm"
_NEEDS: Final = "needs"


def entries(node: Node | None) -> dict[str, Node]:
    """The entries of a mapping; none of anything else."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def rows(rules: Node) -> dict[str, Node]:
    """The rows of a table, as far as it can be read."""
    return entries(entries(rules).get(STEPS))


def asks(row: Node) -> bool:
    """Whether a row is a question to a person."""
    found = entries(row).get(HUMAN)
    return found is not None and found.value is True


def removed_rows(default: Node, rules: Node) -> list[str]:
    """The rows of the defaults that a project's table removes."""
    return [name for name, row in rows(rules).items() if row.value is None and name in rows(default)]


def with_confirmations(default: Node, rules: Node) -> Node:
    """A33: a project's table, in which `requires_human` of a row that an executor works on is `confirm`."""
    working = [name for name, row in rows(default).items() if not asks(row)]
    steps = entries(rules).get(STEPS)
    if steps is None or not isinstance(steps.value, dict) or not isinstance(rules.value, dict):
        return rules
    read = dict(steps.value)
    for name in working:
        row = read.get(name)
        if row is not None and isinstance(row.value, dict) and asks(row):
            named = {_CONFIRM if key == HUMAN else key: node for key, node in row.value.items()}
            read[name] = Node(named, row.place, {_CONFIRM if key == HUMAN else key: at for key, at in row.keys.items()})
    return with_entry(rules, STEPS, Node(read, steps.place, steps.keys))


def without_needs(node: Node, names: list[str]) -> Node:
    """A step or a row without its optional needs of rows that are not there."""
    needs = entries(node).get(_NEEDS)
    if not names or not isinstance(node.value, dict) or needs is None or not isinstance(needs.value, list):
        return node
    kept = [need for need in needs.value if is_required(str(need.value)) or _source(need) not in names]
    return Node({**node.value, _NEEDS: Node(kept, needs.place)}, node.place, node.keys)


def requires(node: Node, name: str) -> bool:
    """Whether a row needs the result of another row to begin."""
    needs = entries(node).get(_NEEDS)
    found = needs.value if needs is not None and isinstance(needs.value, list) else []
    return any(_source(need) == name and is_required(str(need.value)) for need in found)


def is_required(need: str) -> bool:
    """Whether a need has no mark that it may be absent."""
    return not need.endswith(("?", "*"))


def _source(need: Node) -> str:
    return str(need.value).partition(".")[0]


# Findings that a project's rules cause point at the project's own lines.

_HINTS: Final = {12: "let the row lead to a step that comes before, or to itself"}
"""Hints about the table, by the number of the check, for checks with hints about the protocol."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def blame_rules(findings: Iterable[Finding], rules: Node, own: Collection[str]) -> list[Finding]:
    """Move errors in other files to the project's own lines, and drop warnings about other files."""
    steps, named_rows = entries(rules).get(STEPS), rows(rules)
    blamed = []
    for finding in findings:
        if finding.place.file in own:
            blamed.append(finding)
        elif finding.level == "error":
            # The first row of the project that the finding speaks of, or else its first row.
            words = _WORD.findall(f"{finding.where} {finding.message}")
            name = next((name for name in (*words, *named_rows) if name in named_rows), "")
            place = steps.key_place(name) if steps is not None and name else Place(rules.place.file, 1, 1)
            hint = _HINTS.get(finding.check, finding.hint)
            blamed.append(msgspec.structs.replace(finding, place=place, hint=hint))
    return list(dict.fromkeys(blamed))


# Faults of a project's table, at its own lines, each with a correction.

_TEAM: Final = "team_roles"
_WORDS: Final = ("row", "title", "spawn", "cancel")
"""Keys of a step that may contain the name of a row and do not lead to it."""


def override_faults(default: Node, rules: Node, graph: Node) -> Iterator[Finding]:
    """Yield the faults of the rows that a project's table names; `read_rules` finds the rest in the merged table."""
    known = rows(default)
    for name in entries(rules):
        if name in known:
            hint = f"write it below `steps:`, as `steps: {{{name}: …}}`"
            yield _fault(rules.key_place(name), "", f"{quote_name(name)} is a row of the table", hint)
    steps = entries(rules).get(STEPS)
    if steps is None:
        return
    if not isinstance(steps.value, dict):
        yield _fault(steps.place, STEPS, "'steps' must be a mapping of rows", "write `steps: {STEP: {…}}`")
    for name, row in rows(rules).items():
        place, where = steps.key_place(name), f"steps.{name}"
        if not isinstance(row.value, dict | None):
            message = f"the row {quote_name(name)} must be a mapping"
            yield _fault(place, where, message, f"write `{name}: {{key: value}}`")
        if row.value is None and name not in known:
            hint = suggest(name, known) or f"its rows: {', '.join(known)}"
            yield _fault(place, where, f"there is no row {quote_name(name)} to leave out", hint)
        if name in known:
            yield from _undecided(default, name, row)
            yield from _team_faults(known[name], where, row)
    for name in removed_rows(default, rules):
        yield from _missed(default, rules, graph, name, steps.key_place(name))


def _fault(place: Place, where: str, message: str, hint: str) -> Finding:
    return Finding(place, where, message, hint, code="protocol.rules")


def stranded_rows(table: RuleTable, default: Node, rules: Node, start: str) -> Iterator[Finding]:
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
            yield _fault(place, f"steps.{name}", f"nothing leads to {quote_name(name)}", hint)


def _undecided(default: Node, name: str, row: Node) -> Iterator[Finding]:
    """Report `requires_human: false` on a row without an executor: nothing would decide it."""
    human = entries(row).get(HUMAN)
    if human is None or human.value is not False or not asks(rows(default)[name]):
        return
    target = _leads(rows(default)[name])
    past = ", ".join(f"`{other}: {{next_on_pass: {target}}}`" for other in _before(default, name))
    hint = f"remove it; {past} leads past it, and a person is asked only where a reason leads there"
    message = f"nobody works at {quote_name(name)}, so without a person nothing would be decided there"
    yield _fault(human.place, f"steps.{name}", message, hint)


def _team_faults(known: Node, where: str, row: Node) -> Iterator[Finding]:
    """A team has the roles that its lead can give tasks to."""
    roles, given = entries(entries(known).get(_TEAM)), entries(row).get(_TEAM)
    if given is None or not roles:
        return
    if given.value is None:
        hint = "write `dispatch_mode: {S: single, M: single, L: single}`, which does without teams"
        yield _fault(given.place, where, "the roles of the team cannot be left out", hint)
    for role, node in entries(given).items():
        if role not in roles:
            hint = suggest(role, roles) or f"its roles: {', '.join(roles)}; each may be given other paths"
            yield _fault(given.key_place(role), where, f"the team has no role {quote_name(role)}", hint)
        elif node.value is None:
            hint = "write `claude_writes: []` for one that changes nothing; `dispatch_mode` says who has a team"
            message = f"the role {quote_name(role)} cannot be left out: the lead may need it"
            yield _fault(given.key_place(role), where, message, hint)


def _missed(default: Node, rules: Node, graph: Node, name: str, place: Place) -> Iterator[Finding]:
    """Report why a row cannot be left out, or the rows that still lead to it."""
    where = f"steps.{name}"
    if reader := next(_readers(graph, default, name), ""):
        hint = "keep the row; what it does, and where it leads, is yours to say"
        yield _fault(place, where, f"{quote_name(name)} cannot be left out: {reader} cannot do without it", hint)
        return
    for row, node in rows(merge_rules(default, rules)).items():
        keys = ["{next_on_pass: …}"] if _leads(node) == name else []
        reasons = entries(entries(node).get("on_fail")).items()
        keys += [f"{{on_fail: {{{reason}: …}}}}" for reason, to in reasons if to.value == name]
        for key in keys:
            message = f"{quote_name(row)} still leads to what is left out"
            yield _fault(place, where, message, f"say where instead, as `{row}: {key}`")


def _readers(graph: Node, default: Node, name: str) -> Iterator[str]:
    """Yield the parts that depend on a row: rows that need its pass, and parts of the protocol beside the table."""
    yield from (quote_name(row) for row, node in rows(default).items() if row != name and requires(node, name))
    for step, node in rows(graph).items():
        if _mentions(without_needs(node, [name]), name):
            yield f"the protocol's own step {quote_name(step)}"
    for key in ("start", "ends", "budgets", "handlers"):
        if _mentions(entries(graph).get(key), name):
            yield f"`{key}` of the protocol"
    for key in ("sized_by", "effects"):
        if _mentions(entries(default).get(key), name):
            yield f"`{key}` of the table"


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


# A table, and a project's own over it, compiled into its graph.

_OWN = "own"
_START = "start"


class AppliedRules(NamedTuple):
    """The graph with the steps of the table, and the table's rules for a team."""

    graph: Node
    team: Node


def apply_rules(graph: Node, default: Node, rules: Node | None, path: str, log: Log) -> AppliedRules:
    """Compile the table and unite it with the graph, or raise `ProtocolError`, at the project's lines if it has any."""
    table = default
    if rules is not None:
        _settle(list(override_faults(default, rules, graph)), rules)
        gone = removed_rows(default, rules)
        graph, default = _without(graph, gone), _without(default, gone)
        table = merge_rules(default, with_confirmations(default, rules))
    first = entries(graph).get(_START)
    start = str(first.value) if first is not None else ""
    try:
        compiled, team = compile_rules(table, start), compile_team(table)
    except ProtocolError as error:
        if rules is not None:
            found = [it for it in error.findings if isinstance(it, Finding)]
            _settle(blame_rules(found, rules, (rules.place.file,)), rules)
        raise
    if rules is not None:
        _settle(list(stranded_rows(read_rules(table), default, rules, start)), rules)
    return AppliedRules(_united(graph, compiled, path, log), team)


def _settle(findings: list[Finding], rules: Node) -> None:
    if findings:
        raise ProtocolError(f"{rules.place.file} cannot be loaded", tuple(findings), code="protocol.rules")


def _without(tree: Node, gone: list[str]) -> Node:
    """Return a graph or a table without optional needs of removed rows."""
    steps = entries(tree).get("steps")
    if not gone or steps is None:
        return tree
    kept = {name: without_needs(step, gone) for name, step in entries(steps).items()}
    return with_entry(tree, "steps", Node(kept, steps.place, steps.keys))


def _united(graph: Node, compiled: Node, path: str, log: Log) -> Node:
    parts = entries(compiled)
    for key, value in parts.items():
        if key not in (_OWN, _START):
            graph = with_entry(graph, key, unite(entries(graph).get(key), value, f"{path}.{key}", log))
    graph = with_entry(graph, _START, parts[_START]) if _START in parts else graph
    steps = entries(graph).get("steps")
    for name, addition in entries(parts.get(_OWN)).items():
        if steps is not None and name in entries(steps):
            steps = with_entry(steps, name, _completed(entries(steps)[name], addition))
    return with_entry(graph, "steps", steps) if steps is not None else graph


def _completed(step: Node, addition: Node) -> Node:
    """A step of the graph with the rows and needs that the table gives it."""
    for key, value in entries(addition).items():
        own = entries(step).get(key)
        if own is None:
            joined = value
        elif key != _NEEDS:
            joined = weave(own, value)
        elif not isinstance(own.value, list) or not isinstance(value.value, list):
            joined = own
        else:
            named = {str(need.value).rstrip("?*") for need in own.value}
            more = [need for need in value.value if str(need.value).rstrip("?*") not in named]
            joined = Node([*own.value, *more], own.place)
        step = with_entry(step, key, joined)
    return step
