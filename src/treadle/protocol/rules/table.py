"""The step rules table of the Agentic Coding Protocol: `.ai/step-rules.yaml` and the defaults, read strictly."""

from typing import Final

import msgspec

from treadle.protocol.catalogue import CHECKS
from treadle.protocol.findings import Place, suggest
from treadle.protocol.reading.part import NAME, WORD, Log, Part, quoted
from treadle.protocol.reading.source import Node
from treadle.protocol.rules.passing import circles
from treadle.protocol.rules.paths import AMENDS, WRITES, globs

REASONS: Final = {
    "constitution_violation": "it breaks a rule of the constitution",
    "needs_clarification": "a requirement is unclear",
    "nfr_missing": "a non-functional requirement has no threshold",
    "scope_warning": "it touches a non-goal",
    "test_timeout": "the tests took too long",
}
"""Why a step fails, besides `default`."""
DONE: Final = "done"
STUCK: Final = "stuck"
SKIPPABLE: Final = "stuck-"
REWORK: Final = "-rework"
CONFIRM: Final = "confirm-"
"""The questions that rows give rise to: `stuck`, `stuck-ROW` (may be skipped), `ROW-rework` (sent back too often),
`confirm-ROW` (may it begin?)."""
MODES: Final = ("single", "auto", "team")
SIZES: Final = ("S", "M", "L")
COPIED: Final = (
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


class TeamRole(msgspec.Struct, frozen=True, kw_only=True):
    """What one role of a team may read and write."""

    place: Place
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    hidden: tuple[str, ...]
    gates: Node | None
    advisory: bool


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One row: who works, for how long, on which files, and where each result leads."""

    name: str
    place: Place
    human: bool
    confirmed: bool
    """A person is asked before an executor begins."""
    passes: Node
    fails: dict[str, Node]
    """Reason → step; `default` is always there."""
    attempts: int
    minutes: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    amends: tuple[str, ...]
    """Documents that it may change besides."""
    stubs_for: str
    """The step in whose files it may add stubs."""
    post_check: str
    role: str
    pass_exit: str
    fail_exit: str
    gates: dict[str, Node]
    fails_by: tuple[str, ...]
    """Checks of a pass that stand for a failure: what they find is for another step to mend."""
    needs: tuple[str, ...]
    skippable: bool
    copied: dict[str, Node]
    team: dict[str, TeamRole]
    keys: dict[str, Place]
    """Where each key of the row stands."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Work of the orchestrator between a row and the one after it."""

    name: str
    place: Place
    after: str
    exit: str
    copied: dict[str, Node]


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table."""

    steps: dict[str, Rule]
    effects: dict[str, Effect]
    dispatch: dict[str, str]
    """Size → single, auto or team."""
    place: Place
    sized_by: str
    team: str
    team_passes: str
    """The check of the graph that leads on where the row of the team does."""
    team_rework: str
    """The budget that a team is charged when its lead sends the story back."""
    done: str
    max_rework: int

    @property
    def teamed(self) -> Rule | None:
        """The row that a team may work on."""
        return next((rule for rule in self.steps.values() if rule.team), None)

    @property
    def has_team(self) -> bool:
        return bool(self.teamed and self.team and self.sized_by)


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
    part.known(*_SEED, *_OWN, *COPIED)
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
        copied={key: entry.node for key in COPIED if (entry := part.get(key))},
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
    part.known(*SIZES)
    return {size: entry.as_choice(MODES, "single") for size, entry in part.entries()}


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
