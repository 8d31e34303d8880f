"""Check 5, the milder part: what is declared and never used is worth a warning."""

from collections.abc import Iterable, Iterator

from treadle.protocol.checks.flow import Flow
from treadle.protocol.checks.subject import Subject
from treadle.protocol.fields import TypeNotationError, parse_type, record_of
from treadle.protocol.findings import Finding
from treadle.protocol.model import ABORTED


def nothing_is_unused(subject: Subject) -> Iterator[Finding]:
    """5. Every exit, role, type, pool and outcome is used somewhere; one that is not is a warning."""
    protocol = subject.protocol
    steps = [step for graph in protocol.graphs.values() for step in graph.steps.values()]
    modes = [mode for role in protocol.roles.values() for mode in role.modes.values()]
    exits = {name for step in steps for name in step.exits} | {name for mode in modes for name in mode.exits}
    yield from _unused(subject, "exit", "", "exits", protocol.exits, exits)
    yield from _unused(subject, "role", "", "roles", protocol.roles, {step.role for step in steps})
    yield from _unused(subject, "type", "", "types", protocol.types, _types(subject))
    yield from _unused(
        subject, "pool", "", "pools", protocol.pools, {pool.rpartition(":")[2] for step in steps for pool in step.pools}
    )
    for flow in subject.flows.values():
        yield from _graph(subject, flow)


def _graph(subject: Subject, flow: Flow) -> Iterator[Finding]:
    graph, path = flow.graph, f"graphs.{flow.name}"
    outcomes = {edge.to.name for edge in flow.edges if edge.to.kind == "end"}
    yield from _unused(subject, "outcome", flow.name, f"{path}.ends", graph.ends, outcomes | {ABORTED})
    sent = {f"child:{outcome}" for outcome in _bad_outcomes(subject, flow)}
    heard = [signal for signal in graph.handlers if signal.startswith("child:")]
    for signal in heard:
        if signal not in sent:
            message = f"handles '{signal}', which no child of a spawned group can report"
            hint = "remove it, or take the outcome out of `ok`"
            yield subject.finding(5, flow.name, f"{path}.handlers.{signal}", message, hint, level="warning")


def _bad_outcomes(subject: Subject, flow: Flow) -> set[str]:
    graphs = subject.protocol.graphs
    return {
        outcome
        for site in subject.sites
        if site.parent == flow.name and site.edge and site.child in graphs
        for outcome in (*graphs[site.child].ends, ABORTED)
        if outcome not in flow.graph.ok.get(site.group, ())
    }


def _types(subject: Subject) -> set[str]:
    protocol = subject.protocol
    todo = [graph.input[1] for graph in protocol.graphs.values()]
    todo += [_record(field.type) for exit_ in protocol.exits.values() for field in exit_.fields.values()]
    used: set[str] = set()
    while todo:
        name = todo.pop()
        if name in protocol.types and name not in used:
            used.add(name)
            todo += [_record(field.type) for field in protocol.types[name].fields.values()]
    return used


def _record(text: str) -> str:
    try:
        return record_of(parse_type(text))
    except TypeNotationError:
        return ""


def _unused(
    subject: Subject, what: str, where: str, path: str, declared: Iterable[str], used: set[str]
) -> Iterator[Finding]:
    for name in declared:
        if name not in used:
            message, place = f"{what} '{name}' is never used", f"{path}.{name}"
            yield subject.finding(5, where, place, message, "use it or remove it", level="warning")
