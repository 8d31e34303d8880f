"""Reading a step rules table, strictly: whatever is wrong with it is told with its line, all of it at once."""

from typing import Final

from treadle.protocol.catalogue import CHECKS
from treadle.protocol.findings import suggest
from treadle.protocol.reading.part import NAME, WORD, Log, Part, quoted
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.passing import circles
from treadle.protocol.rules.paths import AMENDS, WRITES, globs
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
    TeamRole,
)

_MODES: Final = ("single", "auto", "team")
_SIZES: Final = ("S", "M", "L")
_COPIED: Final = (
    *("title", "symbol", "template", "estimate", "keep_work", "thread", "wait", "prio", "pools", "lane"),
    *("nudge_after", "nudges"),
)
"""Keys of a step in the protocol language that a row of the table may carry as they are."""
_SEED: Final = (
    *("next_on_pass", "next_on_fail", "on_fail", "max_attempts", "timeout_min", "requires_human"),
    *("claude_reads", "claude_writes", "post_check", "team_roles"),
)
_OWN: Final = (
    *("role", "pass", "failing", "gates", "fails_by", "needs", "skippable", "amends", "stubs_for", "confirm"),
)
_HUMAN: Final = ("title", "symbol", "template", "prio", "needs", "next_on_pass", "next_on_fail", "on_fail")
_TEAM_ROLE: Final = ("claude_reads", "claude_writes", "hidden", "gates", "advisory")
_TOP: Final = (
    *("steps", "dispatch_mode", "sized_by", "team", "team_passes", "team_rework", "done", "max_rework", "effects"),
)
_TASKS_STORY: Final = "story"
"""The field of a team's task that holds the story's id."""
_REWORK: Final = 3


def read_rules(node: Node) -> RuleTable:
    """Read a table, or raise `ProtocolError` with everything that is wrong with it."""
    log = Log()
    top = Part(node, "the rules table", "", log)
    top.known(*_TOP)
    if not isinstance(node.value, dict):
        top.expected("a mapping", "write `steps: {STEP: {…}}`")
    elif top.get("steps") is None:
        top.problem("the rules table has no 'steps'", "add `steps:`")
    rows = dict(top.named("steps", NAME))
    steps = {name: _rule(entry, [other for other in rows if other != name]) for name, entry in rows.items()}
    effects = {name: _effect(entry) for name, entry in top.named("effects", NAME)}
    table = RuleTable(
        steps=steps,
        effects=effects,
        dispatch=_dispatch(top.get("dispatch_mode")),
        place=top.node.key_place("dispatch_mode"),
        sized_by=top.name_of("sized_by"),
        team=top.name_of("team"),
        team_passes=top.name_of("team_passes"),
        team_rework=top.name_of("team_rework"),
        done=top.text("done", "@end:Done"),
        max_rework=top.whole("max_rework", _REWORK, least=1),
    )
    _names_exist(table, top)
    log.settle(node.place.file)
    return table


def _rule(part: Part, others: list[str]) -> Rule:
    human = part.flag("requires_human")
    part.known(*_SEED, *_OWN, *_COPIED)
    if part.name == DONE:
        part.problem("'done' is the end of a story, not a row", "remove it; `done:` names the step that stands for it")
    if part.name == STUCK or part.name.startswith((SKIPPABLE, CONFIRM)) or part.name.endswith(REWORK):
        part.problem(f"{quoted(part.name)} is the name of a question that the table gives rise to", "rename the step")
    if human:
        _nobody_works(part)
    return Rule(
        name=part.name,
        place=part.log.places[part.path],
        human=human,
        confirmed=part.flag("confirm") and not human,
        passes=_passes(part, others),
        fails=_fails(part, human),
        attempts=part.whole("max_attempts", 1, least=1),
        minutes=part.whole("timeout_min", 0 if human else 5, least=0 if human else 1),
        reads=globs(part, "claude_reads"),
        writes=globs(part, WRITES),
        amends=globs(part, AMENDS),
        stubs_for=part.name_of("stubs_for"),
        post_check=_command(part.get("post_check")),
        role=part.text("role", "executor"),
        pass_exit=part.name_of("pass", WORD, "pass"),
        fail_exit=part.name_of("failing", WORD, "failing"),
        gates=_gates(part.get("gates")),
        fails_by=_fails_by(part.get("fails_by")),
        needs=part.texts("needs"),
        skippable=part.flag("skippable"),
        copied={key: entry.node for key in _COPIED if (entry := part.get(key))},
        team={name: _team_role(entry) for name, entry in part.named("team_roles", NAME)},
        keys=part.node.keys,
    )


def _nobody_works(part: Part) -> None:
    """A step that asks a person has no executor; what would be ignored is an error, what is empty is not."""
    for key in part.node.keys:
        entry = part.get(key)
        if key not in (*_HUMAN, "requires_human", "timeout_min") and entry and entry.node.value not in (None, [], {}):
            hint = "remove it; a person who only lets an executor begin is asked by `confirm: true`"
            entry.problem(f"{quoted(key)} has no meaning in a step that asks a person", hint)


def _passes(part: Part, others: list[str]) -> Node:
    entry = part.get("next_on_pass")
    if entry is None:
        hint = suggest(part.name, others) or "a new step says `next_on_pass:`"
        part.problem(f"nothing follows a pass of {quoted(part.name)}", hint)
        return Node(DONE, part.node.place)
    return Node(entry.as_text(DONE), entry.node.place)


def _fails(part: Part, human: bool) -> dict[str, Node]:
    """Where failures lead. A11: `next_on_fail` is the default row; an executor's own step is, if neither is there."""
    table = part.get("on_fail")
    rows = {} if table is None else {reason: _row(reason, entry) for reason, entry in table.entries()}
    other = part.get("next_on_fail")
    if other is not None and rows.get("default", other.node).value != other.node.value:
        other.problem("'next_on_fail' and 'on_fail.default' disagree", "keep one of them")
    default = rows.pop("default", None) or (Node(other.as_text(), other.node.place) if other else None)
    if default is None and human:
        part.problem("nothing follows a rejection", "add `on_fail: {default: STEP}`")
    return {"default": default or Node(part.name, part.node.place), **rows}


def _row(reason: str, entry: Part) -> Node:
    if reason != "default" and reason not in REASONS:
        known = ("default", *REASONS)
        entry.problem(f"unknown reason {quoted(reason)}", suggest(reason, known) or f"known: {', '.join(known)}")
    return Node(entry.as_text(), entry.node.place)


def _command(part: Part | None) -> str:
    return part.as_text() if part and part.node.value is not None else ""


def _gates(part: Part | None) -> dict[str, Node]:
    if part is None:
        return {}
    part.known("pass", "failing", "needs_human")
    return {key: entry.node for key, entry in part.entries()}


def _fails_by(part: Part | None) -> tuple[str, ...]:
    named = part.items() if part and part.node.value is not None else []
    for entry in named:
        if entry.as_text() not in CHECKS:
            hint = suggest(entry.as_text(), CHECKS) or "write the name of a check of its `gates`"
            entry.problem(f"{quoted(entry.as_text())} is not a check", hint)
    return tuple(entry.as_text() for entry in named)


def _team_role(part: Part) -> TeamRole:
    part.known(*_TEAM_ROLE)
    gates = part.get("gates")
    return TeamRole(
        place=part.node.place,
        reads=globs(part, "claude_reads", _TASKS_STORY),
        writes=globs(part, WRITES, _TASKS_STORY),
        hidden=globs(part, "hidden", _TASKS_STORY),
        gates=gates.node if gates else None,
        advisory=part.flag("advisory"),
    )


def _effect(part: Part) -> Effect:
    for key in ("after", "effect", "exit"):
        if part.get(key) is None:
            part.problem(f"the effect {quoted(part.name)} has no {quoted(key)}", "write {after, effect, exit}")
    return Effect(
        name=part.name,
        place=part.log.places[part.path],
        after=part.name_of("after"),
        exit=part.name_of("exit", WORD, "?"),
        copied={key: entry.node for key, entry in part.entries() if key not in ("after", "exit")},
    )


def _dispatch(part: Part | None) -> dict[str, str]:
    if part is None:
        return {}
    part.known(*_SIZES)
    return {size: entry.as_choice(_MODES, "single") for size, entry in part.entries()}


def _names_exist(table: RuleTable, top: Part) -> None:
    """Every name that is not a step of the table is a finding; the graph's own steps are named by `done` and `team`."""
    for rule in table.steps.values():
        for node in (rule.passes, *rule.fails.values()):
            _is_step(node, table, f"steps.{rule.name}", top.log, DONE)
        _is_step(Node(rule.stubs_for, rule.keys.get("stubs_for", rule.place)), table, f"steps.{rule.name}", top.log)
    passes = {rule.name: rule.passes for rule in table.steps.values() if rule.name != DONE}
    for way in circles(passes):
        said = f"passes lead from {' to '.join(way)}, and so never to {quoted(DONE)}"
        top.log.add(
            passes[way[0]].place, f"steps.{way[0]}", said, f"let `next_on_pass` of one of them lead on to {DONE}"
        )
    for effect in table.effects.values():
        _is_step(Node(effect.after, effect.place), table, f"effects.{effect.name}", top.log)
    if table.sized_by:
        _is_step(Node(table.sized_by, top.node.key_place("sized_by")), table, "sized_by", top.log)
    if sum(bool(rule.team) for rule in table.steps.values()) > 1:
        top.problem("more than one step has 'team_roles'", "a team works on one step")
    if any(mode != "single" for mode in table.dispatch.values()) and not table.has_team:
        hint = (
            "add `team_roles:` to a step, `sized_by:` (who says how complex a story is) and `team:` (where it starts)"
        )
        top.log.add(table.place, "dispatch_mode", "a team is asked for, and nothing says how it starts", hint)


def _is_step(node: Node, table: RuleTable, path: str, log: Log, *others: str) -> None:
    if isinstance(node.value, str) and node.value and node.value not in (*table.steps, *others):
        known = (*table.steps, *others)
        hint = suggest(node.value, known) or f"its steps: {', '.join(known)}"
        log.add(node.place, path, f"{quoted(node.value)} is not a step of the rules table", hint)
