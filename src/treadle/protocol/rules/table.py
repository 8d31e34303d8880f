"""The step rules table of the Agentic Coding Protocol, as it stands in `.ai/step-rules.yaml` and in the defaults.

It is read strictly: all that is wrong with it is reported at once, with lines.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from treadle.protocol.findings import Place, suggest
from treadle.protocol.paths import glob_fault, quote_glob
from treadle.protocol.reading.part import NAME, WORD, Log, Part, quote_name
from treadle.protocol.reading.yaml import Node
from treadle.protocol.vocabulary import CHECKS

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


class TeamRole(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that one role of a team may read and write."""

    place: Place
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    hidden: tuple[str, ...]
    gates: Node | None
    advisory: bool


class StepRule(msgspec.Struct, frozen=True, kw_only=True):
    """One row: its executor, timeout and files, and the target of each result."""

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
    """The step with the files in which it may add stubs."""
    post_check: str
    role: str
    pass_exit: str
    fail_exit: str
    gates: dict[str, Node]
    fails_by: tuple[str, ...]
    """Checks of a pass with a refusal that counts as a failure: another step has to repair their findings."""
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

    steps: dict[str, StepRule]
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
    def teamed(self) -> StepRule | None:
        """The row that a team may work on."""
        return next((rule for rule in self.steps.values() if rule.team), None)

    @property
    def has_team(self) -> bool:
        return bool(self.teamed and self.team and self.sized_by)


# The paths of a row, and their faults.

_STORY: Final = "story"
_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_DOUBLED: Final = "US-{story}"
"""A15: as it was published; the id of a story is "US-005" already."""


def read_globs(part: Part, key: str, field: str = "id") -> tuple[str, ...]:
    """Read the paths of a row; `{story}` is the story's id, which the graph's input calls `field`."""
    entry = part.get(key)
    for item in entry.items() if entry else ():
        if not isinstance(item.node.value, str):
            continue
        for name in _PLACEHOLDER.findall(item.node.value):
            if name != _STORY:
                hint = suggest(name, [_STORY]) or "the only one is {story}"
                item.problem(f"unknown placeholder {{{name}}} in {quote_name(key)}", hint)
        if fault := glob_fault(item.node.value):
            item.problem(f"{quote_glob(item.node.value)} in {quote_name(key)} {fault[0]}", fault[1])
    return tuple(_meant(glob, field) for glob in (entry.as_texts() if entry else ()))


def _meant(glob: str, field: str) -> str:
    """A path as the table means it: `*.go` lies in any folder, and `US-{story}` is the id of the story."""
    mark, rest = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    anywhere = "**/" if "*" in rest and "/" not in rest and not rest.startswith("**") else ""
    return mark + anywhere + rest.replace(_DOUBLED, "{story}").replace("{story}", f"{{{field}}}")


# Whether a story reaches its end when every step passes.


def pass_cycles(passes: Mapping[str, Node]) -> list[list[str]]:
    """Steps that passes lead through for ever; each circle begins and ends with the step that leads back."""
    order = list(passes)
    circles = []
    for start in order:
        way = [start]
        while (step := str(passes[way[-1]].value)) in passes and step not in way:
            way.append(step)
        if step == start and order.index([*way, start][1]) <= order.index(start):
            circles.append([*way, start])
    return list({frozenset(way): way for way in reversed(circles)}.values())


# A strict reader for a step rules table: it reports all problems at once, each with its line.

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
"""The field of a team's task with the story's id."""
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
    modes = top.get("dispatch_mode")
    if modes is not None:
        modes.known(*_SIZES)
    table = RuleTable(
        steps=steps,
        effects=effects,
        dispatch={size: entry.as_choice(_MODES, "single") for size, entry in modes.entries()} if modes else {},
        place=top.node.key_place("dispatch_mode"),
        sized_by=top.name_of("sized_by"),
        team=top.name_of("team"),
        team_passes=top.name_of("team_passes"),
        team_rework=top.name_of("team_rework"),
        done=top.text("done", "@end:Done"),
        max_rework=top.whole("max_rework", _REWORK, least=1),
    )
    _refuse_unknown_names(table, top)
    log.settle(node.place.file)
    return table


def _rule(part: Part, others: list[str]) -> StepRule:
    human = part.flag("requires_human")
    part.known(*_SEED, *_OWN, *_COPIED)
    if part.name == DONE:
        part.problem("'done' is the end of a story, not a row", "remove it; `done:` names the step that stands for it")
    if part.name == STUCK or part.name.startswith((SKIPPABLE, CONFIRM)) or part.name.endswith(REWORK):
        message = f"{quote_name(part.name)} is the name of a question that the table gives rise to"
        part.problem(message, "rename the step")
    if human:
        _refuse_executor_keys(part)
    gates, command = part.get("gates"), part.get("post_check")
    if gates is not None:
        gates.known("pass", "failing", "needs_human")
    for name in checks.items() if (checks := part.get("fails_by")) else ():
        if name.as_text() not in CHECKS:
            hint = suggest(name.as_text(), CHECKS) or "write the name of a check of its `gates`"
            name.problem(f"{quote_name(name.as_text())} is not a check", hint)
    return StepRule(
        name=part.name,
        place=part.log.places[part.path],
        human=human,
        confirmed=part.flag("confirm") and not human,
        passes=_passes(part, others),
        fails=_fails(part, human),
        attempts=part.whole("max_attempts", 1, least=1),
        minutes=part.whole("timeout_min", 0 if human else 5, least=0 if human else 1),
        reads=read_globs(part, "claude_reads"),
        writes=read_globs(part, "claude_writes"),
        amends=read_globs(part, "amends"),
        stubs_for=part.name_of("stubs_for"),
        post_check=command.as_text() if command and command.node.value is not None else "",
        role=part.text("role", "executor"),
        pass_exit=part.name_of("pass", WORD, "pass"),
        fail_exit=part.name_of("failing", WORD, "failing"),
        gates={key: entry.node for key, entry in gates.entries()} if gates else {},
        fails_by=part.texts("fails_by"),
        needs=part.texts("needs"),
        skippable=part.flag("skippable"),
        copied={key: entry.node for key in _COPIED if (entry := part.get(key))},
        team={name: _team_role(entry) for name, entry in part.named("team_roles", NAME)},
        keys=part.node.keys,
    )


def _refuse_executor_keys(part: Part) -> None:
    """Report keys without a meaning in a step that asks a person: it has no executor. Empty values are allowed."""
    for key in part.node.keys:
        entry = part.get(key)
        if key not in (*_HUMAN, "requires_human", "timeout_min") and entry and entry.node.value not in (None, [], {}):
            hint = "remove it; a person who only lets an executor begin is asked by `confirm: true`"
            entry.problem(f"{quote_name(key)} has no meaning in a step that asks a person", hint)


def _passes(part: Part, others: list[str]) -> Node:
    entry = part.get("next_on_pass")
    if entry is None:
        hint = suggest(part.name, others) or "a new step says `next_on_pass:`"
        part.problem(f"nothing follows a pass of {quote_name(part.name)}", hint)
        return Node(DONE, part.node.place)
    return Node(entry.as_text(DONE), entry.node.place)


def _fails(part: Part, human: bool) -> dict[str, Node]:
    """Where failures lead. A11: `next_on_fail` is the default row; an executor's own step is, if neither is there."""
    table = part.get("on_fail")
    rows = {}
    for reason, entry in table.entries() if table else ():
        if reason not in (known := ("default", *REASONS)):
            hint = suggest(reason, known) or f"known: {', '.join(known)}"
            entry.problem(f"unknown reason {quote_name(reason)}", hint)
        rows[reason] = Node(entry.as_text(), entry.node.place)
    other = part.get("next_on_fail")
    if other is not None and rows.get("default", other.node).value != other.node.value:
        other.problem("'next_on_fail' and 'on_fail.default' disagree", "keep one of them")
    default = rows.pop("default", None) or (Node(other.as_text(), other.node.place) if other else None)
    if default is None and human:
        part.problem("nothing follows a rejection", "add `on_fail: {default: STEP}`")
    return {"default": default or Node(part.name, part.node.place), **rows}


def _team_role(part: Part) -> TeamRole:
    part.known(*_TEAM_ROLE)
    gates = part.get("gates")
    return TeamRole(
        place=part.node.place,
        reads=read_globs(part, "claude_reads", _TASKS_STORY),
        writes=read_globs(part, "claude_writes", _TASKS_STORY),
        hidden=read_globs(part, "hidden", _TASKS_STORY),
        gates=gates.node if gates else None,
        advisory=part.flag("advisory"),
    )


def _effect(part: Part) -> Effect:
    part.demand(f"the effect {quote_name(part.name)}", "after", "effect", "exit")
    return Effect(
        name=part.name,
        place=part.log.places[part.path],
        after=part.name_of("after"),
        exit=part.name_of("exit", WORD, "?"),
        copied={key: entry.node for key, entry in part.entries() if key not in ("after", "exit")},
    )


def _refuse_unknown_names(table: RuleTable, top: Part) -> None:
    """Every name that is not a step of the table is a finding; the graph's own steps are named by `done` and `team`."""
    for rule in table.steps.values():
        for node in (rule.passes, *rule.fails.values()):
            _refuse_unknown_step(node, table, f"steps.{rule.name}", top.log, DONE)
        _refuse_unknown_step(
            Node(rule.stubs_for, rule.keys.get("stubs_for", rule.place)), table, f"steps.{rule.name}", top.log
        )
    passes = {rule.name: rule.passes for rule in table.steps.values() if rule.name != DONE}
    for way in pass_cycles(passes):
        message = f"passes lead from {' to '.join(way)}, and so never to {quote_name(DONE)}"
        hint = f"let `next_on_pass` of one of them lead on to {DONE}"
        top.log.add(passes[way[0]].place, f"steps.{way[0]}", message, hint)
    for effect in table.effects.values():
        _refuse_unknown_step(Node(effect.after, effect.place), table, f"effects.{effect.name}", top.log)
    if table.sized_by:
        _refuse_unknown_step(Node(table.sized_by, top.node.key_place("sized_by")), table, "sized_by", top.log)
    if sum(bool(rule.team) for rule in table.steps.values()) > 1:
        top.problem("more than one step has 'team_roles'", "a team works on one step")
    if any(mode != "single" for mode in table.dispatch.values()) and not table.has_team:
        hint = "add `team_roles:` to a step, `sized_by:` (who sizes a story) and `team:` (where it starts)"
        top.log.add(table.place, "dispatch_mode", "a team is asked for, and nothing says how it starts", hint)


def _refuse_unknown_step(node: Node, table: RuleTable, path: str, log: Log, *others: str) -> None:
    known = (*table.steps, *others)
    if isinstance(node.value, str) and node.value and node.value not in known:
        hint = suggest(node.value, known) or f"its steps: {', '.join(known)}"
        log.add(node.place, path, f"{quote_name(node.value)} is not a step of the rules table", hint)
