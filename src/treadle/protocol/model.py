"""The protocol model: frozen, JSON in and out, pinned by its digest.

A protocol is graphs of steps; a step leaves by a typed exit; a table routes each exit. Everything here is data. The
kernel interprets it, the checker proves things about it, the drawer prints it. Shorthand, includes, overlays and cloned
gates are gone by the time a `Protocol` exists: the loader resolves them.
"""

from collections.abc import Iterable
from functools import cache, cached_property
from typing import Final, Literal, NamedTuple

import msgspec

Authority = Literal["agent", "git", "tests", "kernel", "api", "manifest"]
"""The source of a field. The agent fills in `agent` fields only; the orchestrator computes the rest."""
Routing = Literal["", "value", "items", "asked"]
Severity = Literal["INFO", "WARN", "BLOCKER"]
Proof = Literal["", "red", "green", "approval", "contract", "plan"]
Kind = Literal["agent", "effect", "check", "ask", "map"]
Perm = Literal["read_files", "list_dirs", "read_code", "run_commands", "modify", "web"]
Recipient = Literal["parent", "siblings", "children", "sender"]

PERMS: Final[tuple[Perm, ...]] = ("read_files", "list_dirs", "read_code", "run_commands", "modify", "web")
"""Γ₁ … Γ₆, in order."""
HELD: Final[tuple[Perm, ...]] = ("run_commands", "modify", "web")
"""The permissions that an agent's program can withhold from a role; every role may read."""
SYSTEM_EXITS: Final = ("!timeout", "!crash", "!invalid", "!gate", "!exhausted", "!blocked", "!store", "!limit")
"""The exits of an activity besides those its step declares."""
ABORTED: Final = "Aborted"
"""The outcome a person's abort gives to any instance; never a good one."""
CHECK_EXITS: Final = ("Passed", "Failed")
MAP_EXITS: Final = ("AllOk", "SomeFailed")


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of everything that is part of a protocol."""


class Field(Model, frozen=True, kw_only=True):
    """One field of an exit or a record."""

    type: str
    by: Authority = "agent"
    """Its source: the agent, the runtime (`kernel`: `runtime.claims.own_fields`), or the verification or the effect."""
    route: Routing = ""
    help: str = ""
    also: tuple[str, ...] = ()


class Record(Model, frozen=True, kw_only=True):
    """A named record type; `key` names the field that identifies an item in a list of them."""

    fields: dict[str, Field]
    key: str = "id"
    help: str = ""
    apart: tuple[str, ...] = ()
    """Fields with paths: none may be the same as a later one, or lie inside of it."""
    refers: str = ""
    """The field with the keys of other items of the same list, which must exist and not refer back in a circle."""
    criterion_by: tuple[str, ...] = ()
    """Fields that together describe an item's duty: without listed criteria, the item itself is one, by its key."""


class Exit(Model, frozen=True, kw_only=True):
    """A typed way to leave a step. `route_on` names the enum field that refines the routing key."""

    fields: dict[str, Field] = {}
    route_on: str = ""
    severity: Severity = "INFO"
    route_hint: str = ""
    proves: Proof = ""
    proves_when: str = ""
    """A guard over its routed fields: with other values it proves nothing."""
    symbol: str = ""
    help: str = ""
    also: tuple[str, ...] = ()


class Mode(Model, frozen=True, kw_only=True):
    """One way in which a role is invoked."""

    template: str = ""
    exits: tuple[str, ...] = ()
    symbol: str = ""
    help: str = ""


class Role(Model, frozen=True, kw_only=True):
    """The worker of a step: templates, model tiers, permissions and write scope."""

    display: str = ""
    symbol: str = ""
    models: tuple[str, ...] = ("standard",)
    template: str = ""
    modes: dict[str, Mode] = {}
    perms: tuple[Perm, ...] = ("read_files", "list_dirs", "read_code")
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    params: dict[str, str] = {}
    """The parameter line of its prompts: letter → text with `{name}`; unknown parameters are left out."""
    interactive: bool = False


class CheckRef(Model, frozen=True, kw_only=True):
    """A mechanical check by name; an advisory one reports but never refuses."""

    name: str
    arg: str = ""
    advisory: bool = False


class Need(Model, frozen=True, kw_only=True):
    """A slot that a step reads: `step.Exit`, `step.Exit?` (optional), `step.Exit*` (all of them), `up.…` (a parent's).

    `!crash?` (no step) is the report of the system exit that led here.
    """

    exit: str
    step: str = ""
    up: bool = False
    optional: bool = False
    every: bool = False

    def __str__(self) -> str:
        path = ".".join(part for part in ("up" if self.up else "", self.step, self.exit) if part)
        return path + ("?" if self.optional else "*" if self.every else "")

    @property
    def slot(self) -> str:
        return f"{self.step}.{self.exit}" if self.step else self.exit


class Wait(Model, frozen=True, kw_only=True):
    """A condition for the start of a step: a group of children, or a person's `go`."""

    kind: Literal["group", "manual"]
    group: str = ""


class Thread(Model, frozen=True, kw_only=True):
    """Which conversation an agent step continues: a new one, or that of a step (resumed or forked)."""

    kind: Literal["new", "resume", "fork"] = "new"
    step: str = ""
    up: bool = False
    degrade: Literal["payloads", "fail"] = "payloads"


class Spawn(Model, frozen=True, kw_only=True, tag="spawn"):
    """Reconcile a group of children with the items of a field, by key."""

    group: str
    graph: str
    over: str


class Send(Model, frozen=True, kw_only=True, tag="send"):
    """Post a signal; its data is the payload of the exit that is being routed."""

    signal: str
    to: Recipient


class Tier(Model, frozen=True, kw_only=True, tag="tier"):
    """Move the role of this step to a stronger model."""

    by: int = 1


class ResetThread(Model, frozen=True, kw_only=True, tag="reset_thread"):
    """Forget the conversation of a step (default: the step being left)."""

    step: str = ""


class CancelGroup(Model, frozen=True, kw_only=True, tag="cancel"):
    """Finish all live children of a group."""

    group: str


Action = Spawn | Send | Tier | ResetThread | CancelGroup


class Route(Model, frozen=True, kw_only=True):
    """One row: the target of an exit, its guard, and the actions on the way."""

    to: str
    do: tuple[Action, ...] = ()
    when: str = ""
    charge: str = ""
    over: str = ""
    """Where the edge leads instead once the budget it charges is spent (filled in by the loader)."""
    fresh: bool = False
    sync: bool = False
    sets: dict[str, str] = {}


Rows = tuple[Route, ...]


class Becomes(Model, frozen=True, kw_only=True):
    """The exit that replaces a retry once the attempts are spent."""

    key: str
    when: str = ""


class Step(Model, frozen=True, kw_only=True):
    """One row group of the protocol: its worker, its exits, and their routes."""

    kind: Kind
    title: str = ""
    symbol: str = ""
    exits: tuple[str, ...] = ()
    routes: dict[str, Rows] = {}
    wait: tuple[Wait, ...] = ()
    needs: tuple[Need, ...] = ()
    prio: int = 2
    row: str = ""
    """The row of a step rules table that it belongs to; people who read the table locate the work by this name."""
    # agent, effect, check
    gates: dict[str, tuple[CheckRef, ...]] = {}
    attempts: int = 1
    becomes: tuple[Becomes, ...] = (Becomes(key="!exhausted"),)
    pools: tuple[str, ...] = ()
    timeout: int = 1800
    lane: str = "main"
    # agent
    role: str = ""
    mode: str = ""
    template: str = ""
    nudge_after: int = 60
    nudges: int = 1
    thread: Thread = Thread()
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None
    stubs: tuple[str, ...] = ()
    """Globs where it may add stubs as well, and nothing but stubs."""
    keep_work: bool = False
    estimate: tuple[int, int, int, int] | None = None
    """Tokens read (low, high) and written (low, high), as a reference for people."""
    # effect, check
    effect: str = ""
    keep_commits: bool = False
    """A merge that leaves the instance's commits as they are, each for itself, instead of making one of them."""
    checks: tuple[CheckRef, ...] = ()
    # ask
    asks: Literal["", "human", "parent"] = ""
    signal: str = ""
    choices: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    """Choices that require a note: an empty one is refused."""
    waives: tuple[str, ...] = ()
    """Choices by which a person lets criteria pass that are not verified; the evidence records it."""
    remind: int = 0
    default: str = ""
    default_after: int = 0
    skippable: bool = False
    # map
    graph: str = ""
    over: str = ""
    """The items: `in.field`, or `step.Exit.field`. Empty: one child with this instance's own input (a call)."""
    window: str = ""
    """How many at once: a number, or `in.field`. Empty: all."""
    after: str = ""
    keep_going: bool = False
    keep_done: bool = False
    """Entered again: items that ended well and have not changed are not started anew."""

    @property
    def input_list(self) -> str:
        """The field of the input that a map goes over; empty if it goes over something else."""
        return self.over.removeprefix("in.") if self.over.startswith("in.") else ""


class Handler(Model, frozen=True, kw_only=True):
    """A signal that may interrupt an instance at a safe point."""

    step: str
    prio: int = 1
    coalesce: bool = False
    reply: bool = False
    preempt: int = -1
    """Seconds a running activity may go on after the signal: -1 until it ends by itself, 0 not at all."""


class Budget(Model, frozen=True, kw_only=True):
    """A limit on how often a run may take the edges that charge it."""

    max: int
    to: str
    resets: tuple[str, ...] = ()


class Errand(Model, frozen=True, kw_only=True):
    """Where the first word after a command leads: to the first of some steps, or to one for an item of its map."""

    word: str
    to: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Other spellings of the word."""
    item: str = ""
    """The meaning of the second word, which names an item of one of these maps; empty if there is no second word."""


class Only(Model, frozen=True, kw_only=True):
    """The one step of a graph that a run does, and the next step that it leaves undone."""

    step: str
    then: str = ""
    """The name of the next step, as people know it; empty if nothing is left."""


class Graph(Model, frozen=True, kw_only=True):
    """A set of steps that one instance walks through."""

    start: str
    steps: dict[str, Step]
    ends: dict[str, tuple[Need, ...]]
    """Outcomes, each with the slots that must be there (and the exits it accepts)."""
    title: str = ""
    input: tuple[str, str] = ("input", "")
    """Name in templates, and type."""
    handlers: dict[str, Handler] = {}
    budgets: dict[str, Budget] = {}
    system: dict[str, Rows] = {}
    ok: dict[str, tuple[str, ...]] = {}
    """Which outcomes of a child count as success, by group (a map step's group has its name)."""
    vars: dict[str, int | str | bool] = {}
    commands: dict[str, str | tuple[Errand, ...]] = {}
    """Aliases of `treadle go` for this graph: `/p` → a step, or the choices for its first word."""
    dialogue: str = ""
    """The kind of dialogue that an instance's agents have: `plan_loop`; empty: named after the graph."""
    only: Only | None = None
    """The remaining step of a graph that was cut for a run; no file sets it."""

    @property
    def commanded(self) -> tuple[str, ...]:
        """The steps that commands lead to."""
        return tuple(dict.fromkeys(step for steps in self.led.values() for step in steps))

    @property
    def itemized(self) -> tuple[str, ...]:
        """The maps with items that a command can name."""
        errands = [errand for goal in self.commands.values() if not isinstance(goal, str) for errand in goal]
        return tuple(dict.fromkeys(step for errand in errands if errand.item for step in errand.to))

    @property
    def led(self) -> dict[str, tuple[str, ...]]:
        """Command → the steps that it leads to."""
        found = {}
        for name, goal in self.commands.items():
            found[name] = (goal,) if isinstance(goal, str) else tuple(step for errand in goal for step in errand.to)
        return found


class Limits(Model, frozen=True, kw_only=True):
    """The limits of a run; a person is asked before it exceeds them."""

    depth: int = 4
    children: int = 8
    instances: int = 200
    agents: int = 8
    infra_retries: int = 2
    cost: float = 0.0
    tokens: int = 0
    wall: int = 0


class Artifact(Model, frozen=True, kw_only=True):
    """A file that the protocol is about: its writer, and the view it is generated from."""

    path: str
    writer: str
    symbol: str = ""
    view: str = ""
    help: str = ""
    delivered: bool = True
    """Whether the result of a run carries it; if not, it is a working paper of the run."""


class Protection(Model, frozen=True, kw_only=True):
    """Ψ: how careful a change to these paths must be (1–3 proceed, 4–6 ask a person)."""

    glob: str
    level: int


class Protocol(Model, frozen=True, kw_only=True, dict=True):
    """A whole protocol. Two protocols with the same digest behave the same."""

    name: str
    version: str
    root: str
    title: str = ""
    help: str = ""
    types: dict[str, Record] = {}
    exits: dict[str, Exit] = {}
    roles: dict[str, Role] = {}
    graphs: dict[str, Graph] = {}
    pools: dict[str, int] = {}
    limits: Limits = Limits()
    artifacts: dict[str, Artifact] = {}
    protections: tuple[Protection, ...] = ()
    toolchain: tuple[str, ...] = ()
    templates: dict[str, str] = {}
    """Path below `templates/` → text; this makes a pinned protocol complete."""

    @cached_property
    def routing_keys(self) -> dict[str, dict[str, frozenset[str]]]:
        """Graph → step → the keys its own exits can produce."""
        return {
            name: {step: frozenset(exit_keys(self, graph.steps[step])) for step in graph.steps}
            for name, graph in self.graphs.items()
        }

    @cached_property
    def checks_of_exit(self) -> dict[str, dict[str, dict[str, tuple[CheckRef, ...]]]]:
        """Graph → step → routing key → the checks of the gate; a key without an entry needs no verification."""
        return {
            name: {step: _gates_by_key(self, graph.steps[step]) for step in graph.steps}
            for name, graph in self.graphs.items()
        }

    @cached_property
    def histories(self) -> dict[str, frozenset[str]]:
        """Graph → the slots with all their values in some step's needs (`step.Exit*`)."""
        return {
            name: frozenset(
                need.slot
                for other in self.graphs.values()
                for step in other.steps.values()
                for need in step.needs
                if need.every and (need.up or other is graph)
            )
            for name, graph in self.graphs.items()
        }


def _gates_by_key(protocol: Protocol, step: Step) -> dict[str, tuple[CheckRef, ...]]:
    """Routing key → the checks of the exit's gate; none, if verifying the claim only computes fields."""
    if step.kind not in ("agent", "effect"):
        return {}
    found: dict[str, tuple[CheckRef, ...]] = {}
    for key in exit_keys(protocol, step):
        checks = step.gates.get(key) or step.gates.get(tag_of(key)) or ()
        fields = protocol.exits[tag_of(key)].fields.values() if tag_of(key) in protocol.exits else ()
        computed = step.kind == "agent" and any(field.by not in ("agent", "kernel") for field in fields)
        if checks or computed:
            found[key] = checks
    return found


class Target(NamedTuple):
    """A parsed target of a route."""

    kind: Literal["step", "redirect", "resume", "end"]
    name: str


@cache
def target(text: str) -> Target:
    """Parse a target: `step`, `^step`, `@resume`, `@end:Outcome`."""
    if text == "@resume":
        return Target("resume", "")
    if text.startswith("@end:"):
        return Target("end", text[5:])
    if text.startswith("^"):
        return Target("redirect", text[1:])
    return Target("step", text)


@cache
def tag_of(key: str) -> str:
    """`Stuck.SkillCeiling` → `Stuck`, `!gate.red` → `!gate`."""
    return key.partition(".")[0]


def base_of(step: str) -> str:
    """The step a gate was cloned from: `stuck@impl` → `stuck`."""
    return step.partition("@")[0]


def row(graph: Graph, step: str, key: str) -> Rows | None:
    """The rows that apply to an exit of a step, or None.

    The step's own row for the key, then for its tag. A system exit without one: a step that has attempts left to
    spend tries again after `!gate` and `!invalid`; then the graph's row, `!blocked` and `!store` falling back to
    `!crash`'s; then `!*`.
    """
    definition = graph.steps[step]
    if own := own_row(definition, key):
        return definition.routes[own]
    if not key.startswith("!"):
        return None
    return (Route(to=step),) if retries_by_default(definition, key) else graph.system.get(system_row(graph, key))


def own_row(step: Step, key: str) -> str:
    """The key of the step's own row for an exit; empty if it has none."""
    names = (key, tag_of(key), "!*") if key.startswith("!") else (key, tag_of(key))
    return next((name for name in names if name in step.routes), "")


def retries_by_default(step: Step, key: str) -> bool:
    """Whether a system exit without a row of the step's own leads to the next attempt."""
    return tag_of(key) in ("!gate", "!invalid") and step.attempts > 1


def system_row(graph: Graph, key: str) -> str:
    """The key of the graph's own row for a system exit; empty if it has none."""
    tag = tag_of(key)
    names = (key, tag, "!crash", "!*") if tag in ("!blocked", "!store") else (key, tag, "!*")
    return next((name for name in names if name in graph.system), "")


def exit_keys(protocol: Protocol, step: Step) -> tuple[str, ...]:
    """The routing keys that a step's own exits can produce, refined by `route_on` where its enum is known."""
    if step.kind == "ask":
        return tuple(step.routes)
    if step.kind == "check":
        return CHECK_EXITS
    if step.kind == "map":
        return MAP_EXITS
    keys: list[str] = []
    for name in step.exits:
        exit_ = protocol.exits.get(name)
        if exit_ is None or exit_.route_on not in exit_.fields:
            keys.append(name)
            continue
        keys += [f"{name}.{value}" for value in exit_.fields[exit_.route_on].type.rstrip("?").split(" | ")]
    return tuple(keys)


def system_keys(step: Step) -> tuple[str, ...]:
    """The system exits that can happen to a step; an exit that starts children can be refused like one with gates."""
    rows = step.routes.values()
    gated = bool(step.gates) or any(isinstance(action, Spawn) for row in rows for route in row for action in route.do)
    match step.kind:
        case "agent":
            return tuple(k for k in SYSTEM_EXITS if k != "!gate" or gated)
        case "effect":
            return tuple(k for k in ("!timeout", "!crash", "!gate", "!exhausted") if k != "!gate" or gated)
        case "check":
            return ("!timeout", "!crash")
        case "map":
            return ("!limit",)
        case "ask":
            return ()


# Signals: those that a protocol sends itself, and those that may come from outside.

News = Literal["none", "may", "must"]
"""Whether a text comes with a signal from outside."""


def sent_signals(graphs: Iterable[Graph]) -> frozenset[str]:
    """The signals that some graph sends or asks; all others come from outside."""
    found: set[str] = set()
    for graph in graphs:
        rows = [row for step in graph.steps.values() for rows in step.routes.values() for row in rows]
        rows += [row for rows in graph.system.values() for row in rows]
        found |= {action.signal for row in rows for action in row.do if isinstance(action, Send)}
        found |= {step.signal for step in graph.steps.values() if step.kind == "ask"}
    return frozenset(found)


def outside_signals(protocol: Protocol, graph: str) -> dict[str, News]:
    """Return the signals that may come to an instance from outside, and whether each carries a text.

    Only the kernel reports on children, and the sender of a question must be there to receive the answer. The data of a
    signal that the protocol itself sends has a form that its steps rely on, so from outside it comes without data.
    """
    own = sent_signals(protocol.graphs.values())
    found: dict[str, News] = {}
    for name, handler in protocol.graphs[graph].handlers.items():
        if name.startswith("child:") or handler.reply:
            continue
        is_read = protocol.graphs[graph].steps[handler.step].kind in ("agent", "ask")
        found[name] = "none" if name in own else "must" if is_read else "may"
    return found


def find_step(protocol: Protocol | None, graph: str, step: str) -> Step | None:
    """Return a step that a log names; None if this version of the protocol does not have it."""
    declared = protocol.graphs.get(graph) if protocol else None
    return declared.steps.get(step) if declared else None


# The name by which people know an exit.


def exit_name(protocol: Protocol | None, tag: str) -> str:
    """A kind of another exit by that one's name, which agents use too: `pass_red`, also accepted as `pass`, is a pass.

    Any other name that an exit is also accepted by is a spelling, and people know it by its own.
    """
    declared = protocol.exits.get(tag) if protocol else None
    kinds = (name for name in declared.also if tag.startswith(f"{name}_")) if declared else ()
    return next(iter(kinds), tag)
