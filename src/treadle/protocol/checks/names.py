"""Check 3, the graphs: wherever a row leads and whatever a need reads exists."""

from collections.abc import Iterable, Iterator

from treadle.protocol.checks.flow import Flow, agents, step_path
from treadle.protocol.checks.lookup import Fault, unknown
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import (
    ABORTED,
    SYSTEM_EXITS,
    CancelGroup,
    Graph,
    Need,
    ResetThread,
    Route,
    Spawn,
    base_of,
    exit_keys,
    tag_of,
    target,
)


def graphs_mention_what_exists(subject: Subject) -> Iterator[Finding]:
    """3. Targets, outcomes, budgets, groups, graphs, variables and slots exist."""
    for flow in subject.flows.values():
        for where, path, message, hint in _graph(subject, flow):
            yield subject.finding(3, where, path, message, hint)


def _graph(subject: Subject, flow: Flow) -> Iterator[Fault]:
    graph, path = flow.graph, f"graphs.{flow.name}"
    yield from unknown(flow.name, f"{path}.start", "starts at", "step", graph.start, graph.steps)
    if not graph.ends:
        yield flow.name, path, "has no ends", "add `ends: {Outcome: []}`"
    kind = graph.input[1]
    if kind:
        yield from unknown(flow.name, f"{path}.input", "is given", "type", kind, subject.protocol.types)
    for signal, handler in graph.handlers.items():
        place = f"{path}.handlers.{signal}"
        yield from unknown(flow.name, place, f"handles '{signal}' at", "step", handler.step, graph.steps)
    for name, budget in graph.budgets.items():
        clones = () if budget.to.startswith("^") else map(base_of, graph.steps)
        yield from _target(graph, flow.name, f"{path}.budgets.{name}", f"budget '{name}'", budget.to, clones)
        for reset in budget.resets:
            place = f"{path}.budgets.{name}.resets"
            yield from unknown(flow.name, place, f"budget '{name}' is refilled at", "step", reset, graph.steps)
    for command, goals in graph.led.items():
        for goal in goals:
            yield from unknown(flow.name, f"{path}.commands", f"'{command}' goes to", "step", goal, graph.steps)
    yield from _errands(flow, f"{path}.commands")
    for key, rows in graph.system.items():
        for way in rows:
            yield from _row(subject, flow, flow.name, f"{path}.system.{key}", key, way)
    for outcome, needs in graph.ends.items():
        for need in needs:
            yield from _need(subject, flow, flow.name, f"{path}.ends.{outcome}", need)
    for name, step in graph.steps.items():
        where, place = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
        for key, rows in step.routes.items():
            for way in rows:
                yield from _row(subject, flow, where, f"{place}.routes.{key}", key, way)
        for need in step.needs:
            yield from _need(subject, flow, where, f"{place}.needs", need)


def _errands(flow: Flow, path: str) -> Iterator[Fault]:
    """A word after a command leads to one step; only the items of maps make it more."""
    maps = {name for name, step in flow.graph.steps.items() if step.kind == "map" and step.over}
    for command, goal in flow.graph.commands.items():
        for errand in goal if not isinstance(goal, str) else ():
            what, place = f"'{command} {errand.word}'", f"{path}.{command}.{errand.word}"
            if errand.item and (
                others := [step for step in errand.to if step in flow.graph.steps and step not in maps]
            ):
                hint = "name map steps with `over`, or leave `item` out"
                yield flow.name, place, f"{what} names an item of {', '.join(others)}, which maps nothing", hint
            if not errand.item and len(errand.to) > 1:
                hint = "name one step, or with `item` what tells them apart"
                yield flow.name, place, f"{what} leads to several steps at once", hint


def _row(subject: Subject, flow: Flow, where: str, path: str, key: str, way: Route) -> Iterator[Fault]:
    graph = flow.graph
    yield from _target(graph, where, path, key, way.to)
    if way.charge:
        yield from unknown(where, path, f"{key} charges", "budget", way.charge, graph.budgets)
        if way.over:
            yield from _target(graph, where, path, f"{key}, once '{way.charge}' is spent,", way.over)
    for variable in way.sets:
        yield from unknown(where, path, f"{key} sets", "variable", variable, graph.vars)
    for action in way.do:
        match action:
            case Spawn():
                yield from unknown(where, path, f"{key} spawns", "graph", action.graph, subject.protocol.graphs)
            case CancelGroup():
                groups = [site.group for site in subject.sites if site.parent == flow.name]
                yield from unknown(where, path, f"{key} cancels", "group", action.group, groups)
            case ResetThread() if action.step:
                yield from unknown(where, path, f"{key} resets the thread of", "step", action.step, agents(graph))


def _target(graph: Graph, where: str, path: str, what: str, text: str, also: Iterable[str] = ()) -> Iterator[Fault]:
    goal = target(text)
    if goal.kind == "end" and goal.name not in (*graph.ends, ABORTED):
        yield from unknown(where, path, f"{what} leads to", "outcome", goal.name, graph.ends)
    if goal.kind in ("step", "redirect") and goal.name not in (*graph.steps, *also):
        yield from unknown(where, path, f"{what} leads to", "step", goal.name, graph.steps)


def _need(subject: Subject, flow: Flow, where: str, path: str, need: Need) -> Iterator[Fault]:
    if not need.step:
        yield from _report(where, path, need)
        return
    if "." in need.exit:
        yield (
            where,
            path,
            f"reads '{need}', but a slot holds every variant of an exit",
            f"write '{need.step}.{tag_of(need.exit)}?'",
        )
        return
    graphs = subject.parents(flow.name) if need.up else [flow.name]
    found = [subject.flows[graph] for graph in graphs]
    if need.up and not found:
        return
    steps = [name for other in found for name in other.graph.steps]
    if need.step not in steps:
        yield from unknown(where, path, f"reads '{need}' of", "step", need.step, steps)
        return
    known = [tag for other in found for tag in slot_tags(other, need.step)]
    if need.exit not in known:
        hint = suggest(need.exit, known) or f"'{need.step}' leaves by {', '.join(known) or 'nothing'}"
        yield where, path, f"reads '{need}', but '{need.step}' has no exit '{need.exit}'", hint


def _report(where: str, path: str, need: Need) -> Iterator[Fault]:
    if need.exit != "!*" and tag_of(need.exit) not in SYSTEM_EXITS:
        yield from unknown(where, path, "reads", "system exit", need.exit, ("!*", *SYSTEM_EXITS))
    elif not need.optional:
        yield where, path, f"reads '{need}', which is there only after that failure", f"write '{need.exit}?'"


def slot_tags(flow: Flow, step: str) -> list[str]:
    """The tags under which a step writes slots."""
    keys = exit_keys(flow.protocol, flow.graph.steps[step]) if step in flow.graph.steps else ()
    return list(dict.fromkeys(map(tag_of, keys)))
