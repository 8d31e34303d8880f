"""Checks 5, 6, 9 and 17, termination: every step is reachable, has a way to an end, and every loop is bounded."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from treadle.protocol.checks.subject import TRYING_KINDS, Edge, Flow, ProtocolSubject
from treadle.protocol.findings import Finding
from treadle.protocol.model import ResetThread, Send, Spawn, Tier, base_of, row, tag_of


def every_step_is_reachable(subject: ProtocolSubject) -> Iterator[Finding]:
    """5. Some run starts every graph, and a path leads to every step from the start or from a handler."""
    whole = all(site.child in subject.protocol.graphs for site in subject.sites)
    for name in subject.protocol.graphs if subject.live_graphs and whole else ():
        if name not in subject.live_graphs:
            message = f"no run comes to graph '{name}'"
            hint = f"spawn or map it from '{subject.protocol.root}' or what that starts, or remove it"
            yield subject.finding(5, name, f"graphs.{name}", message, hint)
    for flow in subject.flows.values():
        # A mistyped name would make all steps behind it look unreachable; its own finding is enough.
        steps = flow.graph.steps
        entries = [flow.graph.start, *(handler.step for handler in flow.graph.handlers.values())]
        goals = [edge.lands_at for edge in flow.edges if edge.lands_at]
        routed = all(row(flow.graph, name, key) for name in steps for key in flow.keys(name))
        if not routed or not all(name in steps for name in (*entries, *goals)):
            continue
        for name in steps:
            if name not in flow.main | flow.handler_steps:
                hint = f"lead a row to it from '{flow.graph.start}' or a handler, or remove it"
                yield subject.at_step(5, flow, name, "is never reached", hint)


def every_signal_finds_a_handler(subject: ProtocolSubject) -> Iterator[Finding]:
    """5. At least one graph that can receive a signal to a parent, to children or to siblings handles it."""
    receiving = {"parent": subject.parents, "children": subject.children, "siblings": subject.siblings}
    seen: set[tuple[str, str, str]] = set()
    for flow, edge in subject.edges():
        for action in edge.actions:
            if not isinstance(action, Send) or action.to == "sender" or (edge.path, action.signal, action.to) in seen:
                continue
            seen.add((edge.path, action.signal, action.to))
            recipients = receiving[action.to](flow.name)
            if any(action.signal in subject.protocol.graphs[name].handlers for name in recipients):
                continue
            message = f"{edge.name} sends '{action.signal}' to its {action.to}, "
            if recipients:
                hint = f"add a handler for it to {' or '.join(sorted(recipients))}"
                yield subject.at_edge(5, flow, edge, message + "but none of them handles it", hint)
            else:
                yield subject.at_edge(5, flow, edge, message + "of which there are none", "remove the send")


def every_step_reaches_an_end(subject: ProtocolSubject) -> Iterator[Finding]:
    """6. From every step some path leads to an end, or back to the interrupted work."""
    for flow in subject.flows.values():
        before: dict[str, list[str]] = {}
        for edge in flow.edges:
            before.setdefault(edge.lands_at, []).append(edge.step)
        leaving: set[str] = set()
        todo = list(before.get("", ()))
        while todo:
            step = todo.pop()
            if step not in leaving:
                leaving.add(step)
                todo += before.get(step, ())
        for name in flow.graph.steps:
            if flow.out[name] and name not in leaving:
                hint = "lead one of its rows, or of those it leads to, to `@end:Outcome` or `@resume`"
                yield subject.at_step(6, flow, name, "no path leads from here to an end", hint)


# Strongly connected components and shortest cycles of small graphs, in a stable order.


class Arrow(Protocol):
    """Anything that leads from one name to another."""

    @property
    def source(self) -> str: ...
    @property
    def goal(self) -> str: ...


A = TypeVar("A", bound=Arrow)


def components(nodes: Iterable[str], arrows: Sequence[A]) -> list[frozenset[str]]:
    """The strongly connected components, by Kosaraju's two passes without recursion."""
    names = list(nodes)
    forward: dict[str, list[str]] = {name: [] for name in names}
    backward: dict[str, list[str]] = {name: [] for name in names}
    for arrow in arrows:
        forward[arrow.source].append(arrow.goal)
        backward[arrow.goal].append(arrow.source)
    done: set[str] = set()
    order = [name for start in names for name in _finished(start, forward, done)]
    done.clear()
    return [frozenset(part) for start in reversed(order) if (part := _finished(start, backward, done))]


def _finished(start: str, ways: dict[str, list[str]], done: set[str]) -> list[str]:
    """The nodes reached from a start that were not done before, in the order in which they are finished."""
    if start in done:
        return []
    done.add(start)
    found: list[str] = []
    stack = [(start, iter(ways[start]))]
    while stack:
        name, rest = stack[-1]
        fresh = next((goal for goal in rest if goal not in done), None)
        if fresh is None:
            found.append(name)
            stack.pop()
        else:
            done.add(fresh)
            stack.append((fresh, iter(ways[fresh])))
    return found


def shortest_cycle(arrows: Sequence[A]) -> list[A]:
    """Return a shortest cycle among arrows that contain at least one; ties go to the first arrow."""
    best: list[A] = []
    for arrow in arrows:
        way = shortest_way(arrow.goal, arrow.source, arrows)
        if way is not None and (not best or len(way) + 1 < len(best)):
            best = [arrow, *way]
    return best


def shortest_way(start: str, goal: str, arrows: Sequence[A]) -> list[A] | None:
    """Return the shortest list of arrows from one name to another, empty if they are the same; None without a way."""
    ways: dict[str, list[A]] = {start: []}
    todo = [start]
    for name in todo:
        if name == goal:
            return ways[name]
        for arrow in arrows:
            if arrow.source == name and arrow.goal not in ways:
                ways[arrow.goal] = [*ways[name], arrow]
                todo.append(arrow.goal)
    return None


# Check 9: every loop is bounded by a budget that nothing in it refills, by attempts, or by a person.
#
# In a strongly connected part, a run can take an edge that charges a budget only so often unless some step of that
# part refills the budget. The check removes such edges and looks at the rest again, part by part: the budgets found
# on the way down form a lexicographic ranking that every walk through the graph lowers. If a part is still a loop and
# no edge can be removed, an unlucky run never leaves it.
#
# A handler that redirects (`^step`) closes loops as well: its signal can come at any time, so the check adds an edge
# to it from every main step. A handler that resumes closes no loop, because the work goes on where it was, unless it
# restarts failed children. Nor does a signal that no graph sends: it comes from outside, each time by a person's
# will.


class Arc(NamedTuple):
    """An edge of the loop analysis: a row, or the interruption of a main step by a signal."""

    source: str
    goal: str
    label: str
    charges: str = ""
    path: str = ""


def loops_are_bounded(subject: ProtocolSubject) -> Iterator[Finding]:
    """9. No loop in a graph runs for ever without a person."""

    def shortened(names: list[str]) -> list[str]:
        return names if len(names) <= 6 else [*names[:6], "…"]

    for flow in subject.flows.values():
        for cycle, charged in _unbounded(flow, _arcs(flow, subject.sent)):
            circle = " → ".join([*shortened([arc.source for arc in cycle]), cycle[0].source])
            message = f"unbounded loop {circle}, by {', '.join(shortened([arc.label for arc in cycle]))}"
            hint = "charge a budget on one of these edges, or lead it through a person"
            if charged:
                hint = f"budget '{min(charged)}' is refilled inside the loop; charge one that is not"
            path = next((arc.path for arc in cycle if arc.path), f"graphs.{flow.name}")
            yield subject.finding(9, flow.name, path, message, hint)


def _unbounded(flow: Flow, arcs: list[Arc]) -> Iterator[tuple[list[Arc], set[str]]]:
    """Yield a shortest cycle of each unbounded part, and the budgets that it charges in vain."""
    for part in components(flow.graph.steps, arcs):
        inner = [arc for arc in arcs if arc.source in part and arc.goal in part]
        charged = {arc.charges for arc in inner if arc.charges in flow.graph.budgets}
        inside = part | {base_of(step) for step in part}
        bounding = {name for name in charged if inside.isdisjoint(flow.graph.budgets[name].resets)}
        if bounding:
            yield from _unbounded(flow, [arc for arc in inner if arc.charges not in bounding])
        elif inner:
            yield shortest_cycle(inner), charged


def _arcs(flow: Flow, sent: frozenset[str]) -> list[Arc]:
    graph = flow.graph
    arcs = [
        Arc(edge.step, edge.lands_at, str(edge), edge.charges, edge.path)
        for edge in flow.edges
        if edge.lands_at in graph.steps and not _is_bounded(flow, edge)
    ]
    redirecting = {edge.step for edge in flow.redirects}
    main = [name for name in graph.steps if name in flow.main]
    for signal, steps in flow.handled.items():
        if steps & redirecting and (signal in sent or signal.startswith("child:")):
            label, path = f"signal {signal}", f"graphs.{flow.name}.handlers.{signal}"
            arcs += [Arc(name, graph.handlers[signal].step, label, path=path) for name in main]
    # The handler of a failed child that starts children again may have to do so again.
    for signal in (signal for signal in flow.handled if signal.startswith("child:")):
        for edge in flow.edges:
            person = graph.steps[edge.step].asks == "human"
            spawns = any(isinstance(action, Spawn) for action in edge.actions)
            if edge.step in flow.handled[signal] and edge.to.kind == "resume" and spawns and not person:
                entry = graph.handlers[signal].step
                arcs.append(Arc(edge.step, entry, f"{edge}, {signal}", edge.charges, edge.path))
    return arcs


def _is_bounded(flow: Flow, edge: Edge) -> bool:
    """Whether something other than a budget bounds an edge: a person decides, or attempts run out."""
    source, goal = flow.graph.steps[edge.step], flow.graph.steps[edge.lands_at]
    if source.kind == "ask" and source.asks != "parent" and edge.key != source.default:
        return True
    if edge.lands_at == edge.step:
        return _is_retry(flow, edge)
    return any(wait.kind == "manual" for wait in goal.wait)


def _is_retry(flow: Flow, edge: Edge) -> bool:
    """Whether an edge tries its step again and counts an attempt."""
    tries = flow.graph.steps[edge.step].kind in TRYING_KINDS
    return tries and edge.lands_at == edge.step and not edge.row.fresh and not edge.over


# Check 9, the budgets: each bounds something, and is not refilled where it is spent.


def budgets_bound_something(subject: ProtocolSubject) -> Iterator[Finding]:
    """9. Some row charges a budget, and no step both charges and refills it."""
    for flow in subject.flows.values():
        for name, budget in flow.graph.budgets.items():
            path = f"graphs.{flow.name}.budgets.{name}"
            charging = {base_of(edge.step) for edge in flow.edges if edge.charges == name}
            if not charging:
                message = f"budget '{name}' bounds nothing: no row charges it"
                hint = "charge it on the rows that it should bound, or remove it"
                yield subject.finding(9, flow.name, path, message, hint)
            for step in dict.fromkeys(map(base_of, budget.resets)):
                if step in charging:
                    message = f"budget '{name}' is refilled at '{step}', which charges it, so it is never spent"
                    hint = "refill it outside of what it bounds"
                    yield subject.finding(9, flow.name, f"{path}.resets", message, hint)


# Check 17: a row that starts over without counting attempts charges a budget and changes something; a step that retries
# has more than one attempt.


def fresh_starts_are_paid_for(subject: ProtocolSubject) -> Iterator[Finding]:
    """17. `fresh` and `tier` rows charge a budget; spent attempts do not lead to the same attempts again."""
    for flow, edge in subject.edges():
        for message, hint in _unpaid(flow, edge):
            yield subject.at_edge(17, flow, edge, f"{edge.name} {message}", hint)


def _unpaid(flow: Flow, edge: Edge) -> Iterator[tuple[str, str]]:
    step = flow.graph.steps[edge.step]
    to_itself = edge.to.kind == "step" and edge.to.name == edge.step
    if edge.row.fresh and not edge.over:
        if not to_itself:
            yield "is fresh but leads to another step", "remove `fresh`: entering a step starts anew anyway"
        elif not edge.row.charge:
            yield "starts its step afresh without end", "charge a budget"
    if any(isinstance(action, Tier) for action in edge.actions):
        if not edge.row.charge:
            yield "moves to a stronger model without end", "charge a budget"
        if step.kind != "agent":
            yield "moves to a stronger model, but no agent works here", "remove `tier`"
    exhaustion = any(edge.key in (becomes.key, tag_of(becomes.key)) for becomes in step.becomes)
    if to_itself and exhaustion and _is_retry(flow, edge):
        yield "is what spent attempts become, and leads to the same attempts again", "add `fresh: true`"


def fresh_starts_differ(subject: ProtocolSubject) -> Iterator[Finding]:
    """17. A fresh row moves to a stronger model, or forgets the conversations that the step continues."""
    for flow, edge in subject.edges():
        if not edge.row.fresh or edge.over or edge.lands_at != edge.step:
            continue
        forgotten = {action.step or edge.step for action in edge.actions if isinstance(action, ResetThread)}
        if not forgotten and not any(isinstance(action, Tier) for action in edge.actions):
            message = f"{edge.key} starts afresh with everything as it was"
            yield subject.at_edge(17, flow, edge, message, "add `do: [{tier: 1}]` or a `reset_thread`")
        thread = flow.graph.steps[edge.step].thread
        resumed = {thread.step} if thread.kind == "resume" and thread.step and not thread.up else set()
        for step in sorted({edge.step, *resumed} - forgotten) if forgotten else ():
            message = f"{edge.key} starts afresh, but goes on with the conversation of '{step}'"
            yield subject.at_edge(17, flow, edge, message, f"add `reset_thread: {step}`")


def retries_have_attempts(subject: ProtocolSubject) -> Iterator[Finding]:
    """17. A step that leads to itself has more than one attempt."""
    for flow, edge in subject.edges():
        if _is_retry(flow, edge) and flow.graph.steps[edge.step].attempts < 2:
            message = f"{edge.key} tries again, but there is only one attempt"
            yield subject.at_edge(17, flow, edge, message, "allow more `attempts`")
