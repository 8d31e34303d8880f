"""Checks 7, 8 and 14, handlers: each stays apart from the work it interrupts, never waits for children, and answers."""

from collections.abc import Iterator

from treadle.protocol.checks.subject import Edge, Flow, ProtocolSubject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import Send, tag_of


def answers_of(edge: Edge) -> list[str]:
    """The signals by which an edge answers the sender of the handled signal."""
    return [action.signal for action in edge.actions if isinstance(action, Send) and action.to == "sender"]


def handlers_stay_apart(subject: ProtocolSubject) -> Iterator[Finding]:
    """7. Handler steps and main steps are disjoint (asks aside), and each kind uses its own targets only."""
    for flow in subject.flows.values():
        for signal, handler in flow.graph.handlers.items():
            entry = handler.step
            if entry in flow.main and flow.graph.steps[entry].kind != "ask":
                message = f"handler of '{signal}' starts at main step '{entry}'"
                path = f"graphs.{flow.name}.handlers.{signal}"
                yield subject.finding(7, flow.name, path, message, "give it a step of its own")
                continue
            for edge in _crossings(flow, entry):
                message = f"handler of '{signal}' runs into main step '{edge.to.name}' by {edge.step}.{edge.name}"
                hint = f"lead it to '^{edge.to.name}' or to '@resume'"
                yield subject.finding(7, flow.name, edge.path, message, hint)
        for edge in flow.edges:
            if edge.step not in flow.main:
                continue
            if edge.to.kind in ("resume", "redirect"):
                written = "@resume" if edge.to.kind == "resume" else f"^{edge.to.name}"
                message = f"{edge.name} leads to '{written}', but nothing is interrupted here"
                yield subject.at_edge(7, flow, edge, message, "name the step; only handlers resume or redirect")
            if answers_of(edge):
                message = f"{edge.name} answers a sender, but nobody has sent anything to the main work"
                yield subject.at_edge(7, flow, edge, message, "answer in the steps of a handler")


def _crossings(flow: Flow, entry: str) -> Iterator[Edge]:
    """The edges by which a handler first comes to a step, other than an ask, that the main work has."""

    def crosses(edge: Edge) -> bool:
        return edge.to.name in flow.main and flow.graph.steps[edge.to.name].kind != "ask"

    for name in flow.walk([entry], lambda edge: edge.to.kind == "step" and not crosses(edge)):
        yield from (edge for edge in flow.out[name] if edge.to.kind == "step" and crosses(edge))


def handlers_never_wait_below(subject: ProtocolSubject) -> Iterator[Finding]:
    """14. No join, map or sync inside a handler: it may wait for a person or for its parent, never downward."""
    for flow, name, step in subject.steps():
        if name in flow.main or name not in flow.handler_steps:
            continue
        for wait in step.wait:
            if wait.kind == "group":
                message = f"waits for group '{wait.group}' inside a handler, whose own work it holds up"
                yield subject.at_step(14, flow, name, message, "wait in the main steps", "wait")
        if step.kind == "map":
            message = "maps inside a handler, which would hold up the interrupted work"
            yield subject.at_step(14, flow, name, message, "redirect with '^step' and map there")
        for edge in flow.out[name]:
            if edge.syncs:
                message = f"{edge.name} waits for its siblings inside a handler"
                yield subject.at_edge(14, flow, edge, message, "remove `sync`")


# Checks 7 and 8, between handlers: each keeps to its own work, and answers only senders that have asked.


def handlers_keep_to_themselves(subject: ProtocolSubject) -> Iterator[Finding]:
    """7. A handler does not run into another one's start, and redirects only to where the main work goes by itself."""
    for flow in subject.flows.values():
        own = flow.reach([flow.graph.start, *flow.graph.commanded])
        for edge in flow.redirects:
            if edge.to.name in flow.graph.steps and edge.to.name not in own:
                message = f"{edge.key} redirects the main work to '{edge.to.name}', where it never goes by itself"
                yield subject.at_edge(7, flow, edge, message, "name a step of the main work")
        for signal, steps in flow.handled.items():
            entry = flow.graph.handlers[signal].step
            for other, handler in flow.graph.handlers.items():
                if handler.step != entry and handler.step in steps:
                    message = f"handler of '{signal}' runs into '{handler.step}', where that of '{other}' starts"
                    path = f"graphs.{flow.name}.handlers.{signal}"
                    yield subject.finding(7, flow.name, path, message, "give each signal steps of its own")


def answers_keep_their_names(subject: ProtocolSubject) -> Iterator[Finding]:
    """8. Only `reply` handlers answer, and an exit or choice for which the asker has a row keeps its name."""
    for flow in subject.flows.values():
        below = [step for child in subject.children(flow.name) for step in subject.flows[child].graph.steps.values()]
        for signal, steps in flow.handled.items():
            asking = [step for step in below if step.asks == "parent" and step.signal == signal]
            expected = {key for step in asking for key in step.routes}
            for edge in flow.edges:
                sent = answers_of(edge)
                if edge.step not in steps or not sent:
                    continue
                tag = tag_of(edge.key)
                if not flow.graph.handlers[signal].reply:
                    message = f"{edge.key} answers the sender of '{signal}', who has not asked anything"
                    hint = "add `reply: true` to the handler, or remove the answer"
                    yield subject.at_edge(8, flow, edge, message, hint)
                elif tag in expected and tag not in sent:
                    message = f"{edge.key} is answered as '{sent[0]}', but the asker has a row for '{tag}'"
                    yield subject.at_edge(8, flow, edge, message, f"send '{tag}'")


def questions_reach_a_parent(subject: ProtocolSubject) -> Iterator[Finding]:
    """8. A question to the parent is not asked only where there is none."""
    for flow, name, step in subject.steps():
        ways = [edge for edge in flow.edges if edge.lands_at == name and flow.graph.steps[edge.step].kind != "ask"]
        if step.asks == "parent" and ways and all(edge.row.when == "root" for edge in ways):
            message = f"asks its parent, but {ways[0]} leads here only at the root, which has none"
            hint = "lead the other instances here, or `ask: human`"
            yield subject.finding(8, f"{flow.name}.{name}", ways[0].path, message, hint)


# Check 8: an instance that asks its parent gets an answer that it has a row for.


def reply_handlers_answer(subject: ProtocolSubject) -> Iterator[Finding]:
    """8. Every path of a `reply` handler that goes on afterwards answers its sender, once."""
    for flow in subject.flows.values():
        for signal, handler in flow.graph.handlers.items():
            if handler.reply:
                yield from _unanswered_paths(subject, flow, signal, handler.step)


def _unanswered_paths(subject: ProtocolSubject, flow: Flow, signal: str, start: str) -> Iterator[Finding]:
    # A step counts twice: come to before an answer was sent, and come to after.
    todo, seen = [(start, False)], set[tuple[str, bool]]()
    while todo:
        place = name, answered = todo.pop(0)
        if place in seen or name not in flow.graph.steps:
            continue
        seen.add(place)
        for edge in flow.out[name]:
            answers = bool(answers_of(edge))
            if answered and answers:
                message = f"{edge.name} answers the sender of '{signal}' a second time"
                yield subject.at_edge(8, flow, edge, message, "answer once on every path")
            elif edge.to.kind in ("resume", "redirect") and not (answered or answers):
                shown = f"{edge.name} with budget '{edge.row.charge}' spent" if edge.over else edge.name
                message = f"{shown} leaves the handler of '{signal}' without answering its sender, which stays blocked"
                yield subject.at_edge(8, flow, edge, message, "add `do: [{send: {signal: …, to: sender}}]`")
            if edge.to.kind == "step":
                todo.append((edge.to.name, answered or answers))


def questions_are_answered(subject: ProtocolSubject) -> Iterator[Finding]:
    """8. Every graph that can be the parent handles the question and sends only answers that have a row."""
    for flow, name, step in subject.steps():
        signal = step.signal if step.kind == "ask" and step.asks == "parent" else ""
        parents = subject.parents(flow.name) if signal else []
        possible: set[str] = set()
        for parent in parents:
            above = subject.flows[parent]
            handler = above.graph.handlers.get(signal)
            if handler is None:
                near = suggest(signal, above.graph.handlers)
                hint = near or f"add it to the handlers of '{parent}', with `reply: true`"
                message = f"asks '{signal}' of its parent, but '{parent}', which starts it, has no handler for it"
                yield subject.at_step(8, flow, name, message, hint)
                continue
            if not handler.reply:
                message = f"asks '{signal}' of its parent, but the handler in '{parent}' does not reply"
                path = f"graphs.{parent}.handlers.{signal}"
                yield subject.finding(8, f"{flow.name}.{name}", path, message, "add `reply: true`")
            edges = [edge for edge in above.edges if edge.step in above.handled[signal]]
            for answer in dict.fromkeys(answer for edge in edges for answer in answers_of(edge)):
                possible.add(answer)
                if answer not in step.routes:
                    message = f"'{parent}' can answer '{answer}', which has no row here"
                    hint = suggest(answer, step.routes) or "add a row for it"
                    yield subject.at_step(8, flow, name, message, hint, "routes")
        for key in step.routes if parents and flow.name != subject.protocol.root else ():
            if key not in possible:
                message = f"no parent answers '{key}'"
                hint = suggest(key, sorted(possible)) or "remove the row, or send it"
                yield subject.at_step(8, flow, name, message, hint, f"routes.{key}", level="warning")
