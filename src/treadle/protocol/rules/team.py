"""What the table says of teams: who gets one, and what each of its roles may read, write and see."""

from typing import Any

from treadle.protocol.reading.source import Node
from treadle.protocol.rules.gates import bounds, excluded, listed, post_check, writable
from treadle.protocol.rules.placed import tree
from treadle.protocol.rules.read import read_rules
from treadle.protocol.rules.table import Rule, RuleTable, TeamRole


def compile_team(rules: Node) -> Node:
    """The part of a protocol that `team_roles` stand for: each role's paths, and the checks of graph `task-ROLE`."""
    table = read_rules(rules)
    teamed = table.teamed
    if teamed is None:
        return tree({}, rules.place)
    roles = {name: _role(role, table, teamed) for name, role in teamed.team.items()}
    graphs = {f"task-{name}": _task(role, teamed) for name, role in teamed.team.items()}
    return tree({"roles": roles, "graphs": graphs}, rules.place)


def team_guard(table: RuleTable) -> str:
    """A18: `auto` is a team if at least two tasks can go side by side."""
    sizes = [
        f"data.complexity == '{size}'" + (" and data.parallel_tasks >= 2" if mode == "auto" else "")
        for size, mode in table.dispatch.items()
        if mode != "single"
    ]
    return " or ".join(f"({size})" for size in sizes) or "False"


def _task(role: TeamRole, teamed: Rule) -> Node:
    owned = "owned_files?" if role.advisory else "owned_files"
    checks = [*bounds(role.writes, role.gates, "scope", owned), *listed(role.gates)]
    gates: dict[str, Any] = {"task_done": [*checks, *(post_check(teamed) if role.writes else ())]}
    gates |= {} if role.writes else {"blocker": "readonly", "conflict": "readonly"}
    return tree({"steps": {"work": {"gates": gates}}}, role.place)


def _role(role: TeamRole, table: RuleTable, teamed: Rule) -> Node:
    """A24: a role's paths are a boundary; an advisory role has those of the whole step besides."""
    writes = tuple(dict.fromkeys((*teamed.writes, *role.writes))) if role.advisory else role.writes
    hidden = (*role.hidden, *excluded(role.writes)) if role.hidden else ()
    bounded = (glob.replace("{id}", "{story}") for glob in writable(writes, role.gates, table))
    paths = {"reads": role.reads, "writes": tuple(bounded), "hidden": hidden}
    return tree(paths, role.place)
