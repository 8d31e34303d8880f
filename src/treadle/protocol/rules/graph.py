"""A step rules table compiled into the protocol language.

`pass`, `failing.<reason>` and `needs_human` become exits, rows become routes, `requires_human` becomes a question. What
the published table leaves open is decided here: reasons route before attempts are counted (A6), going back charges a
budget (A7), and whatever stops a step leads to a person (A5). Everything after this is the ordinary loader.
"""

from collections.abc import Collection
from typing import Any, Final

from treadle.protocol.findings import Place
from treadle.protocol.reading.source import Node
from treadle.protocol.rules import questions
from treadle.protocol.rules.gates import bounds_of, enforced, listed, post_check, writable
from treadle.protocol.rules.placed import tree
from treadle.protocol.rules.read import read_rules
from treadle.protocol.rules.table import (
    CONFIRM,
    DONE,
    REASONS,
    REWORK,
    SKIPPABLE,
    STUCK,
    Effect,
    Rule,
    RuleTable,
)
from treadle.protocol.rules.team import team_guard

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
_FAILING: Final = "failing"
"""What a team's lead leaves by when it cannot go on."""
_PASSED: Final = "Passed"


def compile_rules(rules: Node, start: str = "") -> Node:
    """The part of a graph that the table stands for: steps, budgets, variables and system rows.

    `own` is what it adds to the graph's own steps, and `start` the question before the first row, if there is one.
    """
    return _Compiler(read_rules(rules)).graph(start)


class _Compiler:
    """Turns the rows of one table into steps, and remembers what arrives where."""

    def __init__(self, table: RuleTable) -> None:
        self.table = table
        self.arrivals: dict[str, list[str]] = {}
        self.budgets: dict[str, Any] = {}
        self.asks: dict[str, Any] = {}
        self.own: dict[str, dict[str, Any]] = {}

    def graph(self, start: str) -> Node:
        rules = self.table.steps.values()
        steps = {rule.name: self._ask(rule) if rule.human else self._work(rule) for rule in rules}
        steps |= {effect.name: self._effect(effect) for effect in self.table.effects.values()}
        self._lead()
        first = self._entry(start)
        steps |= self.asks | {STUCK: questions.stuck()}
        parts = {
            "start": first if first != start else None,
            "vars": {TEAM: False} if self.table.has_team else {},
            "budgets": self.budgets,
            "system": {"!*": STUCK},
            "steps": self._placed({name: self._delivered(name, step) for name, step in steps.items()}),
            "own": {name: self._delivered(name, self._owned(name)) for name in self._others(steps)},
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
        return questions.review(rule, self._onward(rule), *self._rejections(rule))

    def _effect(self, effect: Effect) -> dict[str, Any]:
        rule = self.table.steps[effect.after]
        self._arrive(effect.name, f"{rule.name}.{rule.pass_exit}")
        for target in self._targets(rule):
            self._arrive(target, f"{effect.name}.{effect.exit}")
        return {**effect.copied, "row": rule.name, "exits": [effect.exit], "routes": {effect.exit: self._onward(rule)}}

    def _lead(self) -> None:
        """A team's reasons lead where those of its row do, and what it has passed leads on as the row does."""
        teamed, table = self.table.teamed, self.table
        if teamed and table.has_team and table.team_rework:
            rows = {_reasoned(_FAILING, reason): self._sent(to, teamed) for reason, to in teamed.fails.items()}
            self.own[table.team] = {"routes": rows}
        if teamed and table.has_team and table.team_passes:
            self.own[table.team_passes] = {"routes": {_PASSED: self._ahead(teamed, f"{table.team_passes}.{_PASSED}")}}

    def _owned(self, name: str) -> dict[str, Any]:
        return self.own.get(name, {})

    def _others(self, steps: Collection[str]) -> list[str]:
        """The graph's own steps that the table adds to."""
        return [name for name in dict.fromkeys((*self.own, *self.arrivals)) if name not in steps and name[0] != "@"]

    # routes

    def _entry(self, step: str, asked: bool = False) -> str:
        """A step, or the question before it if a person confirms that it begins, and has not just sent it there."""
        teamed = self.table.teamed
        rule = teamed if teamed and step == self.table.team else self.table.steps.get(step)
        if rule is None or not rule.confirmed or asked:
            return step
        self.asks[CONFIRM + step] = questions.confirmation(rule, step, *self._rejections(rule))
        return CONFIRM + step

    def _rejections(self, rule: Rule) -> tuple[dict[str, str], dict[str, Any]]:
        """A1: what a person answers instead carries the reason, and leads where its row says."""
        rows = {
            "reject" if reason == "default" else reason: to
            for reason, to in rule.fails.items()
            if rule.human or to.value != rule.name
        }
        helps = {reason: f"{REASONS.get(reason, 'not like this')}: back to {to.value}" for reason, to in rows.items()}
        return helps, {choice: self._goto(to) for choice, to in rows.items()}

    def _passed(self, rule: Rule) -> Any:
        rows = self._ahead(rule, f"{rule.name}.{rule.pass_exit}")
        if self.table.has_team and rule.name == self.table.sized_by:
            sets = {"sets": {TEAM: team_guard(self.table)}}
            rows = [{**row, **sets} for row in rows] if isinstance(rows, list) else {"to": rows, **sets}
        return rows

    def _ahead(self, rule: Rule, slot: str) -> Any:
        """What follows a row, told what was passed: the orchestrator's own work, or the next row."""
        effect = next((one.name for one in self.table.effects.values() if one.after == rule.name), None)
        for target in [effect] if effect else self._targets(rule):
            self._arrive(target, slot)
        return effect or self._onward(rule)

    def _onward(self, rule: Rule) -> Any:
        """Where a pass leads; a team takes the place of the step it works on (A18)."""
        *team, step = self._targets(rule)
        return [{"to": team[0], "when": TEAM}, {"to": step}] if team else tree(step, rule.passes.place)

    def _targets(self, rule: Rule) -> list[str]:
        step = str(rule.passes.value)
        teamed = self.table.teamed
        if self.table.has_team and teamed and step == teamed.name:
            return [self._entry(name, rule.human) for name in (self.table.team, step)]
        return [self.table.done if step == DONE else self._entry(step, rule.human)]

    def _failed(self, rule: Rule) -> dict[str, Any]:
        """A6: reasons first, only `@self` counts attempts. A7: other steps charge a budget unless a person is there."""
        rows, back = {}, {}
        for reason, to in rule.fails.items():
            key = _reasoned(rule.fail_exit, reason)
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
        for step in (self._entry(str(default.value)), *([f"{rule.name}{REWORK}"] if isinstance(row, dict) else ())):
            self._arrive(step, _REFUSED[0])
        # Whoever wrote what it may not has only itself to blame for what else is found.
        again = "@self" if rule.attempts > 1 else self._halt(rule)
        own = {f"!gate.{name}": again for name in ("scope", "readonly") if name in there}
        return own | {f"!gate.{name}": row for name in named}

    def _goto(self, to: Node, rule: Rule | None = None) -> Any:
        """Where a row leads; what an executor says is told there, and its way to another executor is paid for."""
        step = self.table.done if to.value == DONE else str(to.value)
        if rule is None:
            return tree(step, to.place)
        return self._back(step, to.place, rule, f"{rule.name}.{rule.fail_exit}", f"{rule.name}{REWORK}")

    def _sent(self, to: Node, teamed: Rule) -> Any:
        """Where a reason of the lead leads."""
        step = self.table.done if to.value == DONE else str(to.value)
        return self._back(step, to.place, teamed, f"{self.table.team}.{_FAILING}", self.table.team_rework)

    def _back(self, step: str, place: Place, rule: Rule, slot: str, budget: str) -> Any:
        if step == rule.name:
            self._arrive(slot.partition(".")[0], slot)
            return tree("@self", place)
        entry = self._entry(step)
        self._arrive(entry, slot)
        target = self.table.steps.get(step)
        if target is not None and target.human:
            self._pass_on(target, slot)
            return tree(step, place)
        return {"to": tree(entry, place), "charge": budget}

    def _pass_on(self, asked: Rule, slot: str) -> None:
        """What a person is asked about is told to whoever works on it next, too."""
        back = [str(to.value) for to in asked.fails.values()]
        for step in (*self._targets(asked), *back):
            rule = self.table.steps.get(step)
            if step == self.table.team or (rule is not None and not rule.human):
                self._arrive(step, slot)

    def _rework(self, rule: Rule, back: dict[str, Any]) -> None:
        """The budget of the edges that go back, and the question when it is spent."""
        name = f"{rule.name}{REWORK}"
        people = [other.name for other in self.table.steps.values() if other.human]
        self.budgets[name] = {"max": self.table.max_rework, "to": name, "resets": people}
        self._arrive(name, f"{rule.name}.{rule.fail_exit}")
        ways = back | {step: step for step in people if self._is_before(step, rule.name)}
        self.asks[name] = questions.sent_back(rule, ways)

    def _is_before(self, step: str, other: str) -> bool:
        """Whether passes lead from a step to another; what is sent past its own step has not been done."""
        seen: list[str] = []
        while step in self.table.steps and step not in seen:
            seen.append(step)
            step = str(self.table.steps[step].passes.value)
        return other in seen

    def _halt(self, rule: Rule) -> str:
        """The question that whatever stops a step leads to."""
        name = f"{SKIPPABLE}{rule.name}" if rule.skippable else STUCK
        self._arrive(name, f"{rule.name}.{NEEDS_HUMAN}")
        return name

    def _skip(self, rule: Rule) -> dict[str, Any]:
        """A25: a step that may be skipped has a question of its own, with that answer."""
        name = self._halt(rule)
        self.asks[name] = questions.skippable(rule, self._onward(rule))
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
        """What leads to the question before a step is told to both."""
        for name in dict.fromkeys((step, step.removeprefix(CONFIRM))):
            self.arrivals.setdefault(name, []).append(slot)

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
    return name.removeprefix(SKIPPABLE).removeprefix(CONFIRM).removesuffix(REWORK)


def _reasoned(exit_: str, reason: str) -> str:
    return exit_ if reason == "default" else f"{exit_}.{reason}"
