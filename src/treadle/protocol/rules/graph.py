"""A step rules table compiled into the protocol language.

`pass`, `failing.<reason>` and `needs_human` become exits, rows become routes, `requires_human` becomes a question. What
the published table leaves open is decided here: reasons route before attempts are counted (A6), going back charges a
budget (A7), and whatever stops a step leads to a person (A5). Everything after this is the ordinary loader.
"""

from typing import Any, Final

from treadle.protocol.findings import Place
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.gates import bounds, bounds_of, enforced, excluded, listed, post_check, writable
from treadle.protocol.rules.table import (
    DONE,
    REASONS,
    REWORK,
    SKIPPABLE,
    STUCK,
    Effect,
    Rule,
    RuleTable,
    TeamRole,
    read_rules,
)

ABORT: Final = "@end:Aborted"
NEEDS_HUMAN: Final = "needs_human"
TEAM: Final = "team"
"""The variable that says whether a team works on the story."""
_WRITTEN_AS: Final = {
    "attempts": "max_attempts",
    "timeout": "timeout_min",
    "remind": "timeout_min",
    "reads": "claude_reads",
    "writes": "claude_writes",
    "stubs": "stubs_for",
    "ask": "requires_human",
}
"""Keys of a step that a row of the table calls otherwise."""
_REFUSED: Final = ("!gate", "!invalid")


def compile_rules(rules: Node) -> Node:
    """The part of a graph that the table stands for: steps, budgets, variables and system rows."""
    return _Compiler(read_rules(rules)).graph()


def compile_team(rules: Node) -> Node:
    """The part of a protocol that `team_roles` stand for: each role's paths, and the checks of graph `task-ROLE`."""
    table = read_rules(rules)
    teamed = table.teamed
    if teamed is None:
        return tree({}, rules.place)
    roles = {name: _role(role, table, teamed) for name, role in teamed.team.items()}
    graphs = {f"task-{name}": _task(role, teamed) for name, role in teamed.team.items()}
    return tree({"roles": roles, "graphs": graphs}, rules.place)


class _Compiler:
    """Turns the rows of one table into steps, and remembers what arrives where."""

    def __init__(self, table: RuleTable) -> None:
        self.table = table
        self.arrivals: dict[str, list[str]] = {}
        self.budgets: dict[str, Any] = {}
        self.asks: dict[str, Any] = {}

    def graph(self) -> Node:
        rules = self.table.steps.values()
        steps = {rule.name: self._ask(rule) if rule.human else self._work(rule) for rule in rules}
        steps |= {effect.name: self._effect(effect) for effect in self.table.effects.values()}
        steps |= self.asks | {STUCK: self._stuck()}
        parts = {
            "vars": {TEAM: False} if self.table.has_team else {},
            "budgets": self.budgets,
            "system": {"!*": STUCK},
            "steps": self._placed({name: self._delivered(name, step) for name, step in steps.items()}),
        }
        return tree({key: part for key, part in parts.items() if part}, self.table.place)

    def _placed(self, steps: dict[str, dict[str, Any]]) -> Node:
        """The steps, each at the row it was made from, so that later findings point there."""
        rows = self.table.steps | self.table.effects
        owners = {name: rows.get(name) or rows.get(_owner(name)) for name in steps}
        places = {name: row.place if row else self.table.place for name, row in owners.items()}
        placed = {name: _at_keys(step, places[name], self.table.steps.get(name)) for name, step in steps.items()}
        return Node(placed, self.table.place, places)

    # steps

    def _work(self, rule: Rule) -> dict[str, Any]:
        routes = {rule.pass_exit: self._passed(rule), **self._failed(rule), **self._refused(rule)}
        routes[NEEDS_HUMAN] = self._halt(rule)
        routes |= self._skip(rule) if rule.skippable else {}
        return {
            **rule.copied,
            "row": rule.name,
            "role": rule.role,
            "exits": [rule.pass_exit, rule.fail_exit, NEEDS_HUMAN],
            "attempts": rule.attempts,
            "timeout": f"{rule.minutes}m",
            "reads": rule.reads,
            "writes": (*writable(rule.writes, rule.gates.get("pass"), self.table), *rule.amends),
            **self._stubs(rule),
            "gates": self._gates(rule),
            "needs": rule.needs,
            "routes": routes,
        }

    def _stubs(self, rule: Rule) -> dict[str, Any]:
        """Where stubs may be added: what the step that replaces them may write."""
        other = self.table.steps.get(rule.stubs_for)
        return {"stubs": writable(other.writes, other.gates.get("pass"), self.table)} if other else {}

    def _ask(self, rule: Rule) -> dict[str, Any]:
        """A1: the answers of a review carry the reason, so every row of its table can be reached."""
        rejected = {"reject" if reason == "default" else reason: to for reason, to in rule.fails.items()}
        helps = {
            reason: f"{REASONS.get(reason, 'not like this')}: back to {to.value}" for reason, to in rejected.items()
        }
        routes = {"approve": self._onward(rule), **{choice: self._goto(to) for choice, to in rejected.items()}}
        return {
            **rule.copied,
            "row": rule.name,
            "ask": "human",
            "needs": rule.needs,
            "remind": f"{rule.minutes}m",
            "choices": {"approve": f"go on to {rule.passes.value}", **helps, "abort": "give the story up"},
            "routes": {**routes, "abort": ABORT},
        }

    def _effect(self, effect: Effect) -> dict[str, Any]:
        rule = self.table.steps[effect.after]
        self._arrive(effect.name, f"{rule.name}.{rule.pass_exit}")
        for target in self._targets(rule):
            self._arrive(target, f"{effect.name}.{effect.exit}")
        return {**effect.copied, "row": rule.name, "exits": [effect.exit], "routes": {effect.exit: self._onward(rule)}}

    def _stuck(self) -> dict[str, Any]:
        return {
            "title": "Stuck",
            "ask": "human",
            "needs": ["!*?"],
            "choices": {"retry": "do the step again, with your note", "abort": "give the story up"},
            "routes": {"retry": "@back", "abort": ABORT},
        }

    # routes

    def _passed(self, rule: Rule) -> Any:
        effect = next((one for one in self.table.effects.values() if one.after == rule.name), None)
        for target in () if effect else self._targets(rule):
            self._arrive(target, f"{rule.name}.{rule.pass_exit}")
        rows = effect.name if effect else self._onward(rule)
        if self.table.has_team and rule.name == self.table.sized_by:
            sets = {"sets": {TEAM: _team_guard(self.table)}}
            rows = [{**row, **sets} for row in rows] if isinstance(rows, list) else {"to": rows, **sets}
        return rows

    def _onward(self, rule: Rule) -> Any:
        """Where a pass leads; a team takes the place of the step it works on (A18)."""
        *team, step = self._targets(rule)
        return [{"to": team[0], "when": TEAM}, {"to": step}] if team else tree(step, rule.passes.place)

    def _targets(self, rule: Rule) -> list[str]:
        step = str(rule.passes.value)
        teamed = self.table.teamed
        if self.table.has_team and teamed and step == teamed.name:
            return [self.table.team, step]
        return [self.table.done if step == DONE else step]

    def _failed(self, rule: Rule) -> dict[str, Any]:
        """A6: reasons first, only `@self` counts attempts. A7: other steps charge a budget unless a person is there."""
        rows, back = {}, {}
        for reason, to in rule.fails.items():
            key = rule.fail_exit if reason == "default" else f"{rule.fail_exit}.{reason}"
            rows[key] = self._goto(to, rule)
            if isinstance(rows[key], dict):
                back[str(to.value)] = rows[key]["to"]
        if back:
            self._rework(rule, back)
        return rows

    def _refused(self, rule: Rule) -> dict[str, Any]:
        """A pass that is refused for what another step has to mend is a failure, and takes its row."""
        there, default = enforced(rule), rule.fails["default"]
        named = [name for name in rule.fails_by if name in there]
        if not named or default.value == rule.name:
            return {}
        row = self._goto(default, rule)
        for step in (default.value, *([f"{rule.name}{REWORK}"] if isinstance(row, dict) else ())):
            self._arrive(str(step), _REFUSED[0])
        # Whoever wrote what it may not has only itself to blame for what else is found.
        again = "@self" if rule.attempts > 1 else self._halt(rule)
        own = {f"!gate.{name}": again for name in ("scope", "readonly") if name in there}
        return own | {f"!gate.{name}": row for name in named}

    def _goto(self, to: Node, rule: Rule | None = None) -> Any:
        step = self.table.done if to.value == DONE else str(to.value)
        if rule is None:
            return tree(step, to.place)
        self._arrive(step, f"{rule.name}.{rule.fail_exit}")
        if step == rule.name:
            return tree("@self", to.place)
        target = self.table.steps.get(step)
        if target is not None and target.human:
            return tree(step, to.place)
        return {"to": tree(step, to.place), "charge": f"{rule.name}{REWORK}"}

    def _rework(self, rule: Rule, back: dict[str, Any]) -> None:
        """The budget of the edges that go back, and the question when it is spent."""
        name = f"{rule.name}{REWORK}"
        people = [other.name for other in self.table.steps.values() if other.human]
        self.budgets[name] = {"max": self.table.max_rework, "to": name, "resets": people}
        self._arrive(name, f"{rule.name}.{rule.fail_exit}")
        ways = back | {step: step for step in people}
        self.asks[name] = {
            "title": f"{rule.copied['title'].value if 'title' in rule.copied else rule.name}: sent back too often",
            "row": rule.name,
            "ask": "human",
            "choices": {
                **{step: f"back to {step} once more, with your note" for step in ways},
                "retry": f"do {rule.name} again, with your note",
                "abort": "give the story up",
            },
            "routes": {**ways, "retry": rule.name, "abort": ABORT},
        }

    def _halt(self, rule: Rule) -> str:
        """The question that whatever stops a step leads to."""
        name = f"{SKIPPABLE}{rule.name}" if rule.skippable else STUCK
        self._arrive(name, f"{rule.name}.{NEEDS_HUMAN}")
        return name

    def _skip(self, rule: Rule) -> dict[str, Any]:
        """A25: a step that may be skipped has a question of its own, with that answer."""
        name = self._halt(rule)
        self.asks[name] = {
            **self._stuck(),
            "row": rule.name,
            "skippable": True,
            "choices": {
                "retry": "do the step again, with your note",
                "skip": f"go on to {rule.passes.value} without it",
                "abort": "give the story up",
            },
            "routes": {"retry": rule.name, "skip": self._onward(rule), "abort": ABORT},
        }
        again = dict.fromkeys(_REFUSED if rule.attempts > 1 else (), "@self")
        return {**again, "!*": name}

    # checks and needs

    def _gates(self, rule: Rule) -> dict[str, Any]:
        checks = [*bounds_of(rule), *listed(rule.gates.get("pass")), *post_check(rule)]
        others = {
            exit_: [*([] if (*rule.writes, *rule.amends) else ["readonly"]), *listed(rule.gates.get(key))]
            for key, exit_ in (("failing", rule.fail_exit), (NEEDS_HUMAN, NEEDS_HUMAN))
        }
        return {rule.pass_exit: checks, **{exit_: found for exit_, found in others.items() if found}}

    def _arrive(self, step: str, slot: str) -> None:
        self.arrivals.setdefault(step, []).append(slot)

    def _delivered(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        """The step with everything that leads to it among its needs."""
        needs = list(step.get("needs", ()))
        given = {need.rstrip("?*") for need in needs}
        needs += [f"{slot}?" for slot in dict.fromkeys(self.arrivals.get(name, ())) if slot not in given]
        return {**step, "needs": needs} if needs else {key: value for key, value in step.items() if key != "needs"}


def _at_keys(step: dict[str, Any], place: Place, rule: Rule | None) -> Node:
    """A step whose parts stand at the keys of the row that they were made from."""
    written = rule.keys if rule else {}
    keys = {key: written.get(_WRITTEN_AS.get(key, key), place) for key in step}
    return Node({key: tree(value, keys[key]) for key, value in step.items()}, place, keys)


def _owner(name: str) -> str:
    """The row that a question was made for."""
    return name.removeprefix(SKIPPABLE).removesuffix(REWORK)


def _team_guard(table: RuleTable) -> str:
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


def tree(value: Any, place: Place) -> Node:
    """A plain value as a tree whose parts stand at one place, except those that have a place already."""
    match value:
        case Node():
            return value
        case dict():
            return Node({key: tree(item, place) for key, item in value.items()}, place, dict.fromkeys(value, place))
        case list() | tuple():
            return Node([tree(item, place) for item in value], place)
    return Node(value, place)
