"""Check 13, the groups: a group is one thing, and nothing is finished while it may still be at work."""

from collections.abc import Iterator
from itertools import combinations

from treadle.protocol.checks.earnings import good_outcomes
from treadle.protocol.checks.flow import Edge, Flow, step_path
from treadle.protocol.checks.sites import Site
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding
from treadle.protocol.model import CancelGroup, Spawn, base_of


def groups_are_one_thing(subject: Subject) -> Iterator[Finding]:
    """13. A group is of one graph, and no list of items starts two lots of children."""
    for flow in subject.flows.values():
        own = [site for site in subject.sites if site.parent == flow.name]
        for one, other in combinations(own, 2):
            for message, hint in _clashes(one, other):
                yield subject.finding(13, f"{flow.name}.{base_of(other.step)}", other.path, message, hint)


def _clashes(one: Site, other: Site) -> Iterator[tuple[str, str]]:
    together = one.edge is not None and one.edge == other.edge
    if one.group == other.group and one.child != other.child:
        message = f"starts '{other.child}' in group '{one.group}', in which '{base_of(one.step)}' starts '{one.child}'"
        yield message, "give each graph a group of its own"
    elif together and one.group == other.group:
        message = f"{_key(one)} spawns group '{one.group}' twice; the second list would end the first one's children"
        yield message, "spawn a group once on a row"
    same = one.over == other.over and bool(one.over)
    if same and (together or (one.edge is None and other.edge is None and one.child == other.child)):
        yield f"starts children over '{one.over}' twice", "start them once"


def _key(site: Site) -> str:
    return site.edge.key if site.edge else site.step


def nothing_is_finished_early(subject: Subject) -> Iterator[Finding]:
    """13. No merge and no good end while a spawned group may be at work; a join waits for a group that was begun."""
    for flow in subject.flows.values():
        good = good_outcomes(subject, flow.name)
        groups = dict.fromkeys(site.group for site in subject.sites if site.parent == flow.name and site.edge)
        for group in groups:
            yield from _begun(subject, flow, group)
            hint = f"wait for it on every way: `wait: [group:{group}]`"
            for where, path, verb in _finishing(flow, group, good):
                message = f"{verb} while children of group '{group}' may still be at work"
                yield subject.finding(13, f"{flow.name}.{where}", path, message, hint)


def _finishing(flow: Flow, group: str, good: set[str]) -> Iterator[tuple[str, str, str]]:
    """Where the work is finished with children at work: the step, its path, and what it does."""
    started = _at_work(flow, group)
    for name in (name for name in flow.graph.steps if name in started):
        if flow.graph.steps[name].effect == "merge":
            yield name, step_path(flow.name, name), "merges"
            continue
        for edge in flow.out[name]:
            if edge.to.kind == "end" and edge.to.name in good and not _cancels(edge, group):
                yield base_of(name), edge.path, f"{edge.key} ends in '{edge.to.name}'"


def _begun(subject: Subject, flow: Flow, group: str) -> Iterator[Finding]:
    """What the handlers of failed children spawn goes on with a group; something else must have begun it."""
    begun = [
        edge
        for edge in flow.edges
        if _spawns(edge, group) and (edge.step in flow.main or _signals(flow, edge.step) - _failures(flow))
    ]
    for name, step in flow.graph.steps.items():
        if not begun and any(wait.group == group for wait in step.wait):
            message = f"waits for group '{group}', which only the handlers of failed children spawn"
            path = f"{step_path(flow.name, name)}.wait"
            yield subject.finding(13, f"{flow.name}.{name}", path, message, "spawn it on a way to here")


def _signals(flow: Flow, step: str) -> set[str]:
    return {signal for signal, steps in flow.handled.items() if step in steps}


def _failures(flow: Flow) -> set[str]:
    return {signal for signal in flow.graph.handlers if signal.startswith("child:")}


def _spawns(edge: Edge, group: str) -> bool:
    return any(isinstance(action, Spawn) and action.group == group for action in edge.actions)


def _cancels(edge: Edge, group: str) -> bool:
    return any(isinstance(action, CancelGroup) and action.group == group for action in edge.actions)


def _at_work(flow: Flow, group: str) -> set[str]:
    """The steps that can start while children of a group are at work.

    A step that waits for the group starts when they are done. Handlers run on top of any step that has been come to,
    also of one that still waits; what they redirect goes on with the children as they are.
    """
    entries = {handler.step for handler in flow.graph.handlers.values()}
    come_to: set[str] = set()
    started: set[str] = set()
    todo = [edge.lands_at for edge in flow.edges if _spawns(edge, group) and edge.lands_at]
    while todo:
        name = todo.pop()
        if name in come_to or name not in flow.graph.steps:
            continue
        come_to.add(name)
        todo += entries
        if any(wait.group == group for wait in flow.graph.steps[name].wait):
            continue
        started.add(name)
        todo += [edge.lands_at for edge in flow.out[name] if edge.lands_at and not _cancels(edge, group)]
    return started
