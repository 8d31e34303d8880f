"""Check 3, the graphs: whatever a graph, a step or a row refers to exists."""

from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.catalogue import CHECKS, EFFECTS
from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import (
    ABORTED,
    SYSTEM_EXITS,
    CancelGroup,
    CheckRef,
    Graph,
    Need,
    ResetThread,
    Route,
    Spawn,
    Step,
    base_of,
    exit_keys,
    tag_of,
    target,
)

POOL_SCOPES: Final = ("self", "parent", "run")
Fault = tuple[str, str, str, str]
"""Where, dotted path, message, hint."""


def graphs_mention_what_exists(subject: Subject) -> Iterator[Finding]:
    """3. Targets, outcomes, budgets, groups, graphs, roles, exits, pools, templates, checks and effects exist."""
    for flow in subject.flows.values():
        for where, path, message, hint in _graph(subject, flow):
            yield subject.finding(3, where, path, message, hint)


def _graph(subject: Subject, flow: Flow) -> Iterator[Fault]:
    graph, path = flow.graph, f"graphs.{flow.name}"
    yield from _unknown(flow.name, f"{path}.start", "starts at", "step", graph.start, graph.steps)
    if not graph.ends:
        yield flow.name, path, "has no ends", "add `ends: {Outcome: []}`"
    kind = graph.input[1]
    if kind:
        yield from _unknown(flow.name, f"{path}.input", "is given", "type", kind, subject.protocol.types)
    for signal, handler in graph.handlers.items():
        place = f"{path}.handlers.{signal}"
        yield from _unknown(flow.name, place, f"handles '{signal}' at", "step", handler.step, graph.steps)
    for name, budget in graph.budgets.items():
        yield from _target(graph, flow.name, f"{path}.budgets.{name}", f"budget '{name}'", budget.to)
        for reset in budget.resets:
            place = f"{path}.budgets.{name}.resets"
            yield from _unknown(flow.name, place, f"budget '{name}' is refilled at", "step", reset, graph.steps)
    for command, goal in graph.commands.items():
        yield from _unknown(flow.name, f"{path}.commands", f"'{command}' goes to", "step", goal, graph.steps)
    for key, rows in graph.system.items():
        for way in rows:
            yield from _row(subject, flow, flow.name, f"{path}.system.{key}", key, way)
    for outcome, needs in graph.ends.items():
        for need in needs:
            yield from _need(subject, flow, flow.name, f"{path}.ends.{outcome}", need)
    for name, step in graph.steps.items():
        yield from _step(subject, flow, name, step)


def _step(subject: Subject, flow: Flow, name: str, step: Step) -> Iterator[Fault]:
    where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
    protocol = subject.protocol
    for key, rows in step.routes.items():
        for way in rows:
            yield from _row(subject, flow, where, f"{path}.routes.{key}", key, way)
    for need in step.needs:
        yield from _need(subject, flow, where, f"{path}.needs", need)
    for pool in step.pools:
        scope, _, name = pool.rpartition(":")
        yield from _unknown(where, f"{path}.pools", "holds", "pool", name, protocol.pools)
        if scope not in POOL_SCOPES:
            hint = f"write {' or '.join(repr(f'{owner}:{name}') for owner in POOL_SCOPES)}"
            yield where, f"{path}.pools", f"holds pool '{pool}', which does not say whose", hint
    for exit_ in step.exits:
        yield from _unknown(where, f"{path}.exits", "leaves by", "exit", exit_, protocol.exits)
    for key, checks in step.gates.items():
        yield from _checks(where, f"{path}.gates.{key}", checks)
    if step.template:
        yield from _unknown(where, f"{path}.template", "uses", "template", step.template, protocol.templates)
    match step.kind:
        case "agent":
            yield from _agent(subject, flow, where, path, step)
        case "effect":
            yield from _unknown(where, f"{path}.effect", "performs", "effect", step.effect, EFFECTS)
        case "check":
            if not step.checks:
                yield where, path, "runs no checks", "add `checks`"
            yield from _checks(where, f"{path}.checks", step.checks)
        case "ask":
            yield from _ask(where, path, step)
        case "map":
            yield from _map(subject, flow, where, path, step)
    if step.kind in ("agent", "effect") and not step.exits:
        yield where, path, "has no exits", "add `exits`, the ways in which its work can come out"


def _agent(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    role = subject.protocol.roles.get(step.role)
    yield from _unknown(where, f"{path}.role", "is done by", "role", step.role, subject.protocol.roles)
    if role is not None and step.mode:
        yield from _unknown(where, f"{path}.role", f"invokes '{step.role}' in", "mode", step.mode, role.modes)
    if role is not None and not subject.template_of(step):
        yield where, path, "has no template", f"name one here, in the mode, or in role '{step.role}'"
    if step.thread.kind == "new" or not step.thread.step:
        return
    verb = "resumes" if step.thread.kind == "resume" else "forks"
    graphs = subject.parents(flow.name) if step.thread.up else [flow.name]
    steps = [name for graph in graphs if graph in subject.flows for name in agents(subject.flows[graph].graph)]
    if step.thread.step not in steps and (graphs or not step.thread.up):
        owner = " of the parent" if step.thread.up else ""
        hint = suggest(step.thread.step, steps) or "name an agent step"
        yield where, f"{path}.thread", f"{verb} the thread of unknown agent step '{step.thread.step}'{owner}", hint


def _ask(where: str, path: str, step: Step) -> Iterator[Fault]:
    for choice in (*step.choices, *((step.default,) if step.default else ())):
        if choice not in step.routes:
            hint = suggest(choice, step.routes) or "add a row for it"
            yield where, f"{path}.choices.{choice}", f"offers '{choice}', which has no row", hint
    if step.asks == "parent" and not step.signal:
        yield where, path, "asks its parent nothing", "name the `signal` that the parent receives"
    if step.asks == "":
        yield where, path, "asks nobody", "write `ask: human` or `ask: parent`"


def _map(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    protocol = subject.protocol
    yield from _unknown(where, f"{path}.map", "starts", "graph", step.graph, protocol.graphs)
    if step.window.startswith("in."):
        field = step.window[3:]
        known = subject.protocol.types.get(flow.graph.input[1])
        yield from _unknown(
            where, f"{path}.window", "takes its window from", "field", field, known.fields if known else ()
        )
    child = protocol.graphs.get(step.graph)
    if not step.after:
        return
    item = protocol.types.get(child.input[1]) if child else None
    yield from _unknown(where, f"{path}.after", "orders its items by", "field", step.after, item.fields if item else ())
    if item and step.after in item.fields and not item.fields[step.after].route:
        hint = f"give it `route: items` in type '{child.input[1] if child else ''}'"
        yield where, f"{path}.after", f"orders its items by '{step.after}', which is not routed", hint


def _row(subject: Subject, flow: Flow, where: str, path: str, key: str, way: Route) -> Iterator[Fault]:
    graph = flow.graph
    yield from _target(graph, where, path, key, way.to)
    if way.charge:
        yield from _unknown(where, path, f"{key} charges", "budget", way.charge, graph.budgets)
        if way.over:
            yield from _target(graph, where, path, f"{key}, once '{way.charge}' is spent,", way.over)
    for variable in way.sets:
        yield from _unknown(where, path, f"{key} sets", "variable", variable, graph.vars)
    for action in way.do:
        match action:
            case Spawn():
                yield from _unknown(where, path, f"{key} spawns", "graph", action.graph, subject.protocol.graphs)
            case CancelGroup():
                groups = [site.group for site in subject.sites if site.parent == flow.name]
                yield from _unknown(where, path, f"{key} cancels", "group", action.group, groups)
            case ResetThread() if action.step:
                yield from _unknown(where, path, f"{key} resets the thread of", "step", action.step, agents(graph))


def _target(graph: Graph, where: str, path: str, what: str, text: str) -> Iterator[Fault]:
    goal = target(text)
    if goal.kind == "end" and goal.name not in (*graph.ends, ABORTED):
        yield from _unknown(where, path, f"{what} leads to", "outcome", goal.name, graph.ends)
    if goal.kind in ("step", "redirect"):
        steps = dict.fromkeys([*graph.steps, *map(base_of, graph.steps)])
        yield from _unknown(where, path, f"{what} leads to", "step", goal.name, steps)


def _need(subject: Subject, flow: Flow, where: str, path: str, need: Need) -> Iterator[Fault]:
    if not need.step:
        yield from _report(where, path, need)
        return
    if "." in need.exit:
        yield (
            where,
            path,
            f"reads '{need}', but a slot holds every variant of an exit",
            f"write '{need.step}.{tag_of(need.exit)}'",
        )
        return
    graphs = subject.parents(flow.name) if need.up else [flow.name]
    found = [subject.flows[graph] for graph in graphs]
    if need.up and not found:
        return
    steps = [name for other in found for name in other.graph.steps]
    if need.step not in steps:
        yield from _unknown(where, path, f"reads '{need}' of", "step", need.step, steps)
        return
    known = [tag for other in found for tag in slot_tags(other, need.step)]
    if need.exit not in known:
        hint = suggest(need.exit, known) or f"'{need.step}' leaves by {', '.join(known) or 'nothing'}"
        yield where, path, f"reads '{need}', but '{need.step}' has no exit '{need.exit}'", hint


def _report(where: str, path: str, need: Need) -> Iterator[Fault]:
    if need.exit != "!*" and tag_of(need.exit) not in SYSTEM_EXITS:
        yield from _unknown(where, path, "reads", "system exit", need.exit, ("!*", *SYSTEM_EXITS))
    elif not need.optional:
        yield where, path, f"reads '{need}', which is there only after that failure", f"write '{need.exit}?'"


def _checks(where: str, path: str, checks: Iterable[CheckRef]) -> Iterator[Fault]:
    for check in checks:
        yield from _unknown(where, path, "is gated by", "check", check.name, CHECKS)
        wanted = CHECKS[check.name].arg if check.name in CHECKS else ""
        if wanted and not check.arg:
            yield where, path, f"check '{check.name}' needs an argument", f"write '{check.name}:{wanted}'"
        if check.arg and check.name in CHECKS and not wanted:
            yield where, path, f"check '{check.name}' takes no argument", f"write '{check.name}'"


def _unknown(where: str, path: str, verb: str, what: str, name: str, known: Iterable[str]) -> Iterator[Fault]:
    names = list(known)
    if name not in names:
        hint = suggest(name, names) or (
            f"known: {', '.join(sorted(names)[:8])}" if names else f"there is no {what} here"
        )
        yield where, path, f"{verb} unknown {what} '{name}'", hint


def agents(graph: Graph) -> list[str]:
    """The agent steps of a graph."""
    return [name for name, step in graph.steps.items() if step.kind == "agent"]


def slot_tags(flow: Flow, step: str) -> list[str]:
    """The tags under which a step writes slots."""
    keys = exit_keys(flow.protocol, flow.graph.steps[step]) if step in flow.graph.steps else ()
    return list(dict.fromkeys(map(tag_of, keys)))
