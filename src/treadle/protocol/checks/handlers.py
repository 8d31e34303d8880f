"""Checks 7 and 14: a handler is a world of its own on top of the interrupted work, and waits for nobody below it."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Send


def handlers_stay_apart(subject: Subject) -> Iterator[Finding]:
    """7. Handler steps and main steps are disjoint (asks aside), and each kind uses its own targets only."""
    for flow in subject.flows.values():
        yield from _runs_into_main(subject, flow)
        for edge in flow.edges:
            if edge.step not in flow.main:
                continue
            where = f"{flow.name}.{edge.step}"
            if edge.to.kind in ("resume", "redirect"):
                written = "@resume" if edge.to.kind == "resume" else f"^{edge.to.name}"
                message = f"{edge.name} leads to '{written}', but nothing is interrupted here"
                hint = "name the step; only handlers resume or redirect"
                yield subject.finding(7, where, edge.path, message, hint)
            if any(isinstance(action, Send) and action.to == "sender" for action in edge.actions):
                message = f"{edge.name} answers a sender, but nobody has sent anything to the main work"
                hint = "answer in the steps of a handler"
                yield subject.finding(7, where, edge.path, message, hint)


def _runs_into_main(subject: Subject, flow: Flow) -> Iterator[Finding]:
    for signal, handler in flow.graph.handlers.items():
        entry = handler.step
        path = f"graphs.{flow.name}.handlers.{signal}"
        if entry in flow.main and flow.graph.steps[entry].kind != "ask":
            message = f"handler of '{signal}' starts at main step '{entry}'"
            yield subject.finding(7, flow.name, path, message, "give it a step of its own")
            continue
        for edge in _crossings(flow, entry):
            message = f"handler of '{signal}' runs into main step '{edge.to.name}' by {edge.step}.{edge.name}"
            hint = f"lead it to '^{edge.to.name}' or to '@resume'"
            yield subject.finding(7, flow.name, edge.path, message, hint)


def _crossings(flow: Flow, entry: str) -> Iterator[Edge]:
    """The edges by which a handler first comes to a step, other than an ask, that the main work has."""
    todo, seen = [entry], set[str]()
    while todo:
        name = todo.pop(0)
        if name in seen or name not in flow.graph.steps:
            continue
        seen.add(name)
        for edge in flow.out[name]:
            goal = flow.graph.steps.get(edge.to.name)
            if edge.to.kind != "step" or goal is None:
                continue
            if edge.to.name in flow.main and goal.kind != "ask":
                yield edge
            else:
                todo.append(edge.to.name)


def handlers_never_wait_below(subject: Subject) -> Iterator[Finding]:
    """14. No join, map or sync inside a handler: it may wait for a person or for its parent, never downward."""
    for flow in subject.flows.values():
        for name in (name for name in flow.graph.steps if name in flow.handler_steps - flow.main):
            step = flow.graph.steps[name]
            where, path = f"{flow.name}.{name}", step_path(flow.name, name)
            for wait in step.wait:
                if wait.kind == "group":
                    message = f"waits for group '{wait.group}' inside a handler, whose own work it holds up"
                    yield subject.finding(14, where, f"{path}.wait", message, "wait in the main steps")
            if step.kind == "map":
                message = "maps inside a handler, which would hold up the interrupted work"
                yield subject.finding(14, where, path, message, "redirect with '^step' and map there")
            for edge in flow.out[name]:
                if edge.syncs:
                    message = f"{edge.name} waits for its siblings inside a handler"
                    yield subject.finding(14, where, edge.path, message, "remove `sync`")
