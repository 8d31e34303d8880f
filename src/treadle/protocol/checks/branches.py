"""Check 22: whoever moves a branch tells those who stand on it.

A graph that handles a signal with a `rebase` says that its instances live on a branch that can move under them: when a
sibling is merged into it, when their parent plans anew, and when their parent is itself rebased.
"""

from collections.abc import Iterator
from typing import Final

from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.permissions import gates_of, has_gate
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Recipient, Send, Spawn, base_of, tag_of

FOLLOWING: Final = ("rebased", "canon", "same_colour")
"""What shows that work has followed its branch and is otherwise what it was."""


def moved_branches_are_announced(subject: Subject) -> Iterator[Finding]:
    """22. Merges are told to siblings, new plans and rebases to children."""
    for flow in subject.flows.values():
        siblings = _signals(subject, subject.siblings(flow.name))
        children = _signals(subject, subject.children(flow.name))
        own = _signals(subject, [flow.name])
        following = frozenset[str]().union(*(flow.handled[signal] for signal in own))
        for edge in flow.edges:
            if _merges(flow, edge):
                yield from _untold(subject, flow, edge, siblings, "siblings", "moves the branch they stand on")
            if any(isinstance(action, Spawn) for action in edge.actions):
                yield from _untold(subject, flow, edge, children, "children", "changes what those it keeps stand on")
            if edge.step in following and edge.to.kind == "resume":
                yield from _untold(subject, flow, edge, children, "children", "goes on from a branch that has moved")
        for name in (name for name in flow.graph.steps if name in following):
            yield from _adapted(subject, flow, name)


def _signals(subject: Subject, graphs: list[str]) -> list[str]:
    """The signals that these graphs answer with a rebase."""
    found: list[str] = []
    for graph in (subject.protocol.graphs[name] for name in graphs):
        for signal, handler in graph.handlers.items():
            step = graph.steps.get(handler.step)
            if step is not None and step.effect == "rebase" and signal not in found:
                found.append(signal)
    return found


def _merges(flow: Flow, edge: Edge) -> bool:
    """Whether a branch has moved when the edge is taken; the root's own is nobody's but the user's."""
    if flow.graph.steps[edge.step].effect != "merge" or edge.is_system or edge.row.when == "root":
        return False
    exit_ = flow.protocol.exits.get(tag_of(edge.key))
    return exit_ is not None and exit_.severity == "INFO"


def _untold(subject: Subject, flow: Flow, edge: Edge, signals: list[str], to: Recipient, why: str) -> Iterator[Finding]:
    sent = {action.signal for action in edge.actions if isinstance(action, Send) and action.to == to}
    for signal in signals:
        if signal not in sent:
            message = f"{edge.key} {why}, but does not send '{signal}' to its {to}"
            hint = f"add `do: [{{send: {{signal: {signal}, to: {to}}}}}]`"
            yield subject.finding(22, f"{flow.name}.{base_of(edge.step)}", edge.path, message, hint)


def _adapted(subject: Subject, flow: Flow, name: str) -> Iterator[Finding]:
    """An agent who lets the interrupted work go on from a moved branch shows that it is the same work."""
    step = flow.graph.steps[name]
    resuming = [edge for edge in flow.out[name] if edge.to.kind == "resume" and not edge.is_system]
    for edge in resuming if step.kind == "agent" else ():
        for check in FOLLOWING:
            if not has_gate(gates_of(step, edge.key), check):
                message = f"exit '{edge.key}' lets work go on from a moved branch, but is not gated by '{check}'"
                path = f"{step_path(flow.name, name)}.gates"
                yield subject.finding(22, f"{flow.name}.{name}", path, message, f"add '{check}' to its gates")
