"""Checks 5 and 6: everything can be come to, and out of everything there is a way."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Send, row


def every_step_is_reachable(subject: Subject) -> Iterator[Finding]:
    """5. Every graph is started by someone, every step lies on a way from the start or from a handler."""
    whole = all(site.child in subject.protocol.graphs for site in subject.sites)
    for name in subject.protocol.graphs if subject.live_graphs and whole else ():
        if name not in subject.live_graphs:
            message = f"no run comes to graph '{name}'"
            hint = f"spawn or map it from '{subject.protocol.root}' or what that starts, or remove it"
            yield subject.finding(5, name, f"graphs.{name}", message, hint)
    for flow in subject.flows.values():
        for name in flow.graph.steps if _is_whole(flow) else ():
            if name not in flow.main | flow.handler_steps:
                hint = f"lead a row to it from '{flow.graph.start}' or a handler, or remove it"
                yield subject.finding(5, f"{flow.name}.{name}", step_path(flow.name, name), "is never reached", hint)


def _is_whole(flow: Flow) -> bool:
    """Whether every way leads somewhere; a mistyped name would make all behind it look unreachable."""
    steps = flow.graph.steps
    entries = [flow.graph.start, *(handler.step for handler in flow.graph.handlers.values())]
    goals = [edge.lands_at for edge in flow.edges if edge.lands_at]
    routed = all(row(flow.graph, name, key) for name in steps for key in flow.keys(name))
    return routed and all(name in steps for name in (*entries, *goals))


def every_signal_finds_a_handler(subject: Subject) -> Iterator[Finding]:
    """5. What is sent to a parent, to children or to siblings is handled by at least one graph that can receive it."""
    for flow in subject.flows.values():
        seen: set[tuple[str, str, str]] = set()
        for edge in flow.edges:
            for action in edge.actions:
                if not isinstance(action, Send) or action.to == "sender":
                    continue
                place = (edge.path, action.signal, action.to)
                if place not in seen and not _is_handled(subject, flow, action):
                    yield _unheard(subject, flow, edge.name, f"{flow.name}.{edge.step}", edge.path, action)
                seen.add(place)


def _recipients(subject: Subject, flow: Flow, action: Send) -> list[str]:
    match action.to:
        case "parent":
            return subject.parents(flow.name)
        case "children":
            return subject.children(flow.name)
        case _:
            return subject.siblings(flow.name)


def _is_handled(subject: Subject, flow: Flow, action: Send) -> bool:
    graphs = subject.protocol.graphs
    return any(action.signal in graphs[name].handlers for name in _recipients(subject, flow, action))


def _unheard(subject: Subject, flow: Flow, key: str, where: str, path: str, action: Send) -> Finding:
    recipients = _recipients(subject, flow, action)
    if not recipients:
        message = f"{key} sends '{action.signal}' to its {action.to}, of which there are none"
        return subject.finding(5, where, path, message, "remove the send")
    message = f"{key} sends '{action.signal}' to its {action.to}, but none of them handles it"
    hint = f"add a handler for it to {' or '.join(sorted(recipients))}"
    return subject.finding(5, where, path, message, hint)


def every_step_reaches_an_end(subject: Subject) -> Iterator[Finding]:
    """6. From every step some way leads to an end, or back to what was interrupted."""
    for flow in subject.flows.values():
        good = _leaving(flow)
        for name in flow.graph.steps:
            if flow.out[name] and name not in good:
                hint = "lead one of its rows, or of those it leads to, to `@end:Outcome` or `@resume`"
                message = "no way leads from here to an end"
                yield subject.finding(6, f"{flow.name}.{name}", step_path(flow.name, name), message, hint)


def _leaving(flow: Flow) -> set[str]:
    before: dict[str, list[str]] = {}
    for edge in flow.edges:
        before.setdefault(edge.lands_at, []).append(edge.step)
    good: set[str] = set()
    todo = list(before.get("", ()))
    while todo:
        step = todo.pop()
        if step not in good:
            good.add(step)
            todo += before.get(step, ())
    return good
