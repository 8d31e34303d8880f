"""A step rules table compiled into the protocol language.

`pass`, `failing.<reason>` and `needs_human` become exits, rows become routes, `requires_human` becomes a question. This
module decides the points that the published table leaves open: reasons route before attempts are counted (A6), going
back charges a budget (A7), and every stop of a step leads to a person (A5). Everything after this is the ordinary
loader.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treadle.protocol.findings import Place
from treadle.protocol.model import CheckRef
from treadle.protocol.reading.notation import checks
from treadle.protocol.reading.part import Log, Part
from treadle.protocol.reading.yaml import Node
from treadle.protocol.rules.table import (
    CONFIRM,
    DONE,
    REASONS,
    REWORK,
    SKIPPABLE,
    STUCK,
    Effect,
    RuleTable,
    StepRule,
    TeamRole,
)
from treadle.protocol.vocabulary import RECORDS, REQUIRED

# Plain values as trees, at the place of the row they were made from.


def placed_tree(value: Any, place: Place) -> Node:
    """Return a plain value as a tree at one place; parts that already have a place keep it."""
    match value:
        case Node():
            return value
        case dict():
            entries = {key: placed_tree(item, place) for key, item in value.items()}
            return Node(entries, place, dict.fromkeys(value, place))
        case list() | tuple():
            return Node([placed_tree(item, place) for item in value], place)
    return Node(value, place)


# The checks and write scopes that a row of the rules table implies.


def scope_checks(writes: tuple[str, ...], gates: Node | None, *scopes: str) -> list[str]:
    """Return the checks that a write scope implies, except those that the row names itself."""
    named = set(check_names(gates))
    # Where a check verifies the file that the row writes, a correct file may stay unchanged.
    verified = any(ref.name == "schema" and ref.arg in REQUIRED and not ref.advisory for ref in _refs(gates))
    recorded = () if named & RECORDS else ("commit_once" if writes and not verified else "checkpoint",)
    return [name for name in (*recorded, *(scopes if writes else ("readonly",))) if name not in named]


def rule_scope_checks(rule: StepRule) -> list[str]:
    """Return the checks that the write scope of a row implies for its pass."""
    return scope_checks((*rule.writes, *rule.amends), rule.gates.get("pass"), "scope")


def enforced_checks(rule: StepRule) -> set[str]:
    """The checks that can refuse a pass of this row."""
    named = check_names(rule.gates.get("pass"), advice=False)
    return {*rule_scope_checks(rule), *named, *(["post_check"] if rule.post_check else [])}


def writable_globs(writes: tuple[str, ...], gates: Node | None, table: RuleTable) -> tuple[str, ...]:
    """X10: return the write scope; exclude tests that must stay unmodified, even if a glob such as `*.go` matches."""
    if "tests_unmodified" not in check_names(gates) or not any("*" in glob for glob in writes):
        return writes
    authors = [rule for rule in table.steps.values() if {"red", "red_one"} & set(check_names(rule.gates.get("pass")))]
    tests = (glob for rule in authors for glob in excluded_globs((*rule.writes, *rule.amends)))
    return tuple(dict.fromkeys((*writes, *tests)))


def excluded_globs(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"!{glob}" for glob in globs if not glob.startswith("!"))


def post_check(rule: StepRule) -> list[Any]:
    return [{"check": "post_check", "arg": rule.post_check}] if rule.post_check else []


def check_names(gates: Node | None, advice: bool = True) -> Iterator[str]:
    """Yield the names of the checks, without arguments and marks; without `advice`, only those that can refuse."""
    yield from (ref.name for ref in _refs(gates) if advice or not ref.advisory)


def _refs(gates: Node | None) -> tuple[CheckRef, ...]:
    """Parse the checks; the loader reports their faults later."""
    return checks(Part(gates, "gates", "", Log())) if gates else ()


def list_gates(gates: Node | None) -> list[Node]:
    """Return checks as a list; the loader handles a value that is neither text nor a list."""
    if gates is None or gates.value is None:
        return []
    return list(gates.value) if isinstance(gates.value, list) else [gates]


# Teams in the table: the stories that get one, and the paths that each role may read, write and see.


def compile_team(table: RuleTable) -> Node:
    """The part of a protocol that `team_roles` stand for: each role's paths, and the checks of graph `task-ROLE`."""
    teamed = table.teamed
    if teamed is None:
        return placed_tree({}, table.place)
    roles = {name: _role(role, table, teamed) for name, role in teamed.team.items()}
    graphs = {f"task-{name}": _task(role, teamed) for name, role in teamed.team.items()}
    return placed_tree({"roles": roles, "graphs": graphs}, table.place)


def team_guard(table: RuleTable) -> str:
    """A18: `auto` is a team if at least two tasks can go side by side."""
    sizes = [
        f"data.complexity == '{size}'" + (" and data.parallel_tasks >= 2" if mode == "auto" else "")
        for size, mode in table.dispatch.items()
        if mode != "single"
    ]
    return " or ".join(f"({size})" for size in sizes) or "False"


def _task(role: TeamRole, teamed: StepRule) -> Node:
    owned = "owned_files?" if role.advisory else "owned_files"
    checks = [*scope_checks(role.writes, role.gates, "scope", owned), *list_gates(role.gates)]
    gates: dict[str, Any] = {"task_done": [*checks, *(post_check(teamed) if role.writes else ())]}
    gates |= {} if role.writes else {"blocker": "readonly", "conflict": "readonly"}
    return placed_tree({"steps": {"work": {"gates": gates}}}, role.place)


def _role(role: TeamRole, table: RuleTable, teamed: StepRule) -> Node:
    """A24: a role's paths are a boundary; an advisory role has those of the whole step besides."""
    writes = tuple(dict.fromkeys((*teamed.writes, *role.writes))) if role.advisory else role.writes
    hidden = (*role.hidden, *excluded_globs(role.writes)) if role.hidden else ()
    bounded = (glob.replace("{id}", "{story}") for glob in writable_globs(writes, role.gates, table))
    paths = {"reads": role.reads, "writes": tuple(bounded), "hidden": hidden}
    return placed_tree(paths, role.place)


NEEDS_HUMAN: Final = "needs_human"
TEAM: Final = "team"
"""The variable for whether a team works on the story."""
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
_FAILING: Final = "failing"
"""The exit of a team's lead that cannot continue."""
_PASSED: Final = "Passed"


def compile_rules(table: RuleTable, start: str = "") -> Node:
    """Return the part of a graph that the table stands for: steps, budgets, variables and system rows.

    `own` holds its additions to the graph's own steps, and `start` the question before the first row, if there is one.
    """
    return _TableCompiler(table).graph(start)


class _TableCompiler:
    """A compiler of one table's rows into steps; it remembers the slots that lead to each step."""

    def __init__(self, table: RuleTable) -> None:
        self.table = table
        self.arrivals: dict[str, list[str]] = {}
        self.budgets: dict[str, Any] = {}
        self.asks: dict[str, Any] = {}
        self.own: dict[str, dict[str, Any]] = {}

    def graph(self, start: str) -> Node:
        rules = self.table.steps.values()
        steps = {rule.name: self._ask(rule) if rule.human else self._agent_step(rule) for rule in rules}
        steps |= {effect.name: self._effect(effect) for effect in self.table.effects.values()}
        self._route_team()
        first = self._entry(start)
        steps |= self.asks | {STUCK: _stuck()}
        # The graph's own steps that the table adds to.
        others = [name for name in dict.fromkeys((*self.own, *self.arrivals)) if name not in steps and name[0] != "@"]
        parts = {
            "start": first if first != start else None,
            "vars": {TEAM: False} if self.table.has_team else {},
            "budgets": self.budgets,
            "system": {"!*": STUCK},
            "steps": self._place_steps({name: self._with_needs(name, step) for name, step in steps.items()}),
            "own": {name: self._with_needs(name, self.own.get(name, {})) for name in others},
        }
        return placed_tree({key: part for key, part in parts.items() if part}, self.table.place)

    def _place_steps(self, steps: dict[str, dict[str, Any]]) -> Node:
        """Return the steps, each key at the place of the row's key it was made from, for the lines of findings."""
        rows = self.table.steps | self.table.effects
        placed, places = {}, {}
        for name, step in steps.items():
            # A question stands at the row that it was made for.
            row = rows.get(name) or rows.get(name.removeprefix(SKIPPABLE).removeprefix(CONFIRM).removesuffix(REWORK))
            place = places[name] = row.place if row else self.table.place
            written = self.table.steps[name].keys if name in self.table.steps else {}
            keys = {key: written.get(_WRITTEN_AS.get(key, key), place) for key in step}
            placed[name] = Node({key: placed_tree(value, keys[key]) for key, value in step.items()}, place, keys)
        return Node(placed, self.table.place, places)

    # steps

    def _agent_step(self, rule: StepRule) -> dict[str, Any]:
        routes = {rule.pass_exit: self._pass_rows(rule), **self._failure_rows(rule), **self._refusal_rows(rule)}
        routes[NEEDS_HUMAN] = self._halt(rule)
        routes |= self._skip(rule) if rule.skippable else {}
        # It may add stubs where the step that replaces them may write.
        other = self.table.steps.get(rule.stubs_for)
        stubs = {"stubs": writable_globs(other.writes, other.gates.get("pass"), self.table)} if other else {}
        return {
            **rule.copied,
            "row": rule.name,
            "role": rule.role,
            "exits": [rule.pass_exit, rule.fail_exit, NEEDS_HUMAN],
            "attempts": rule.attempts,
            "timeout": f"{rule.minutes}m",
            "reads": rule.reads,
            "writes": (*writable_globs(rule.writes, rule.gates.get("pass"), self.table), *rule.amends),
            **stubs,
            "gates": self._gates(rule),
            "needs": rule.needs,
            "routes": routes,
        }

    def _ask(self, rule: StepRule) -> dict[str, Any]:
        return _review(rule, self._onward(rule), *self._rejections(rule))

    def _effect(self, effect: Effect) -> dict[str, Any]:
        rule = self.table.steps[effect.after]
        self._arrive(effect.name, f"{rule.name}.{rule.pass_exit}")
        for target in self._targets(rule):
            self._arrive(target, f"{effect.name}.{effect.exit}")
        return {**effect.copied, "row": rule.name, "exits": [effect.exit], "routes": {effect.exit: self._onward(rule)}}

    def _route_team(self) -> None:
        """Route a team's reasons as its row routes them, and a team's pass as the row's pass."""
        teamed, table = self.table.teamed, self.table
        if teamed and table.has_team and table.team_rework:
            rows = {
                _exit_key(_FAILING, reason): self._back(to, teamed, f"{table.team}.{_FAILING}", table.team_rework)
                for reason, to in teamed.fails.items()
            }
            self.own[table.team] = {"routes": rows}
        if teamed and table.has_team and table.team_passes:
            self.own[table.team_passes] = {
                "routes": {_PASSED: self._next_target(teamed, f"{table.team_passes}.{_PASSED}")}
            }

    # routes

    def _entry(self, step: str, asked: bool = False) -> str:
        """A step, or the question before it if a person confirms that it begins, and has not just sent it there."""
        teamed = self.table.teamed
        rule = teamed if teamed and step == self.table.team else self.table.steps.get(step)
        if rule is None or not rule.confirmed or asked:
            return step
        self.asks[CONFIRM + step] = _confirmation(rule, step, *self._rejections(rule))
        return CONFIRM + step

    def _rejections(self, rule: StepRule) -> tuple[dict[str, str], dict[str, Any]]:
        """A1: return a person's other answers; each carries its reason and leads where the reason's row leads."""
        rows = {
            "reject" if reason == "default" else reason: to
            for reason, to in rule.fails.items()
            if rule.human or to.value != rule.name
        }
        helps = {reason: f"{REASONS.get(reason, 'not like this')}: back to {to.value}" for reason, to in rows.items()}
        return helps, {choice: self._step(to) for choice, to in rows.items()}

    def _pass_rows(self, rule: StepRule) -> Any:
        rows = self._next_target(rule, f"{rule.name}.{rule.pass_exit}")
        if self.table.has_team and rule.name == self.table.sized_by:
            sets = {"sets": {TEAM: team_guard(self.table)}}
            rows = [{**row, **sets} for row in rows] if isinstance(rows, list) else {"to": rows, **sets}
        return rows

    def _next_target(self, rule: StepRule, slot: str) -> Any:
        """Return the target after a row, the effect behind it or the next row, and deliver the pass to it."""
        effect = next((one.name for one in self.table.effects.values() if one.after == rule.name), None)
        for target in [effect] if effect else self._targets(rule):
            self._arrive(target, slot)
        return effect or self._onward(rule)

    def _onward(self, rule: StepRule) -> Any:
        """Return the target of a pass; a team replaces the step it works on (A18)."""
        *team, step = self._targets(rule)
        return [{"to": team[0], "when": TEAM}, {"to": step}] if team else Node(step, rule.passes.place)

    def _targets(self, rule: StepRule) -> list[str]:
        step = str(rule.passes.value)
        teamed = self.table.teamed
        if self.table.has_team and teamed and step == teamed.name:
            return [self._entry(name, rule.human) for name in (self.table.team, step)]
        return [self.table.done if step == DONE else self._entry(step, rule.human)]

    def _failure_rows(self, rule: StepRule) -> dict[str, Any]:
        """A6: reasons first, only `@self` counts attempts. A7: other steps charge a budget unless a person is there."""
        rows, back = {}, {}
        for reason, to in rule.fails.items():
            key = _exit_key(rule.fail_exit, reason)
            rows[key] = self._failure_target(to, rule)
            if isinstance(rows[key], dict):
                back[str(to.value)] = rows[key]["to"]
        if back:
            self._rework(rule, back)
        return rows

    def _refusal_rows(self, rule: StepRule) -> dict[str, Any]:
        """Route a refused pass as a failure where another step has to repair the cause (`fails_by`)."""
        there, default = enforced_checks(rule), rule.fails["default"]
        named = [name for name in rule.fails_by if name in there]
        if not named or default.value == rule.name:
            return {}
        row = self._failure_target(default, rule)
        for step in (self._entry(str(default.value)), *([f"{rule.name}{REWORK}"] if isinstance(row, dict) else ())):
            self._arrive(step, _REFUSED[0])
        # A step that wrote outside its scope repairs that first: its other findings may follow from it.
        again = "@self" if rule.attempts > 1 else self._halt(rule)
        own = {f"!gate.{name}": again for name in ("scope", "readonly") if name in there}
        return own | {f"!gate.{name}": row for name in named}

    def _step(self, to: Node) -> Node:
        """The step that a row leads to; the graph's own one in place of `done`."""
        return Node(self.table.done, to.place) if to.value == DONE else to

    def _failure_target(self, to: Node, rule: StepRule) -> Any:
        """Return the target of an executor's failure."""
        return self._back(to, rule, f"{rule.name}.{rule.fail_exit}", f"{rule.name}{REWORK}")

    def _back(self, to: Node, rule: StepRule, slot: str, budget: str) -> Any:
        """Return the target of a failure; deliver its slot there, and charge a way to another executor."""
        step = str(self._step(to).value)
        if step == rule.name:
            self._arrive(slot.partition(".")[0], slot)
            return Node("@self", to.place)
        entry = self._entry(step)
        self._arrive(entry, slot)
        target = self.table.steps.get(step)
        if target is not None and target.human:
            self._pass_on(target, slot)
            return Node(step, to.place)
        return {"to": Node(entry, to.place), "charge": budget}

    def _pass_on(self, asked: StepRule, slot: str) -> None:
        """Deliver the subject of a question to the steps that work on it next, too."""
        back = [str(to.value) for to in asked.fails.values()]
        for step in (*self._targets(asked), *back):
            rule = self.table.steps.get(step)
            if step == self.table.team or (rule is not None and not rule.human):
                self._arrive(step, slot)

    def _rework(self, rule: StepRule, back: dict[str, Any]) -> None:
        """The budget of the edges that go back, and the question when it is spent."""
        name = f"{rule.name}{REWORK}"
        people = [other.name for other in self.table.steps.values() if other.human]
        self.budgets[name] = {"max": self.table.max_rework, "to": name, "resets": people}
        self._arrive(name, f"{rule.name}.{rule.fail_exit}")
        ways = back | {step: step for step in people if self._is_before(step, rule.name)}
        self.asks[name] = _sent_back(rule, ways)

    def _is_before(self, step: str, other: str) -> bool:
        """Whether passes lead from one step to another; work sent past a step would leave that step undone."""
        seen: list[str] = []
        while step in self.table.steps and step not in seen:
            seen.append(step)
            step = str(self.table.steps[step].passes.value)
        return other in seen

    def _halt(self, rule: StepRule) -> str:
        """Return the question that every stop of a step leads to."""
        name = f"{SKIPPABLE}{rule.name}" if rule.skippable else STUCK
        self._arrive(name, f"{rule.name}.{NEEDS_HUMAN}")
        return name

    def _skip(self, rule: StepRule) -> dict[str, Any]:
        """A25: a step that may be skipped has a question of its own, with that answer."""
        name = self._halt(rule)
        self.asks[name] = _skip_or_retry(rule, self._onward(rule))
        again = dict.fromkeys(_REFUSED if rule.attempts > 1 else (), "@self")
        return {**again, "!*": name}

    # checks and needs

    def _gates(self, rule: StepRule) -> dict[str, Any]:
        checks = [*rule_scope_checks(rule), *list_gates(rule.gates.get("pass")), *post_check(rule)]
        others = {
            exit_: [*([] if (*rule.writes, *rule.amends) else ["readonly"]), *list_gates(rule.gates.get(key))]
            for key, exit_ in (("failing", rule.fail_exit), (NEEDS_HUMAN, NEEDS_HUMAN))
        }
        return {rule.pass_exit: checks, **{exit_: found for exit_, found in others.items() if found}}

    def _arrive(self, step: str, slot: str) -> None:
        """Note that a slot leads to a step; if that is the question before a step, the step gets the slot too."""
        for name in dict.fromkeys((step, step.removeprefix(CONFIRM))):
            self.arrivals.setdefault(name, []).append(slot)

    def _with_needs(self, name: str, step: dict[str, Any]) -> dict[str, Any]:
        """The step with everything that leads to it among its needs."""
        needs = list(step.get("needs", ()))
        given = {need.rstrip("?*") for need in needs}
        needs += [f"{slot}?" for slot in dict.fromkeys(self.arrivals.get(name, ())) if slot not in given]
        return {**step, "needs": needs} if needs else {key: value for key, value in step.items() if key != "needs"}


def _exit_key(exit_: str, reason: str) -> str:
    return exit_ if reason == "default" else f"{exit_}.{reason}"


# The questions to a person that a table stands for, and the routes of their answers.

_GIVE_UP: Final = {"abort": "give the story up"}
_GIVEN_UP: Final = {"abort": "@end:Aborted"}
_AGAIN: Final = "do the step again, with your note"


def _review(rule: StepRule, onward: Any, choices: Mapping[str, str], routes: Mapping[str, Any]) -> dict[str, Any]:
    """A row that a person does: approve, or one of the rejections."""
    return {
        **rule.copied,
        "row": rule.name,
        "ask": "human",
        "needs": rule.needs,
        "remind": f"{rule.minutes}m",
        "choices": {"approve": f"continue with {rule.passes.value}", **choices, **_GIVE_UP},
        "routes": {"approve": onward, **routes, **_GIVEN_UP},
    }


def _confirmation(rule: StepRule, step: str, choices: Mapping[str, str], routes: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a step may begin."""
    return {
        "title": f"{_title(rule)}: may it begin?",
        "row": rule.name,
        "ask": "human",
        "choices": {"approve": "let it begin", **choices, **_GIVE_UP},
        "routes": {"approve": step, **routes, **_GIVEN_UP},
    }


def _sent_back(rule: StepRule, ways: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question about a row that was sent back too often."""
    return {
        "title": f"{_title(rule)}: sent back too often",
        "row": rule.name,
        "ask": "human",
        "choices": {
            **{step: f"back to {step} once more, with your note" for step in ways},
            "retry": f"do {rule.name} again, with your note",
            **_GIVE_UP,
        },
        "routes": {**ways, "retry": rule.name, **_GIVEN_UP},
    }


def _stuck() -> dict[str, Any]:
    """Return the question about a step that cannot continue."""
    return {
        "title": "Stuck",
        "ask": "human",
        "needs": ["!*?"],
        "choices": {"retry": _AGAIN, **_GIVE_UP},
        "routes": {"retry": "@back", **_GIVEN_UP},
    }


def _skip_or_retry(rule: StepRule, onward: Any) -> dict[str, Any]:
    """A25: the same question about a row that may be left out."""
    return {
        **_stuck(),
        "row": rule.name,
        "skippable": True,
        "choices": {"retry": _AGAIN, "skip": f"continue with {rule.passes.value}, without it", **_GIVE_UP},
        "routes": {"retry": rule.name, "skip": onward, **_GIVEN_UP},
    }


def _title(rule: StepRule) -> str:
    return str(rule.copied["title"].value) if "title" in rule.copied else rule.name
