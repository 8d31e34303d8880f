"""What comes with a signal and with the result of a map: the fields of the exits behind them."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.results import result_fields
from treadle.protocol.checks.shapes import Many, Members, Shape, type_of, variable
from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import parse_type
from treadle.protocol.model import Exit, Need, Send, Step, base_of, tag_of


def signals_of(subject: Subject, flow: Flow, name: str) -> Shape:
    """The variable `signals` as a step sees it; where somebody outside may send one, nothing is known of its data."""
    received = [signal for signal, steps in flow.handled.items() if name in map(base_of, steps)]
    exits = [exit_ for signal in received for exit_ in _sources(subject, signal)]
    known = all(signal in subject.sent for signal in received)
    text = parse_type("text")
    data = _united(exits) if exits and known else None
    return Many(Members("signals", {"name": text, "sender": text, "data": data}))


def _sources(subject: Subject, signal: str) -> Iterator[Exit]:
    """The exits whose payload comes with a signal: those that send it, and those that lead to a question."""
    for flow in subject.flows.values():
        for edge in flow.edges:
            goal = flow.graph.steps.get(edge.lands_at)
            asks = goal is not None and goal.asks == "parent" and goal.signal == signal
            sends = any(isinstance(action, Send) and action.signal == signal for action in edge.actions)
            if (asks or sends) and tag_of(edge.key) in subject.protocol.exits:
                yield subject.protocol.exits[tag_of(edge.key)]


def _united(exits: list[Exit]) -> Members:
    fields = {name: type_of(field.type) for exit_ in exits for name, field in exit_.fields.items()}
    return Members("signal.data", fields)


def with_results(subject: Subject, flow: Flow, step: Step, found: dict[str, Shape]) -> dict[str, Shape]:
    """The variables of a step, with what is known of the maps whose results it reads."""
    known = dict(found)
    for need in step.needs:
        source = flow.graph.steps.get(need.step)
        owner = known.get(variable(need.step))
        if source is not None and source.kind == "map" and not need.up and isinstance(owner, Members):
            parts = {**owner.parts, need.exit: _result(subject, flow, source, need)}
            known[variable(need.step)] = owner._replace(parts=parts)
    return known


def _result(subject: Subject, flow: Flow, source: Step, need: Need) -> Shape:
    number = parse_type("int")
    label = f"{variable(need.step)}.{need.exit}"
    if source.over:
        texts = dict.fromkeys(("key", "instance", "outcome", "left", "commit"), parse_type("text"))
        children = Many(Members(f"{label}.results", {**texts, "said": None}))
        return Members(label, {"total": number, "failed": number, "results": children}, need.optional)
    fields = result_fields(subject, flow.name, need.step) if need.exit == "AllOk" else None
    if fields is None:
        return Members(label, {}, optional=True) if need.optional else None
    return Members(label, {name: type_of(field.type) for name, field in fields.items()}, need.optional)
