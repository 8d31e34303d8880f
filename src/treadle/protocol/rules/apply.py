"""A table, and a project's own over it, in the graph that it is for."""

from typing import NamedTuple

from treadle.errors import ProtocolError
from treadle.protocol.findings import Finding
from treadle.protocol.reading.fragments import unite, with_entry
from treadle.protocol.reading.part import Log
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.blame import blamed
from treadle.protocol.rules.compile import compile_rules, compile_team, merge_rules, weave
from treadle.protocol.rules.overrides import confirmed, entries, left_out, without_needs
from treadle.protocol.rules.read import read_rules
from treadle.protocol.rules.refusals import faults, stranded

_OWN = "own"
_START = "start"


class Applied(NamedTuple):
    """The graph with the steps of the table, and what the table says of a team."""

    graph: Node
    team: Node


def apply(graph: Node, default: Node, rules: Node | None, path: str, log: Log) -> Applied:
    """Compile the table and unite it with the graph, or raise `ProtocolError`, at the project's lines if it has any."""
    table = default
    if rules is not None:
        _settle(list(faults(default, rules, graph)), rules)
        gone = left_out(default, rules)
        graph, default = _without(graph, gone), _without(default, gone)
        table = merge_rules(default, confirmed(default, rules))
    first = entries(graph).get(_START)
    start = str(first.value) if first is not None else ""
    try:
        compiled, team = compile_rules(table, start), compile_team(table)
    except ProtocolError as error:
        if rules is not None:
            found = [it for it in error.findings if isinstance(it, Finding)]
            _settle(blamed(found, rules, (rules.place.file,)), rules)
        raise
    if rules is not None:
        _settle(list(stranded(read_rules(table), default, rules, start)), rules)
    return Applied(_united(graph, compiled, path, log), team)


def _settle(found: list[Finding], rules: Node) -> None:
    if found:
        raise ProtocolError(f"{rules.place.file} cannot be loaded", tuple(found), code="protocol.rules")


def _without(tree: Node, gone: list[str]) -> Node:
    """A graph or a table whose steps need nothing of rows that are left out."""
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
        joined = value if own is None else _needed(own, value) if key == "needs" else weave(own, value)
        step = with_entry(step, key, joined)
    return step


def _needed(own: Node, added: Node) -> Node:
    if not isinstance(own.value, list) or not isinstance(added.value, list):
        return own
    given = {str(need.value).rstrip("?*") for need in own.value}
    return Node([*own.value, *(need for need in added.value if str(need.value).rstrip("?*") not in given)], own.place)
