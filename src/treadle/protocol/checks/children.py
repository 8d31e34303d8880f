"""Checks 10, 11, 13 and 15, children: groups, joins, barriers, and the items that children are started over."""

from collections.abc import Iterator
from itertools import combinations

from treadle.protocol.checks.evidence import good_outcomes
from treadle.protocol.checks.subject import Edge, Flow, ProtocolSubject, Site
from treadle.protocol.fields import ListType, TypeNotationError, bare, parse_type
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import ABORTED, CancelGroup, Field, Spawn, Step, base_of, tag_of


def _spawns(edge: Edge, group: str) -> bool:
    return any(isinstance(action, Spawn) and action.group == group for action in edge.actions)


def _cancels(edge: Edge, group: str) -> bool:
    return any(isinstance(action, CancelGroup) and action.group == group for action in edge.actions)


def _changes(edge: Edge, group: str) -> bool:
    return _spawns(edge, group) or _cancels(edge, group)


def _waits_for(step: Step, group: str) -> bool:
    return any(wait.group == group for wait in step.wait)


def groups_hold_one_graph(subject: ProtocolSubject) -> Iterator[Finding]:
    """13. A group has children of one graph only, and no list of items starts its children twice."""
    for flow in subject.flows.values():
        for one, other in combinations(flow.sites, 2):
            group, where = one.group, f"{flow.name}.{base_of(other.step)}"
            if group == other.group and one.child != other.child:
                first = f"in which '{base_of(one.step)}' starts '{one.child}'"
                message = f"starts '{other.child}' in group '{group}', {first}"
                yield subject.finding(13, where, other.path, message, "give each graph a group of its own")
            elif one.edge and one.edge == other.edge and group == other.group:
                twice = f"{one.edge.key} spawns group '{group}' twice"
                message = f"{twice}; the second list would end the first one's children"
                yield subject.finding(13, where, other.path, message, "spawn a group once on a row")
            # Two rows may start the same children, one or the other; two maps, or one row, start them twice.
            together = one.edge == other.edge and (one.edge is not None or one.child == other.child)
            if one.over and one.over == other.over and together:
                message = f"starts children over '{one.over}' twice"
                yield subject.finding(13, where, other.path, message, "start them once")


def ends_wait_for_children(subject: ProtocolSubject) -> Iterator[Finding]:
    """13. No merge and no good end while a spawned group may be at work; a join waits for a group that was begun."""
    for flow in subject.flows.values():
        good = good_outcomes(subject, flow.name)
        groups = dict.fromkeys(site.group for site in flow.sites if site.edge)
        for group in groups:
            yield from _never_begun(subject, flow, group)
            unfinished = f"while children of group '{group}' may still be at work"
            hint = f"wait for it on every path: `wait: [group:{group}]`"
            started = _at_work(flow, group)
            for name in (name for name in flow.graph.steps if name in started):
                if flow.graph.steps[name].effect == "merge":
                    yield subject.at_step(13, flow, name, f"merges {unfinished}", hint)
                    continue
                for edge in flow.out[name]:
                    if edge.to.kind == "end" and edge.to.name in good and not _cancels(edge, group):
                        message = f"{edge.key} ends in '{edge.to.name}' {unfinished}"
                        yield subject.at_edge(13, flow, edge, message, hint)


def _never_begun(subject: ProtocolSubject, flow: Flow, group: str) -> Iterator[Finding]:
    """Report a group that only handlers of failed children spawn: they continue it, and another step must begin it."""
    beginning = set(flow.main)
    for signal, steps in flow.handled.items():
        if not signal.startswith("child:"):
            beginning |= steps
    if any(_spawns(edge, group) and edge.step in beginning for edge in flow.edges):
        return
    for name, step in flow.graph.steps.items():
        if _waits_for(step, group):
            message = f"waits for group '{group}', which only the handlers of failed children spawn"
            yield subject.at_step(13, flow, name, message, "spawn it on a path to this step", "wait")


def _at_work(flow: Flow, group: str) -> set[str]:
    """Return the steps that can start while children of a group are at work.

    A step that waits for the group starts when they are done. A handler can run on top of any step the run has reached,
    also one that still waits; a redirect leaves the children as they are.
    """
    steps = flow.graph.steps
    spawned = [edge.lands_at for edge in flow.edges if _spawns(edge, group) and edge.lands_at]
    if not any(name in steps for name in spawned):
        return set()
    entries = [handler.step for handler in flow.graph.handlers.values()]
    come_to = flow.walk(
        [*spawned, *entries], lambda edge: not _waits_for(steps[edge.step], group) and not _cancels(edge, group)
    )
    return {name for name in come_to if not _waits_for(steps[name], group)}


# Check 13: a join ends. Its group is spawned, and a child that ended badly does not stay in it unnoticed.


def joins_end(subject: ProtocolSubject) -> Iterator[Finding]:
    """13. Waited groups are spawned before, and every outcome of a child is good or handled."""
    for flow in subject.flows.values():
        sites = flow.sites
        spawned: dict[str, list[Edge]] = {}
        for site in sites:
            if site.edge:
                spawned.setdefault(site.group, []).append(site.edge)
        yield from _wait_faults(subject, flow, spawned)
        yield from _good_outcome_faults(subject, flow, sites)
        for group, edges in spawned.items():
            yield from _bad_outcome_faults(subject, flow, group, edges[0].path, sites)


def _wait_faults(subject: ProtocolSubject, flow: Flow, spawned: dict[str, list[Edge]]) -> Iterator[Finding]:
    for name, step in flow.graph.steps.items():
        if name in flow.handler_steps - flow.main:
            continue  # check 14 refuses joins in handlers
        for group in (wait.group for wait in step.wait if wait.kind == "group"):
            if group not in spawned:
                message = f"waits for group '{group}', which is never spawned"
                hint = suggest(group, spawned) or "spawn it on a path to this step"
                yield subject.at_step(13, flow, name, message, hint, "wait")
                continue
            # After an edge of a handler the interrupted work goes on, at any of the main steps.
            after = [
                flow.main if edge.step in flow.handler_steps else flow.reach([edge.lands_at]) for edge in spawned[group]
            ]
            if not any(name in steps for steps in after):
                message = f"waits for group '{group}', but no path leads here from where it is spawned"
                yield subject.at_step(
                    13, flow, name, message, "spawn it on a path to this step, or remove the wait", "wait"
                )


def _good_outcome_faults(subject: ProtocolSubject, flow: Flow, sites: list[Site]) -> Iterator[Finding]:
    graphs = subject.protocol.graphs
    by_group: dict[str, list[Site]] = {}
    for site in sites:
        by_group.setdefault(site.group, []).append(site)
    for group, starting in by_group.items():
        if not flow.graph.ok.get(group):
            message = f"nothing says which outcomes of group '{group}' are good"
            hint = f"add `ok: {{{group}: [Outcome]}}` to the graph"
            yield subject.finding(13, f"{flow.name}.{starting[0].step}", starting[0].path, message, hint)
    for group, outcomes in flow.graph.ok.items():
        path = f"graphs.{flow.name}.ok.{group}"
        if group not in by_group:
            hint = suggest(group, by_group) or "remove it"
            yield subject.finding(13, flow.name, path, f"`ok` mentions unknown group '{group}'", hint)
            continue
        known = [end for site in by_group[group] if site.child in graphs for end in graphs[site.child].ends]
        for outcome in outcomes:
            if outcome == ABORTED:
                message = f"'{ABORTED}' cannot be a good outcome of group '{group}'"
                yield subject.finding(13, flow.name, path, message, "a person has given the child up; handle it")
            elif outcome not in known and known:
                message = f"group '{group}' has no outcome '{outcome}'"
                hint = suggest(outcome, known) or f"its children end in {', '.join(dict.fromkeys(known))}"
                yield subject.finding(13, flow.name, path, message, hint)


def _bad_outcome_faults(
    subject: ProtocolSubject, flow: Flow, group: str, path: str, sites: list[Site]
) -> Iterator[Finding]:
    """For a map, `SomeFailed` is the row; a spawned group reports each bad end as a signal."""
    graphs = subject.protocol.graphs
    children = [graphs[site.child] for site in sites if site.edge and site.group == group and site.child in graphs]
    joined = any(_waits_for(step, group) for step in flow.graph.steps.values())
    for outcome in dict.fromkeys(end for child in children for end in (*child.ends, ABORTED)):
        if outcome in flow.graph.ok.get(group, ()):
            continue
        signal = f"child:{outcome}"
        if signal not in flow.graph.handlers:
            message = f"a child of group '{group}' that ends '{outcome}' is neither good nor handled"
            hint = f"add a handler for '{signal}', or '{outcome}' to `ok`"
            yield subject.finding(13, flow.name, path, message, hint)
        elif joined:
            yield from _unchanged_roster(subject, flow, group, outcome)


def _unchanged_roster(subject: ProtocolSubject, flow: Flow, group: str, outcome: str) -> Iterator[Finding]:
    """The handler of a failed child must change the group before the join is looked at again."""
    entry = flow.graph.handlers[f"child:{outcome}"].step
    for name in flow.walk([entry], lambda edge: edge.to.kind == "step" and not _changes(edge, group)):
        for edge in flow.out[name]:
            if edge.to.kind not in ("resume", "redirect") or _changes(edge, group):
                continue
            if edge.to.kind == "resume":
                message = f"{edge.name} resumes after a child ended '{outcome}' without changing group '{group}'"
                hint = "its join would wait for ever: spawn, cancel, redirect or end"
                yield subject.at_edge(13, flow, edge, message, hint)
                continue
            onward = flow.walk([edge.to.name], lambda edge: edge.to.kind == "step" and not _changes(edge, group))
            if waiting := next((step for step in onward if _waits_for(flow.graph.steps[step], group)), ""):
                message = (
                    f"{edge.name} leads after a child ended '{outcome}' to '{waiting}' without changing group '{group}'"
                )
                hint = "its join would wait for ever: spawn or cancel on every path there"
                yield subject.at_edge(13, flow, edge, message, hint)


# Checks 10 and 11: siblings that wait for each other wait at the same place.
#
# A sync edge lands only when every live sibling of the chunk lands there. If each landing (and the start) has exactly
# one next landing, all siblings pass the same sequence of landings, and none is ever more than one behind; ended
# siblings no longer count. So the barrier always opens.


def barriers_are_in_step(subject: ProtocolSubject) -> Iterator[Finding]:
    """10. After a sync edge, the next sync landing is unique, or the end."""
    for flow in subject.flows.values():
        landings = dict.fromkeys(edge.lands_at for edge in flow.edges if edge.syncs and edge.lands_at)
        for start in dict.fromkeys([flow.graph.start, *landings] if landings else []):
            following = _next_landings(flow, start)
            if len(following) > 1:
                first, second = list(following.values())[:2]
                message = (
                    f"from '{start}' siblings can wait for each other at '{first.lands_at}' ({first}) "
                    f"and at '{second.lands_at}' ({second}); neither barrier would open"
                )
                hint = "let every path pass the same `sync` edges, or end"
                yield subject.finding(10, f"{flow.name}.{start}", second.path, message, hint)


def _next_landings(flow: Flow, start: str) -> dict[str, Edge]:
    """Where siblings can wait next after this step, with an edge for each; a handler or a command may move them."""
    starts = [start, *(edge.to.name for edge in flow.redirects), *flow.graph.commanded]
    found: dict[str, Edge] = {}
    for name in flow.walk(starts, lambda edge: edge.to.kind == "step" and not edge.syncs):
        for edge in flow.out[name]:
            if edge.syncs and edge.lands_at:
                found.setdefault(edge.lands_at, edge)
    return found


def barriers_need_a_map(subject: ProtocolSubject) -> Iterator[Finding]:
    """11. Only graphs that maps start in chunks have sync edges; no other graph has siblings that stay together."""
    for flow in subject.flows.values():
        edge = next((edge for edge in flow.edges if edge.syncs), None)
        if edge is None:
            continue
        waits = f"{edge.name} waits for its siblings, but"
        if flow.name == subject.protocol.root:
            message = f"{waits} '{flow.name}' is the root and has none"
            yield subject.at_edge(11, flow, edge, message, "remove `sync`, or map the graph from another")
        for site in (site for site in subject.sites if site.child == flow.name):
            starter = f"'{site.parent}.{site.step}'"
            if site.edge:
                message = f"{waits} {starter} spawns '{flow.name}' one by one"
                yield subject.at_edge(11, flow, edge, message, "start it with a map")
            elif subject.protocol.graphs[site.parent].steps[site.step].after:
                message = f"{waits} {starter} starts it in the order of `after`, not in chunks"
                yield subject.at_edge(11, flow, edge, message, "remove `sync`, or use a window alone")


# The result of a call: the fields of the exit that led its child to a good end.

_DEEPEST_CALL = 16


def result_fields(subject: ProtocolSubject, graph: str, step: str, depth: int = 0) -> dict[str, Field] | None:
    """Return the fields that `step.AllOk` certainly has; None if they cannot be determined."""
    call = subject.protocol.graphs[graph].steps[step]
    child = subject.flows.get(call.graph)
    good = subject.protocol.graphs[graph].ok.get(step, ())
    if call.over or child is None or depth > _DEEPEST_CALL:
        return None
    found: list[dict[str, Field]] = []
    for edge in child.edges:
        if edge.to.kind != "end" or edge.to.name not in good:
            continue
        kind = child.graph.steps[edge.step].kind
        if kind == "map" and edge.key == "AllOk":
            fields = result_fields(subject, child.name, edge.step, depth + 1)
        elif kind in ("agent", "effect"):
            exit_ = subject.protocol.exits.get(tag_of(edge.key))
            fields = exit_.fields if exit_ else {}
        else:
            fields = None
        if fields is None:
            return None
        found.append(fields)
    first = found[0] if found else {}
    return {name: field for name, field in first.items() if all(name in fields for fields in found)}


# Check 15, the items: a graph's children start over lists of their graph's input type.


def items_fit_their_graph(subject: ProtocolSubject) -> Iterator[Finding]:
    """15. `over` names a list routed as items, of the child graph's input type."""
    for site in subject.sites:
        if fault := _unfit_items(subject, site):
            yield subject.finding(15, f"{site.parent}.{site.step}", site.path, *fault)


def _unfit_items(subject: ProtocolSubject, site: Site) -> tuple[str, str] | None:
    graphs = subject.protocol.graphs
    child = graphs.get(site.child)
    wanted = child.input[1] if child else ""
    if not site.over:
        own = graphs[site.parent].input[1]
        if site.edge:
            return f"spawns group '{site.group}' over nothing", "name a field of the exit with `over`"
        if wanted in ("", own):
            return None
        message = f"calls '{site.child}' with its own input '{own}', but that takes '{wanted}'"
        return message, "name the items with `over`, or give both graphs the same input"
    owner, fields = _listing(subject, site)
    name = site.over.rpartition(".")[2]
    starts = f"starts children over '{site.over}'"
    if fields is None:
        return f"{starts}, which is not a list that it knows", "write `in.field` or `step.Exit.field`"
    if name not in fields:
        hint = suggest(name, fields) or f"its fields are {', '.join(fields) or 'none'}"
        return f"{starts}, but {owner} has no field '{name}'", hint
    if fields[name].route != "items":
        return f"{starts}, which is not routed as items", "add `route: items` to the field"
    try:
        expr = bare(parse_type(fields[name].type))
    except TypeNotationError:
        return None  # check 3 reports it
    if not wanted or not isinstance(expr, ListType) or str(expr.item) == wanted:
        return None
    message = f"starts '{site.child}' over items of '{expr.item}', but that takes '{wanted}'"
    return message, "let both be the same type"


def _listing(subject: ProtocolSubject, site: Site) -> tuple[str, dict[str, Field] | None]:
    """The record or exit that `over` looks into, and its fields; None if there is none."""
    protocol = subject.protocol
    parts = site.over.split(".")
    if site.edge:
        exit_ = protocol.exits.get(tag_of(site.edge.key))
        return f"exit '{tag_of(site.edge.key)}'", exit_.fields if exit_ and len(parts) == 1 else None
    if parts[0] == "in" and len(parts) == 2:
        kind = protocol.graphs[site.parent].input[1]
        return f"the input '{kind}'", protocol.types[kind].fields if kind in protocol.types else None
    step = protocol.graphs[site.parent].steps.get(parts[0])
    if step is not None and step.kind == "map" and parts[1:2] == ["AllOk"] and len(parts) == 3:
        return f"the result of '{parts[0]}'", result_fields(subject, site.parent, parts[0])
    if step is None or len(parts) != 3 or parts[1] not in step.exits or parts[1] not in protocol.exits:
        return "", None
    return f"exit '{parts[1]}'", protocol.exits[parts[1]].fields
