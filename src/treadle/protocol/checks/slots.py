"""Check 12: what a step or an end reads has been written, on every path."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Flow, step_path
from treadle.protocol.checks.known import Known, is_required, ways, witness
from treadle.protocol.checks.sites import Site
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import Need


def needs_are_met(subject: Subject) -> Iterator[Finding]:
    """12. Every required slot of a step, of an end and of a map's items is set on every path to it."""
    for flow in subject.flows.values():
        known = subject.known[flow.name]
        for name, step in flow.graph.steps.items():
            for need in (*step.needs, *_items(step.over)):
                if name in known and _is_missing(need, known[name]):
                    yield _missing(subject, flow, name, need)
        yield from _ends(subject, flow, known)
        yield from _up(subject, flow)


def _items(over: str) -> tuple[Need, ...]:
    parts = over.split(".")
    return (Need(step=parts[0], exit=parts[1]),) if len(parts) == 3 else ()


def _is_missing(need: Need, known: frozenset[str]) -> bool:
    return is_required(need) and need.slot not in known


def _missing(subject: Subject, flow: Flow, name: str, need: Need) -> Finding:
    way = witness(ways(flow, subject.sites, subject.flows), flow.graph.start, name, need.slot)
    shown = f"not after {', '.join(way[-4:])}" if way else "not at the start"
    message = f"reads '{need}', which is not set on every path here ({shown})"
    hint = "mark it optional with '?' or reroute"
    return subject.finding(12, f"{flow.name}.{name}", f"{step_path(flow.name, name)}.needs", message, hint)


def _ends(subject: Subject, flow: Flow, known: Known) -> Iterator[Finding]:
    for edge in flow.edges:
        if edge.to.kind != "end" or edge.step not in known:
            continue
        for need in flow.graph.ends.get(edge.to.name, ()):
            if _is_missing(need, known[edge.step] | edge.slots):
                message = (
                    f"{edge.name} ends in '{edge.to.name}', which needs '{need}'; that is not set on every path here"
                )
                hint = "lead it elsewhere, or mark the need with '?'"
                yield subject.finding(12, f"{flow.name}.{edge.step}", edge.path, message, hint)


def _up(subject: Subject, flow: Flow) -> Iterator[Finding]:
    """What an instance reads of its parent must be there wherever it is started."""
    for name, step in flow.graph.steps.items():
        where, path = f"{flow.name}.{name}", f"{step_path(flow.name, name)}.needs"
        for need in step.needs:
            if not need.up or need.optional or need.every:
                continue
            if flow.name == subject.protocol.root:
                message = f"reads '{need}', but the root has no parent"
                yield subject.finding(12, where, path, message, "mark it optional with '?'")
            for site in subject.sites:
                if site.child == flow.name and not _knows(subject, site, need):
                    message = f"reads '{need}', which is not set when '{site.parent}.{site.step}' starts it"
                    yield subject.finding(12, where, path, message, "mark it optional with '?'")


def _knows(subject: Subject, site: Site, need: Need) -> bool:
    known = subject.known[site.parent]
    if site.step not in known:
        return True
    return need.slot in known[site.step] | site.writes
