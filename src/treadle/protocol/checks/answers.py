"""Check 8: whoever asks its parent gets an answer that it can take."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Send, Step


def reply_handlers_answer(subject: Subject) -> Iterator[Finding]:
    """8. Every path of a `reply` handler that goes on afterwards answers its sender, once."""
    for flow in subject.flows.values():
        for signal, handler in flow.graph.handlers.items():
            if handler.reply:
                yield from _paths(subject, flow, signal, handler.step)


def _paths(subject: Subject, flow: Flow, signal: str, start: str) -> Iterator[Finding]:
    todo, seen = [(start, False)], set[tuple[str, bool]]()
    while todo:
        place = name, answered = todo.pop(0)
        if place in seen or name not in flow.graph.steps:
            continue
        seen.add(place)
        for edge in flow.out[name]:
            sent = _answers(edge)
            where = f"{flow.name}.{name}"
            if answered and sent:
                message = f"{edge.name} answers the sender of '{signal}' a second time"
                yield subject.finding(8, where, edge.path, message, "answer once on every path")
            elif edge.to.kind in ("resume", "redirect") and not (answered or sent):
                verb = _shown(edge)
                message = f"{verb} leaves the handler of '{signal}' without answering its sender, which stays blocked"
                yield subject.finding(8, where, edge.path, message, "add `do: [{send: {signal: …, to: sender}}]`")
            if edge.to.kind == "step":
                todo.append((edge.to.name, answered or bool(sent)))


def _shown(edge: Edge) -> str:
    return f"{edge.name} with budget '{edge.row.charge}' spent" if edge.over else edge.name


def _answers(edge: Edge) -> list[str]:
    return [action.signal for action in edge.actions if isinstance(action, Send) and action.to == "sender"]


def questions_are_answered(subject: Subject) -> Iterator[Finding]:
    """8. Every graph that can be the parent handles the question and sends only answers that have a row."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            if step.kind == "ask" and step.asks == "parent" and step.signal:
                yield from _question(subject, flow, name, step)


def _question(subject: Subject, flow: Flow, name: str, step: Step) -> Iterator[Finding]:
    where, path = f"{flow.name}.{name}", step_path(flow.name, name)
    possible: set[str] = set()
    parents = subject.parents(flow.name)
    for parent in parents:
        graph = subject.protocol.graphs[parent]
        handler = graph.handlers.get(step.signal)
        if handler is None:
            near = suggest(step.signal, graph.handlers)
            hint = near or f"add it to the handlers of '{parent}', with `reply: true`"
            message = f"asks '{step.signal}' of its parent, but '{parent}', which starts it, has no handler for it"
            yield subject.finding(8, where, path, message, hint)
            continue
        if not handler.reply:
            message = f"asks '{step.signal}' of its parent, but the handler in '{parent}' does not reply"
            yield subject.finding(8, where, f"graphs.{parent}.handlers.{step.signal}", message, "add `reply: true`")
        for answer in _answers_of(subject.flows[parent], step.signal):
            possible.add(answer)
            if answer not in step.routes:
                hint = suggest(answer, step.routes) or "add a row for it"
                message = f"'{parent}' can answer '{answer}', which has no row here"
                yield subject.finding(8, where, f"{path}.routes", message, hint)
    for key in step.routes:
        if parents and flow.name != subject.protocol.root and key not in possible:
            message = f"no parent answers '{key}'"
            hint = suggest(key, sorted(possible)) or "remove the row, or send it"
            yield subject.finding(8, where, f"{path}.routes.{key}", message, hint, level="warning")


def _answers_of(flow: Flow, signal: str) -> list[str]:
    steps = flow.handled.get(signal, frozenset())
    found = [
        answer for name in flow.graph.steps if name in steps for edge in flow.out[name] for answer in _answers(edge)
    ]
    return list(dict.fromkeys(found))
