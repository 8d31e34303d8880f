"""Check 3, the graphs and steps: every name that a row, a need or a step mentions exists."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from treadle.protocol.checks.declarations import declarations_hold_together
from treadle.protocol.checks.subject import Flow, Places, ProtocolSubject, RowTable, agents, step_path
from treadle.protocol.findings import Finding, Place, suggest
from treadle.protocol.model import (
    ABORTED,
    SYSTEM_EXITS,
    CancelGroup,
    CheckRef,
    Graph,
    Need,
    Protocol,
    ResetThread,
    Spawn,
    Step,
    base_of,
    exit_keys,
    tag_of,
    target,
)
from treadle.protocol.vocabulary import CHECKS, EFFECTS

# The fault of an unknown name, in the same words everywhere.

NameFault = tuple[str, str, str, str]
"""Where, dotted path, message, hint."""


def unknown_name(where: str, path: str, verb: str, what: str, name: str, known: Iterable[str]) -> Iterator[NameFault]:
    """Nothing if the name is known, else one fault with the nearest known name."""
    names = list(known)
    if name in names:
        return
    if what == "step" and (copies := [other for other in names if base_of(other) == name]):
        yield where, path, f"{verb} '{name}', {clone_fault(copies)[0]}", clone_fault(copies)[1]
        return
    offered = authored_names(names) if what == "step" else names
    listed = f"known: {', '.join(sorted(offered)[:8])}" if offered else f"there is no {what} here"
    yield where, path, f"{verb} unknown {what} '{name}'", suggest(name, offered) or listed


def authored_names(steps: Iterable[str]) -> list[str]:
    """Steps as the file calls them: a gate with `@back` once, not once per caller."""
    return list(dict.fromkeys(map(base_of, steps)))


def clone_fault(copies: list[str]) -> tuple[str, str]:
    """Return the message and the hint for a reference to a cloned gate as if it were one step."""
    return "which leads @back and is a step of its own for each caller", f"name the caller as well: `{copies[0]}`"


def graph_names_exist(subject: ProtocolSubject) -> Iterator[Finding]:
    """3. Targets, outcomes, budgets, groups, graphs, variables and slots exist."""
    for flow in subject.flows.values():
        for where, path, message, hint in _graph_faults(subject, flow):
            yield subject.finding(3, where, path, message, hint)


def _graph_faults(subject: ProtocolSubject, flow: Flow) -> Iterator[NameFault]:
    graph, path = flow.graph, f"graphs.{flow.name}"
    yield from unknown_name(flow.name, f"{path}.start", "starts at", "step", graph.start, graph.steps)
    if not graph.ends:
        yield flow.name, path, "has no ends", "add `ends: {Outcome: []}`"
    kind = graph.input[1]
    if kind:
        yield from unknown_name(flow.name, f"{path}.input", "is given", "type", kind, subject.protocol.types)
    for signal, handler in graph.handlers.items():
        place = f"{path}.handlers.{signal}"
        yield from unknown_name(flow.name, place, f"handles '{signal}' at", "step", handler.step, graph.steps)
    for name, budget in graph.budgets.items():
        clones = () if budget.to.startswith("^") else map(base_of, graph.steps)
        yield from _target_faults(graph, flow.name, f"{path}.budgets.{name}", f"budget '{name}'", budget.to, clones)
        for reset in budget.resets:
            place = f"{path}.budgets.{name}.resets"
            yield from unknown_name(flow.name, place, f"budget '{name}' is refilled at", "step", reset, graph.steps)
    for command, goals in graph.led.items():
        for goal in goals:
            yield from unknown_name(flow.name, f"{path}.commands", f"'{command}' goes to", "step", goal, graph.steps)
    yield from _errand_faults(flow, f"{path}.commands")
    for table in flow.tables:
        yield from _row_faults(subject, flow, table)
    for outcome, needs in graph.ends.items():
        for need in needs:
            yield from _need_faults(subject, flow, flow.name, f"{path}.ends.{outcome}", need)
    for name, step in graph.steps.items():
        where, place = f"{flow.name}.{base_of(name)}", f"{step_path(flow.name, name)}.needs"
        for need in step.needs:
            yield from _need_faults(subject, flow, where, place, need)


def _errand_faults(flow: Flow, path: str) -> Iterator[NameFault]:
    """A word after a command leads to one step; only the items of maps make it more."""
    others = {name for name, step in flow.graph.steps.items() if step.kind != "map" or not step.over}
    for command, goal in flow.graph.commands.items():
        for errand in goal if not isinstance(goal, str) else ():
            what, place = f"'{command} {errand.word}'", f"{path}.{command}.{errand.word}"
            unmapped = [step for step in errand.to if step in others]
            if errand.item and unmapped:
                hint = "name map steps with `over`, or leave `item` out"
                yield flow.name, place, f"{what} names an item of {', '.join(unmapped)}, which maps nothing", hint
            if not errand.item and len(errand.to) > 1:
                hint = "name one step, or with `item` what tells them apart"
                yield flow.name, place, f"{what} leads to several steps at once", hint


def _row_faults(subject: ProtocolSubject, flow: Flow, table: RowTable) -> Iterator[NameFault]:
    graph = flow.graph
    _, key, rows, where, path = table
    for way in rows:
        yield from _target_faults(graph, where, path, key, way.to)
        if way.charge:
            yield from unknown_name(where, path, f"{key} charges", "budget", way.charge, graph.budgets)
            if way.over:
                yield from _target_faults(graph, where, path, f"{key}, once '{way.charge}' is spent,", way.over)
        for variable in way.sets:
            yield from unknown_name(where, path, f"{key} sets", "variable", variable, graph.vars)
        for action in way.do:
            match action:
                case Spawn(graph=child):
                    yield from unknown_name(where, path, f"{key} spawns", "graph", child, subject.protocol.graphs)
                case CancelGroup(group=group):
                    groups = [site.group for site in flow.sites]
                    yield from unknown_name(where, path, f"{key} cancels", "group", group, groups)
                case ResetThread(step=step) if step:
                    yield from unknown_name(where, path, f"{key} resets the thread of", "step", step, agents(graph))


def _target_faults(
    graph: Graph, where: str, path: str, what: str, text: str, also: Iterable[str] = ()
) -> Iterator[NameFault]:
    goal = target(text)
    if goal.kind == "end" and goal.name not in (*graph.ends, ABORTED):
        yield from unknown_name(where, path, f"{what} leads to", "outcome", goal.name, graph.ends)
    if goal.kind in ("step", "redirect") and goal.name not in (*graph.steps, *also):
        yield from unknown_name(where, path, f"{what} leads to", "step", goal.name, graph.steps)


def _need_faults(subject: ProtocolSubject, flow: Flow, where: str, path: str, need: Need) -> Iterator[NameFault]:
    if not need.step:
        if need.exit != "!*" and tag_of(need.exit) not in SYSTEM_EXITS:
            yield from unknown_name(where, path, "reads", "system exit", need.exit, ("!*", *SYSTEM_EXITS))
        elif not need.optional:
            yield where, path, f"reads '{need}', which is there only after that failure", f"write '{need.exit}?'"
        return
    if "." in need.exit:
        message = f"reads '{need}', but a slot holds every variant of an exit"
        yield where, path, message, f"write '{need.step}.{tag_of(need.exit)}?'"
        return
    owners = [subject.flows[graph] for graph in (subject.parents(flow.name) if need.up else [flow.name])]
    steps = [name for owner in owners for name in owner.graph.steps]
    if not owners:
        return  # a graph that nothing starts has no parent to read from
    if need.step not in steps:
        yield from unknown_name(where, path, f"reads '{need}' of", "step", need.step, steps)
        return
    known: list[str] = []
    for owner in owners:
        if need.step in owner.graph.steps:
            known += dict.fromkeys(map(tag_of, exit_keys(owner.protocol, owner.graph.steps[need.step])))
    if need.exit not in known:
        hint = suggest(need.exit, known) or f"'{need.step}' leaves by {', '.join(known) or 'nothing'}"
        yield where, path, f"reads '{need}', but '{need.step}' has no exit '{need.exit}'", hint


# Check 3, the steps: the role, templates, inputs and other parts that each kind of step names exist.

POOL_OWNERS: Final = ("self", "parent", "run")


def step_names_exist(subject: ProtocolSubject) -> Iterator[Finding]:
    """3. Roles, modes, exits, templates, checks, effects, pools, choices and threads exist."""
    for flow, name, step in subject.steps():
        place = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
        for where, path, message, hint in (
            *_step_faults(subject, *place, step),
            *_kind_faults(subject, flow, *place, step),
        ):
            yield subject.finding(3, where, path, message, hint)


def _step_faults(subject: ProtocolSubject, where: str, path: str, step: Step) -> Iterator[NameFault]:
    protocol = subject.protocol
    for pool in step.pools:
        owner, _, name = pool.rpartition(":")
        yield from unknown_name(where, f"{path}.pools", "holds", "pool", name, protocol.pools)
        if owner not in POOL_OWNERS:
            hint = f"write {' or '.join(repr(f'{one}:{name}') for one in POOL_OWNERS)}"
            yield where, f"{path}.pools", f"holds pool '{pool}', which does not say whose", hint
    for exit_ in step.exits:
        yield from unknown_name(where, f"{path}.exits", "leaves by", "exit", exit_, protocol.exits)
    for key, checks in step.gates.items():
        yield from _check_faults(where, f"{path}.gates.{key}", checks)
    role = protocol.roles.get(step.role)
    inherited = (role.template, *(mode.template for mode in role.modes.values())) if role else ()
    if step.template and step.template not in inherited:  # those are looked up with the role
        yield from unknown_name(where, f"{path}.template", "uses", "template", step.template, protocol.templates)
    if step.kind in ("agent", "effect") and not step.exits:
        yield where, path, "has no exits", "add `exits`, the ways in which its work can come out"


def _kind_faults(subject: ProtocolSubject, flow: Flow, where: str, path: str, step: Step) -> Iterator[NameFault]:
    match step.kind:
        case "agent":
            yield from _agent_faults(subject, flow, where, path, step)
        case "effect":
            yield from unknown_name(where, f"{path}.effect", "performs", "effect", step.effect, EFFECTS)
            yield from _unverified_faults(subject, flow, where, path, step)
        case "check":
            if not step.checks:
                yield where, path, "runs no checks", "add `checks`"
            yield from _check_faults(where, f"{path}.checks", step.checks)
        case "ask":
            yield from _ask_faults(where, path, step)
            yield from _waiver_faults(flow, where, path, step)
        case "map":
            yield from _map_faults(subject, flow, where, path, step)


def _agent_faults(subject: ProtocolSubject, flow: Flow, where: str, path: str, step: Step) -> Iterator[NameFault]:
    role = subject.protocol.roles.get(step.role)
    yield from unknown_name(where, f"{path}.role", "is done by", "role", step.role, subject.protocol.roles)
    if role is not None and step.mode:
        yield from unknown_name(where, f"{path}.role", f"invokes '{step.role}' in", "mode", step.mode, role.modes)
    if role is not None and not subject.template_of(step):
        yield where, path, "has no template", f"name one here, in the mode, or in role '{step.role}'"
    thread = step.thread
    graphs = subject.parents(flow.name) if thread.up else [flow.name]
    steps = [name for graph in graphs for name in agents(subject.protocol.graphs[graph])]
    if thread.kind != "new" and thread.step and thread.step not in steps and graphs:
        verb, owner = "resumes" if thread.kind == "resume" else "forks", " of the parent" if thread.up else ""
        hint = suggest(thread.step, steps) or "name an agent step"
        yield where, f"{path}.thread", f"{verb} the thread of unknown agent step '{thread.step}'{owner}", hint


def _ask_faults(where: str, path: str, step: Step) -> Iterator[NameFault]:
    for choice in (*step.choices, *((step.default,) if step.default else ())):
        if choice not in step.routes:
            hint = suggest(choice, step.routes) or "add a row for it"
            yield where, f"{path}.choices.{choice}", f"offers '{choice}', which has no row", hint
    for number, choice in enumerate(step.notes):
        yield from unknown_name(where, f"{path}.notes.{number}", "wants a note with", "choice", choice, step.routes)
        if choice and choice == step.default:
            hint = "a default comes without a note: let another choice be the default"
            yield where, f"{path}.notes.{number}", f"wants a note with '{choice}', its own default", hint
    if step.asks == "parent" and not step.signal:
        yield where, path, "asks its parent nothing", "name the `signal` that the parent receives"
    if step.asks == "":
        yield where, path, "asks nobody", "write `ask: human` or `ask: parent`"


def _waiver_faults(flow: Flow, where: str, path: str, step: Step) -> Iterator[NameFault]:
    """Only a person lets unverified work pass, and to no other end than its merge."""
    merges = [name for name, one in flow.graph.steps.items() if one.effect == "merge"]
    for number, choice in enumerate(step.waives):
        yield from unknown_name(where, f"{path}.waives.{number}", "waives by", "choice", choice, step.routes)
        if choice and choice == step.default:
            hint = "only a person may let unverified criteria pass: let another choice be the default"
            yield where, f"{path}.waives.{number}", f"waives by '{choice}', which is its own default", hint
        if any(route.to not in merges for route in step.routes.get(choice, ())):
            hint = f"lead it to {' or '.join(map(repr, merges))}" if merges else "leave `waives` out"
            yield where, f"{path}.waives.{number}", f"waives by '{choice}', which does not lead to a merge", hint


def _unverified_faults(subject: ProtocolSubject, flow: Flow, where: str, path: str, step: Step) -> Iterator[NameFault]:
    """A merge that is refused because criteria are not verified is for a person to decide, or the end."""
    declared = subject.protocol.exits.get("MergeRejected") if step.effect == "merge" else None
    reason = declared.fields.get("reason") if declared else None
    if reason is None or "Unverified" not in reason.type.split(" | "):
        return
    own = "MergeRejected.Unverified" in step.routes
    key = "MergeRejected.Unverified" if own else "MergeRejected"
    for route in step.routes.get(key, ()):
        target = flow.graph.steps.get(route.to)
        # A row of its own leads to a question that can let the work pass; one for all reasons, to any question.
        if target is not None and (target.kind != "ask" or (own and not target.waives)):
            hint = "lead it to a question that has `waives`, or to an end"
            message = f"leads unverified work to '{route.to}', where no person can let it pass"
            yield where, f"{path}.routes.{key}", message, hint


def _map_faults(subject: ProtocolSubject, flow: Flow, where: str, path: str, step: Step) -> Iterator[NameFault]:
    protocol = subject.protocol
    yield from unknown_name(where, f"{path}.map", "starts", "graph", step.graph, protocol.graphs)
    if step.window.startswith("in."):
        name, kind = step.window[3:], flow.graph.input[1]
        yield from _routed_field_faults(protocol, where, f"{path}.window", "takes its window from", name, kind, "true")
    if step.after:
        child = protocol.graphs.get(step.graph)
        kind = child.input[1] if child else ""
        yield from _routed_field_faults(
            protocol, where, f"{path}.after", "orders its items by", step.after, kind, "items"
        )


def _routed_field_faults(
    protocol: Protocol, where: str, path: str, verb: str, name: str, kind: str, route: str
) -> Iterator[NameFault]:
    """Report a field of a record that does not exist, or that the kernel does not see because it is not routed."""
    record = protocol.types.get(kind)
    fields = record.fields if record else {}
    yield from unknown_name(where, path, verb, "field", name, fields)
    if name in fields and not fields[name].route:
        yield where, path, f"{verb} '{name}', which is not routed", f"give it `route: {route}` in type '{kind}'"


def _check_faults(where: str, path: str, checks: Iterable[CheckRef]) -> Iterator[NameFault]:
    for check in checks:
        yield from unknown_name(where, path, "is gated by", "check", check.name, CHECKS)
        wanted = CHECKS[check.name].arg if check.name in CHECKS else ""
        if wanted and not check.arg:
            yield where, path, f"check '{check.name}' needs an argument", f"write '{check.name}:{wanted}'"
        if check.arg and check.name in CHECKS and not wanted:
            yield where, path, f"check '{check.name}' takes no argument", f"write '{check.name}'"


# Unknown names in a file with unreadable parts, reported together with those parts.
#
# Unknown names that follow from an unreadable part are left out: they go away with the mistake, or are reported after
# its repair.

_NAMES: Final = (declarations_hold_together, graph_names_exist, step_names_exist)
_NAMELESS: Final = frozenset({"title", "help", "version", "limits", "protections"})
"""Parts that nothing else in a protocol mentions."""
_SECTIONS: Final = frozenset({"types", "exits", "roles", "pools", "artifacts"})


def unknown_besides(
    protocol: Protocol, misread: Collection[str], places: Mapping[str, Place], place_of: Places
) -> Iterator[Finding]:
    """The names that do not exist, as far as the parts that could not be read have nothing to do with it."""
    owners = [_owner(path) for path in misread]
    if None in owners:
        return
    spoiled: set[Place | None] = set()
    for path in misread:
        parts = path.split(".")
        spoiled |= {places.get(".".join(parts[: count + 1])) for count in range(len(parts))}
    lost = "|".join(re.escape(name) for name in owners if name)
    about_lost = re.compile(rf"'(?:{lost})['.@?]" if lost else r"(?!)")
    subject = ProtocolSubject(protocol, place_of)
    for finding in (one for check in _NAMES for one in check(subject)):
        if finding.place not in spoiled and not about_lost.search(finding.message):
            yield finding


def _owner(path: str) -> str | None:
    """The name that others know the part by; empty if it has none, None if many names may be lost with it."""
    match path.split("."):
        case ["graphs", _, _, name, *_]:
            return name
        case [section, name, *_] if section in _SECTIONS:
            return name
        case [top, *_] if top in _NAMELESS:
            return ""
        case _:
            return None
