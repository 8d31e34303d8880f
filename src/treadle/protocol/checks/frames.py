"""Checks 7 and 8, between handlers: each keeps to its own work, and answers only whoever has asked."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Edge, Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Send, base_of, tag_of


def handlers_keep_to_themselves(subject: Subject) -> Iterator[Finding]:
    """7. A handler does not run into another one's start, and redirects only to where the main work goes by itself."""
    for flow in subject.flows.values():
        own = flow.reach([flow.graph.start, *flow.graph.commanded])
        for edge in flow.redirects:
            if edge.to.name in flow.graph.steps and edge.to.name not in own:
                message = f"{edge.key} redirects the main work to '{edge.to.name}', where it never goes by itself"
                hint = "name a step of the main work"
                yield subject.finding(7, f"{flow.name}.{base_of(edge.step)}", edge.path, message, hint)
        yield from _intrusions(subject, flow)


def _intrusions(subject: Subject, flow: Flow) -> Iterator[Finding]:
    for signal, steps in flow.handled.items():
        own = flow.graph.handlers[signal].step
        for other, handler in flow.graph.handlers.items():
            if handler.step != own and handler.step in steps:
                path = f"graphs.{flow.name}.handlers.{signal}"
                message = f"handler of '{signal}' runs into '{handler.step}', where that of '{other}' starts"
                yield subject.finding(7, flow.name, path, message, "give each signal steps of its own")


def answers_are_what_was_said(subject: Subject) -> Iterator[Finding]:
    """8. Only handlers that reply answer, and what an exit or a choice says is not answered by something else."""
    for flow in subject.flows.values():
        for signal, steps in flow.handled.items():
            handler = flow.graph.handlers[signal]
            words = _words(subject, flow, signal)
            for edge in flow.edges:
                if edge.step not in steps or not (sent := _sent(edge)):
                    continue
                where = f"{flow.name}.{base_of(edge.step)}"
                if not handler.reply:
                    message = f"{edge.key} answers the sender of '{signal}', who has not asked anything"
                    hint = "add `reply: true` to the handler, or remove the answer"
                    yield subject.finding(8, where, edge.path, message, hint)
                elif tag_of(edge.key) in words and tag_of(edge.key) not in sent:
                    message = f"{edge.key} is answered as '{sent[0]}', but the asker has a row for '{tag_of(edge.key)}'"
                    yield subject.finding(8, where, edge.path, message, f"send '{tag_of(edge.key)}'")


def questions_reach_a_parent(subject: Subject) -> Iterator[Finding]:
    """8. A question to the parent is not asked only where there is none."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            ways = [edge for edge in flow.edges if edge.lands_at == name and flow.graph.steps[edge.step].kind != "ask"]
            if step.asks == "parent" and ways and all(edge.row.when == "root" for edge in ways):
                message = f"asks its parent, but {ways[0]} leads here only at the root, which has none"
                hint = "lead the other instances here, or `ask: human`"
                yield subject.finding(8, f"{flow.name}.{name}", ways[0].path, message, hint)


def _sent(edge: Edge) -> list[str]:
    return [action.signal for action in edge.actions if isinstance(action, Send) and action.to == "sender"]


def _words(subject: Subject, flow: Flow, signal: str) -> set[str]:
    """What those who ask a signal of this graph have rows for."""
    asking = [
        step
        for child in subject.children(flow.name)
        for step in subject.protocol.graphs[child].steps.values()
        if step.asks == "parent" and step.signal == signal
    ]
    return {key for step in asking for key in step.routes}
