"""Check 13: a join ends. Its group is spawned, and a child that ended badly does not stay in it unnoticed."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import ABORTED, CancelGroup, Spawn


def joins_end(subject: Subject) -> Iterator[Finding]:
    """13. Waited groups are spawned before, and every outcome of a child is good or handled."""
    for flow in subject.flows.values():
        yield from _waits(subject, flow)
        yield from _good_outcomes(subject, flow)
        yield from _bad_outcomes(subject, flow)


def _waits(subject: Subject, flow: Flow) -> Iterator[Finding]:
    spawned = _spawned(subject, flow)
    for name, step in flow.graph.steps.items():
        for wait in step.wait:
            if wait.kind != "group" or name in flow.handler_steps - flow.main:
                continue
            where, path = f"{flow.name}.{name}", f"{step_path(flow.name, name)}.wait"
            if wait.group not in spawned:
                hint = suggest(wait.group, spawned) or "spawn it on a way to here"
                message = f"waits for group '{wait.group}', which is never spawned"
                yield subject.finding(13, where, path, message, hint)
            elif not any(name in _after(flow, edge) for edge in spawned[wait.group]):
                message = f"waits for group '{wait.group}', but no way leads here from where it is spawned"
                yield subject.finding(13, where, path, message, "spawn it on a way to here, or remove the wait")


def _spawned(subject: Subject, flow: Flow) -> dict[str, list[Edge]]:
    groups: dict[str, list[Edge]] = {}
    for site in subject.sites:
        if site.parent == flow.name and site.edge:
            groups.setdefault(site.group, []).append(site.edge)
    return groups


def _after(flow: Flow, edge: Edge) -> frozenset[str]:
    """The steps that come after an edge; after an edge of a handler, all of the main work may."""
    return flow.main if edge.step in flow.handler_steps else flow.reach([edge.lands_at])


def _good_outcomes(subject: Subject, flow: Flow) -> Iterator[Finding]:
    graphs = subject.protocol.graphs
    groups = list(dict.fromkeys(site.group for site in subject.sites if site.parent == flow.name))
    for group in groups:
        if not flow.graph.ok.get(group):
            sites = [site for site in subject.sites if site.parent == flow.name and site.group == group]
            message = f"nothing says which outcomes of group '{group}' are good"
            hint = f"add `ok: {{{group}: [Outcome]}}` to the graph"
            yield subject.finding(13, f"{flow.name}.{sites[0].step}", sites[0].path, message, hint)
    for group, outcomes in flow.graph.ok.items():
        path = f"graphs.{flow.name}.ok.{group}"
        if group not in groups:
            hint = suggest(group, groups) or "remove it"
            yield subject.finding(13, flow.name, path, f"`ok` speaks of unknown group '{group}'", hint)
            continue
        children = [site.child for site in subject.sites if site.parent == flow.name and site.group == group]
        known = [outcome for child in children if child in graphs for outcome in graphs[child].ends]
        for outcome in outcomes:
            if outcome == ABORTED:
                message = f"'{ABORTED}' cannot be a good outcome of group '{group}'"
                yield subject.finding(13, flow.name, path, message, "a person has given the child up; handle it")
            elif outcome not in known and known:
                hint = suggest(outcome, known) or f"its children end in {', '.join(dict.fromkeys(known))}"
                message = f"group '{group}' has no outcome '{outcome}'"
                yield subject.finding(13, flow.name, path, message, hint)


def _bad_outcomes(subject: Subject, flow: Flow) -> Iterator[Finding]:
    """For a map, `SomeFailed` is the row; a spawned group reports each bad end as a signal."""
    graphs = subject.protocol.graphs
    for group, edges in _spawned(subject, flow).items():
        sites = [site for site in subject.sites if site.parent == flow.name and site.edge and site.group == group]
        ends = [end for site in sites if site.child in graphs for end in (*graphs[site.child].ends, ABORTED)]
        for outcome in dict.fromkeys(ends):
            if outcome in flow.graph.ok.get(group, ()):
                continue
            signal = f"child:{outcome}"
            if signal not in flow.graph.handlers:
                message = f"a child of group '{group}' that ends '{outcome}' is neither good nor handled"
                hint = f"add a handler for '{signal}', or '{outcome}' to `ok`"
                yield subject.finding(13, flow.name, edges[0].path, message, hint)
            elif any(wait.group == group for step in flow.graph.steps.values() for wait in step.wait):
                yield from _roster(subject, flow, group, outcome)


def _roster(subject: Subject, flow: Flow, group: str, outcome: str) -> Iterator[Finding]:
    """The handler of a failed child must change the group before the join is looked at again."""
    todo = [flow.graph.handlers[f"child:{outcome}"].step]
    seen: set[str] = set()
    while todo:
        name = todo.pop(0)
        if name in seen or name not in flow.graph.steps:
            continue
        seen.add(name)
        for edge in flow.out[name]:
            if _changes(edge, group):
                continue
            where = f"{flow.name}.{name}"
            waiting = _still_waits(flow, edge.to.name, group) if edge.to.kind == "redirect" else ""
            if edge.to.kind == "resume":
                message = f"{edge.name} resumes after a child ended '{outcome}' without changing group '{group}'"
                hint = "its join would wait for ever: spawn, cancel, redirect or end"
                yield subject.finding(13, where, edge.path, message, hint)
            elif waiting:
                message = (
                    f"{edge.name} leads after a child ended '{outcome}' to '{waiting}' without changing group '{group}'"
                )
                hint = "its join would wait for ever: spawn or cancel on every way there"
                yield subject.finding(13, where, edge.path, message, hint)
            elif edge.to.kind == "step":
                todo.append(edge.to.name)


def _changes(edge: Edge, group: str) -> bool:
    return any(isinstance(action, Spawn | CancelGroup) and action.group == group for action in edge.actions)


def _still_waits(flow: Flow, start: str, group: str) -> str:
    """A step that waits for the group and can be come to without changing it; empty if there is none."""
    todo, seen = [start], set[str]()
    while todo:
        name = todo.pop(0)
        if name in seen or name not in flow.graph.steps:
            continue
        seen.add(name)
        if any(wait.group == group for wait in flow.graph.steps[name].wait):
            return name
        todo += [edge.to.name for edge in flow.out[name] if edge.to.kind == "step" and not _changes(edge, group)]
    return ""
