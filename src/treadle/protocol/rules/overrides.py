"""A table of step rules, and a project's own over it: merged, compiled, and woven into the protocol.

If a project's rules cause a fault of the protocol, the finding points at the project's own lines.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.reading.fragments import unite
from treadle.protocol.reading.part import Log, quote_name
from treadle.protocol.reading.yaml import Node, fail
from treadle.protocol.rules.compiler import compile_rules, compile_team
from treadle.protocol.rules.table import DONE, RuleTable, read_rules

_HUMAN: Final = "requires_human"
_CONFIRM: Final = "confirm"
_TEAM: Final = "team_roles"


def apply_rules(tree: Node, name: str, default: Node, rules: Node | None, log: Log) -> Node:
    """Compile the table and unite it with the graph `name` of a protocol.

    Raise `ProtocolError` if that cannot be done, at the project's lines if it has rules of its own.
    """
    merged, graphs = default, tree.at("graphs")
    graph = graphs.at(name)
    if rules is not None:
        _settle(list(_override_faults(default, rules, graph)), rules)
        gone = _removed_rows(default, rules)
        graph, default = _without_needs_of(graph, gone), _without_needs_of(default, gone)
        merged = merge_rules(default, with_confirmations(default, rules))
    start = str(graph.at("start").value or "")
    try:
        table = read_rules(merged)
        compiled = compile_rules(table, start)
    except ProtocolError as error:
        if rules is not None:
            findings = [it for it in error.findings if isinstance(it, Finding)]
            _settle(blame_rules(findings, rules, (rules.place.file,)), rules)
        raise
    if rules is not None:
        _settle(list(_stranded_rows(table, default, rules, start)), rules)
    graph = _add_compiled(graph, compiled, f"graphs.{name}", log)
    return weave(tree.with_entry("graphs", graphs.with_entry(name, graph)), compile_team(table))


def _settle(findings: list[Finding], rules: Node) -> None:
    if findings:
        raise ProtocolError(f"{rules.place.file} cannot be loaded", tuple(findings), code="protocol.rules")


def _rows(rules: Node) -> dict[str, Node]:
    """The rows of a table or the steps of a graph, as far as they can be read."""
    return rules.at("steps").entries


def _asks(row: Node) -> bool:
    """Whether a row is a question to a person."""
    return row.at(_HUMAN).value is True


def _removed_rows(default: Node, rules: Node) -> list[str]:
    """The rows of the defaults that a project's table removes."""
    return [name for name, row in _rows(rules).items() if row.value is None and name in _rows(default)]


def with_confirmations(default: Node, rules: Node) -> Node:
    """A33: a project's table, in which `requires_human` of a row that an executor works on is `confirm`."""
    steps = rules.at("steps")
    for name, row in steps.entries.items():
        if name in _rows(default) and not _asks(_rows(default)[name]) and _asks(row):
            named = {_CONFIRM if key == _HUMAN else key: node for key, node in row.entries.items()}
            keys = {_CONFIRM if key == _HUMAN else key: place for key, place in row.keys.items()}
            steps = steps.with_entry(name, Node(named, row.place, keys))
    return rules.with_entry("steps", steps) if steps.entries else rules


# Needs of rows that are not there.


def _without_needs_of(tree: Node, gone: list[str]) -> Node:
    """Return a graph or a table without optional needs of removed rows."""
    steps = tree.at("steps")
    if not gone or not steps.entries:
        return tree
    kept = {name: _without_needs(step, gone) for name, step in steps.entries.items()}
    return tree.with_entry("steps", Node(kept, steps.place, steps.keys))


def _without_needs(step: Node, names: list[str]) -> Node:
    """A step or a row without its optional needs of rows that are not there."""
    needs = step.at("needs")
    if not isinstance(needs.value, list):
        return step
    kept = [need for need in needs.value if _is_required(need) or _source(need) not in names]
    return step.with_entry("needs", Node(kept, needs.place))


def _requires(row: Node, name: str) -> bool:
    """Whether a row needs the result of another row to begin."""
    needs = row.at("needs").value
    return isinstance(needs, list) and any(_source(need) == name and _is_required(need) for need in needs)


def _is_required(need: Node) -> bool:
    return not str(need.value).endswith(("?", "*"))


def _source(need: Node) -> str:
    return str(need.value).partition(".")[0]


# Merging: a project's table over the defaults, and the compiled table into the graph.


def merge_rules(default: Node, override: Node) -> Node:
    """A project's table over the defaults: mappings merge, anything else replaces, nothing (`null`) removes."""
    return _merge(_one_default(default), _one_default(override))


def _merge(base: Node, patch: Node) -> Node:
    if not isinstance(base.value, dict) or not isinstance(patch.value, dict):
        return patch
    entries, keys = dict(base.value), dict(base.keys)
    for key, node in patch.value.items():
        if node.value is None:
            entries.pop(key, None)
            keys.pop(key, None)
        else:
            entries[key] = _merge(entries[key], node) if key in entries else node
            keys[key] = patch.key_place(key)
    return Node(entries, base.place, keys)


def _one_default(rules: Node) -> Node:
    """Rewrite `next_on_fail` as `on_fail.default`: a project's value then replaces the default in either spelling."""
    steps = rules.at("steps")
    for name, step in steps.entries.items():
        reasons = step.at("on_fail")
        # read_rules says what is wrong with a value of another kind, or with a default that is there twice
        if (
            "next_on_fail" in step.entries
            and isinstance(reasons.value, dict | None)
            and "default" not in reasons.entries
        ):
            place = step.key_place("next_on_fail")
            rows = {**reasons.entries, "default": step.entries["next_on_fail"]}
            on_fail = Node(rows, place, {**reasons.keys, "default": place})
            rewritten = step.without("next_on_fail").without("on_fail").with_entry("on_fail", on_fail)
            steps = steps.with_entry(name, rewritten)
    return rules.with_entry("steps", steps) if steps.entries else rules


def weave(base: Node, addition: Node, path: str = "") -> Node:
    """Put a part into a tree that has room for it: names of roles and graphs must be there, values must not."""
    if not isinstance(base.value, dict) or not isinstance(addition.value, dict):
        message = f"{quote_name(path)} is also at {base.place}"
        fail(addition.place, message, "leave one of them out", code="protocol.malformed")
    entries, keys = dict(base.value), dict(base.keys)
    for key, node in addition.value.items():
        inner = f"{path}.{key}".lstrip(".")
        if key in entries:
            entries[key] = weave(entries[key], node, inner)
        elif path in ("roles", "graphs"):
            hint = suggest(key, entries) or f"known: {', '.join(entries)}"
            fail(node.place, f"the protocol has no {path[:-1]} {quote_name(key)}", hint, code="protocol.malformed")
        else:
            entries[key], keys[key] = node, addition.key_place(key)
    return Node(entries, base.place, keys)


def _add_compiled(graph: Node, compiled: Node, path: str, log: Log) -> Node:
    """The graph with the steps of the table, and with the table's additions to the graph's own steps."""
    for key, value in compiled.without("own").without("start").entries.items():
        graph = graph.with_entry(key, unite(graph.entries.get(key), value, f"{path}.{key}", log))
    if "start" in compiled.entries:
        graph = graph.with_entry("start", compiled.at("start"))
    steps = graph.at("steps")
    for name, addition in compiled.at("own").entries.items():
        if name in steps.entries:
            steps = steps.with_entry(name, _complete_step(steps.entries[name], addition))
    return graph.with_entry("steps", steps) if "steps" in graph.entries else graph


def _complete_step(step: Node, addition: Node) -> Node:
    """A step of the graph with the rows and needs that the table gives it."""
    for key, value in addition.entries.items():
        own = step.entries.get(key)
        if own is None:
            joined = value
        elif key != "needs":
            joined = weave(own, value)
        elif not isinstance(own.value, list) or not isinstance(value.value, list):
            joined = own
        else:
            named = {str(need.value).rstrip("?*") for need in own.value}
            more = [need for need in value.value if str(need.value).rstrip("?*") not in named]
            joined = Node([*own.value, *more], own.place)
        step = step.with_entry(key, joined)
    return step


# Findings that a project's rules cause point at the project's own lines.

_HINTS: Final = {12: "let the row lead to a step that comes before, or to itself"}
"""Hints about the table, by the number of the check, for checks with hints about the protocol."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def blame_rules(findings: Iterable[Finding], rules: Node, own: Collection[str]) -> list[Finding]:
    """Move errors in other files to the project's own lines, and drop warnings about other files."""
    steps = rules.at("steps")
    blamed = []
    for finding in findings:
        if finding.place.file in own:
            blamed.append(finding)
        elif finding.level == "error":
            # The first row of the project that the finding speaks of, or else its first row.
            words = _WORD.findall(f"{finding.where} {finding.message}")
            name = next((name for name in (*words, *steps.entries) if name in steps.entries), "")
            place = steps.key_place(name) if name else Place(rules.place.file, 1, 1)
            hint = _HINTS.get(finding.check, finding.hint)
            blamed.append(msgspec.structs.replace(finding, place=place, hint=hint))
    return list(dict.fromkeys(blamed))


# Faults of a project's table, at its own lines, each with a correction.

_WORDS: Final = ("row", "title", "spawn", "cancel")
"""Keys of a step that may contain the name of a row and do not lead to it."""


def _fault(place: Place, where: str, message: str, hint: str) -> Finding:
    return Finding(place, where, message, hint, code="protocol.rules")


def _override_faults(default: Node, rules: Node, graph: Node) -> Iterator[Finding]:
    """Yield the faults of the rows that a project's table names; `read_rules` finds the rest in the merged table."""
    known = _rows(default)
    for name in rules.entries:
        if name in known:
            hint = f"write it below `steps:`, as `steps: {{{name}: …}}`"
            yield _fault(rules.key_place(name), "", f"{quote_name(name)} is a row of the table", hint)
    steps = rules.entries.get("steps")
    if steps is None:
        return
    if not isinstance(steps.value, dict):
        yield _fault(steps.place, "steps", "'steps' must be a mapping of rows", "write `steps: {STEP: {…}}`")
    for name, row in steps.entries.items():
        place, where = steps.key_place(name), f"steps.{name}"
        if not isinstance(row.value, dict | None):
            message = f"the row {quote_name(name)} must be a mapping"
            yield _fault(place, where, message, f"write `{name}: {{key: value}}`")
        if row.value is None and name not in known:
            hint = suggest(name, known) or f"its rows: {', '.join(known)}"
            yield _fault(place, where, f"there is no row {quote_name(name)} to leave out", hint)
        if name in known:
            yield from _undecided_faults(default, name, row)
            yield from _team_faults(known[name], where, row)
    for name in _removed_rows(default, rules):
        yield from _removal_faults(default, rules, graph, name, steps.key_place(name))


def _stranded_rows(table: RuleTable, default: Node, rules: Node, start: str) -> Iterator[Finding]:
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


def _undecided_faults(default: Node, name: str, row: Node) -> Iterator[Finding]:
    """Report `requires_human: false` on a row without an executor: nothing would decide it."""
    human, known = row.at(_HUMAN), _rows(default)[name]
    if human.value is not False or not _asks(known):
        return
    past = ", ".join(f"`{other}: {{next_on_pass: {_leads(known)}}}`" for other in _before(default, name))
    hint = f"remove it; {past} leads past it, and a person is asked only where a reason leads there"
    message = f"nobody works at {quote_name(name)}, so without a person nothing would be decided there"
    yield _fault(human.place, f"steps.{name}", message, hint)


def _team_faults(known: Node, where: str, row: Node) -> Iterator[Finding]:
    """A team has the roles that its lead can give tasks to."""
    roles, given = known.at(_TEAM).entries, row.at(_TEAM)
    if _TEAM not in row.entries or not roles:
        return
    if given.value is None:
        hint = "write `dispatch_mode: {S: single, M: single, L: single}`, which does without teams"
        yield _fault(given.place, where, "the roles of the team cannot be left out", hint)
    for role, node in given.entries.items():
        if role not in roles:
            hint = suggest(role, roles) or f"its roles: {', '.join(roles)}; each may be given other paths"
            yield _fault(given.key_place(role), where, f"the team has no role {quote_name(role)}", hint)
        elif node.value is None:
            hint = "write `claude_writes: []` for one that changes nothing; `dispatch_mode` says who has a team"
            message = f"the role {quote_name(role)} cannot be left out: the lead may need it"
            yield _fault(given.key_place(role), where, message, hint)


def _removal_faults(default: Node, rules: Node, graph: Node, name: str, place: Place) -> Iterator[Finding]:
    """Report why a row cannot be left out, or the rows that still lead to it."""
    where = f"steps.{name}"
    if reader := next(_readers(graph, default, name), ""):
        hint = "keep the row; what it does, and where it leads, is yours to say"
        yield _fault(place, where, f"{quote_name(name)} cannot be left out: {reader} cannot do without it", hint)
        return
    for row, node in _rows(merge_rules(default, rules)).items():
        keys = ["{next_on_pass: …}"] if _leads(node) == name else []
        reasons = node.at("on_fail").entries.items()
        keys += [f"{{on_fail: {{{reason}: …}}}}" for reason, to in reasons if to.value == name]
        for key in keys:
            message = f"{quote_name(row)} still leads to what is left out"
            yield _fault(place, where, message, f"say where instead, as `{row}: {key}`")


def _readers(graph: Node, default: Node, name: str) -> Iterator[str]:
    """Yield the parts that depend on a row: rows that need its pass, and parts of the protocol beside the table."""
    yield from (quote_name(row) for row, node in _rows(default).items() if row != name and _requires(node, name))
    for step, node in _rows(graph).items():
        if _mentions(_without_needs(node, [name]), name):
            yield f"the protocol's own step {quote_name(step)}"
    for key in ("start", "ends", "budgets", "handlers"):
        if _mentions(graph.at(key), name):
            yield f"`{key}` of the protocol"
    for key in ("sized_by", "effects"):
        if _mentions(default.at(key), name):
            yield f"`{key}` of the table"


def _before(default: Node, name: str) -> list[str]:
    return [row for row, node in _rows(default).items() if _leads(node) == name]


def _leads(row: Node) -> str:
    """The row that a pass leads to."""
    return str(row.at("next_on_pass").value or "")


def _mentions(node: Node, name: str) -> bool:
    named = re.compile(rf"\^?{re.escape(name)}([.].*)?")
    return any(named.fullmatch(text) for text in _texts(node.plain()))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for key, item in value.items() if key not in _WORDS for text in _texts(item))
        case list():
            yield from (text for item in value for text in _texts(item))
