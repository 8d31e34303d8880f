"""Checks 1, 2, 4, 12, 19 and 23, the tables: a row for every possible exit, and a value for every slot that is read.

A step's table has a row for each exit and each failure and for nothing else. The slots that a step or an end reads have
been written on every path, the step that an agent's exit leads to reads it, and a decision makes a difference.
"""

import re
from collections.abc import Iterator

import msgspec

from treadle.protocol.checks.evidence import good_outcomes
from treadle.protocol.checks.subject import (
    TRYING_KINDS,
    Edge,
    Flow,
    ProtocolSubject,
    RowTable,
    declared_exits,
    fact_paths,
    is_required,
    step_path,
)
from treadle.protocol.checks.termination import shortest_way
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.guards import GuardError, parse
from treadle.protocol.model import (
    SYSTEM_EXITS,
    Exit,
    Need,
    Send,
    Step,
    base_of,
    exit_keys,
    row,
    system_keys,
    tag_of,
)


def every_exit_is_routed(subject: ProtocolSubject) -> Iterator[Finding]:
    """1. Every exit has rows, and only the last of them is unguarded."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            if step.kind == "ask" and not step.routes:
                yield subject.finding(1, where, path, "the question has no answers", "add `routes: {choice: target}`")
            becomes = {becomes.key for becomes in step.becomes} - set(_own_keys(flow, name))
            for key in flow.keys(name):
                if not key.startswith("!") and key not in becomes and not row(flow.graph, name, key):
                    yield subject.finding(1, where, path, f"exit '{key}' is not routed", "add a row to its table")
        for _, key, rows, where, path in flow.tables:
            if early := next((n for n, way in enumerate(rows[:-1], 1) if not way.when), 0):
                message = f"row {early} of '{key}' has no guard, so the rows after it are never reached"
                yield subject.finding(1, where, path, message, "give it a `when`, or put it last")
            if not rows:
                yield subject.finding(1, where, path, f"exit '{key}' is not routed", "add a row to its table")
            elif when := rows[-1].when:
                message = f"the last row of '{key}' has the guard '{when}'; if it does not hold, no row applies"
                yield subject.finding(1, where, path, message, "add a last row without `when`")


def no_stale_rows(subject: ProtocolSubject) -> Iterator[Finding]:
    """2. No row, gate or `becomes` is for something that cannot happen."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            own = _own_keys(flow, name)
            exits = f"its exits are {', '.join(step.exits) or 'none'}"
            for key in step.routes if step.kind != "ask" else ():
                if fault := _stale_row(flow, name, key, own):
                    yield subject.at_step(2, flow, name, *fault, part=f"routes.{key}")
            for key in step.gates:
                if key not in own:
                    message = f"has a gate for '{key}', by which it cannot leave"
                    hint = suggest(key, own) or exits
                    yield subject.at_step(2, flow, base_of(name), message, hint, f"gates.{key}")
            for becomes in step.becomes:
                if becomes.key not in (*own, *SYSTEM_EXITS):
                    message = f"spent attempts become '{becomes.key}', by which it cannot leave"
                    yield subject.at_step(2, flow, name, message, suggest(becomes.key, own) or exits, "becomes")
            if not step.becomes:
                message, hint = "spent attempts become nothing", "name a key, such as '!exhausted'"
                yield subject.at_step(2, flow, name, message, hint, "becomes")
            elif when := step.becomes[-1].when:
                message = f"the last `becomes` has the guard '{when}'; if it does not hold, no entry applies"
                yield subject.at_step(2, flow, name, message, "add a last entry without `when`", "becomes")
        for key in flow.graph.system:
            if key not in ("!*", *SYSTEM_EXITS) and tag_of(key) != "!gate":
                hint = suggest(key, ("!*", *SYSTEM_EXITS)) or f"system exits are {' '.join(SYSTEM_EXITS)}"
                path = f"graphs.{flow.name}.system.{key}"
                yield subject.finding(2, flow.name, path, f"'{key}' is not a system exit", hint)


def _own_keys(flow: Flow, name: str) -> list[str]:
    """Tags and refined keys that a step can produce by itself."""
    step = flow.graph.steps[name]
    keys = list(exit_keys(flow.protocol, step))
    for tag in step.exits:
        exit_ = flow.protocol.exits.get(tag)
        field = exit_.fields.get(exit_.route_on) if exit_ else None
        # Check 3 refuses a `route_on` that is no enum. Its variants are unknown, so every one that is mentioned passes.
        if exit_ and exit_.route_on and (field is None or "|" not in field.type):
            mentioned = (*step.routes, *step.gates, *(becomes.key for becomes in step.becomes))
            keys += [key for key in mentioned if tag_of(key) == tag]
    if step.kind == "check":
        keys += [f"Failed.{check.name}" for check in step.checks]
    return list(dict.fromkeys([*keys, *map(tag_of, keys)]))


def _stale_row(flow: Flow, name: str, key: str, own: list[str]) -> tuple[str, str] | None:
    """The message and hint for a row that never applies; None for a row that does."""
    step = flow.graph.steps[name]
    if key in own:
        return None
    if not key.startswith("!"):
        hint = suggest(key, own) or f"it leaves by {', '.join(own) or 'nothing'}"
        return f"has a row for '{key}', by which it cannot leave", hint
    checks = {check.name for checks in step.gates.values() for check in checks if not check.advisory}
    possible = [*system_keys(step), *flow.failures(name), *(f"!gate.{check}" for check in sorted(checks))]
    if step.kind in TRYING_KINDS:
        possible += ["!*", "!exhausted"]
    if key in possible:
        return None
    hint = suggest(key, possible) or f"it can fail by {', '.join(dict.fromkeys(possible)) or 'nothing'}"
    return f"has a row for '{key}', which cannot happen here", hint


def failures_are_covered(subject: ProtocolSubject) -> Iterator[Finding]:
    """4. Every system exit that can happen to a step has a row."""
    for flow, name, _ in subject.steps():
        bare = [key for key in flow.failures(name) if row(flow.graph, name, key) is None]
        if bare:
            message = f"nothing says what happens after {', '.join(bare)}"
            hint = 'add rows here, or `system: {"!*": target}` to the graph'
            yield subject.at_step(4, flow, name, message, hint)


# Check 12: every path to a step or an end has written the slots it reads.


def needs_are_met(subject: ProtocolSubject) -> Iterator[Finding]:
    """12. Every required slot of a step, of an end and of a map's items is set on every path to it."""
    for flow in subject.flows.values():
        known = subject.known[flow.name]
        for name, step in flow.graph.steps.items():
            source = step.over.split(".")
            items = [Need(step=source[0], exit=source[1])] if len(source) == 3 else []
            for need in (*step.needs, *items):
                if name in known and is_required(need) and need.slot not in known[name]:
                    ways = [way for way in fact_paths(subject, flow) if need.slot not in way.writes]
                    labels = [way.label for way in shortest_way(flow.graph.start, name, ways) or ()]
                    shown = f"not after {', '.join(labels[-4:])}" if labels else "not at the start"
                    message = f"reads '{need}', which is not set on every path here ({shown})"
                    yield subject.at_step(12, flow, name, message, "mark it optional with '?' or reroute", "needs")
        for edge in flow.edges:
            needs = flow.graph.ends.get(edge.to.name, ()) if edge.to.kind == "end" and edge.step in known else ()
            for need in needs:
                if is_required(need) and need.slot not in known[edge.step] | edge.slots:
                    message = (
                        f"{edge.name} ends in '{edge.to.name}', which needs '{need}'; "
                        "that is not set on every path here"
                    )
                    yield subject.at_edge(12, flow, edge, message, "lead it elsewhere, or mark the need with '?'")
        yield from _needs_of_a_parent(subject, flow)


def _needs_of_a_parent(subject: ProtocolSubject, flow: Flow) -> Iterator[Finding]:
    """Report a slot of the parent that an instance reads but that is not written wherever the instance starts."""
    for name, step in flow.graph.steps.items():
        for need in step.needs:
            if not need.up or need.optional or need.every:
                continue
            if flow.name == subject.protocol.root:
                message = f"reads '{need}', but the root has no parent"
                yield subject.at_step(12, flow, name, message, "mark it optional with '?'", "needs")
            for site in (site for site in subject.sites if site.child == flow.name):
                known = subject.known[site.parent].get(site.step)  # None if no path leads to the site
                if known is not None and need.slot not in known | site.writes:
                    message = f"reads '{need}', which is not set when '{site.parent}.{site.step}' starts it"
                    yield subject.at_step(12, flow, name, message, "mark it optional with '?'", "needs")


# Check 19: the step an exit leads to declares that it reads the exit, so no part of an agent's answer is lost.


def exits_are_delivered(subject: ProtocolSubject) -> Iterator[Finding]:
    """19. The step or outcome that an exit, a parent's answer or a failure report leads to lists it in its needs."""
    for flow in subject.flows.values():
        # One finding for all failures with the same row, and one for all variants of an exit.
        lost: dict[tuple[str, str, str], list[tuple[Edge, str]]] = {}
        for edge in flow.edges:
            if slot := _lost_slot(subject, flow, edge):
                place = (edge.step, edge.name if edge.is_system else slot, edge.to.name)
                lost.setdefault(place, []).append((edge, slot))
        for edges in lost.values():
            edge, slot = edges[0]
            key = edge.key
            if edge.is_system and len(edges) > 1:
                key = slot = edge.name
            exit_ = subject.protocol.exits.get(tag_of(edge.key))
            what = "the report of the failure" if edge.is_system else "its fields" if exit_ and exit_.fields else "it"
            kind = "outcome " if edge.to.kind == "end" else ""
            message = f"{key} leads to {kind}'{edge.to.name}', which does not take {what}"
            yield subject.at_edge(19, flow, edge, message, f"add '{slot}?' to the needs of '{edge.to.name}'")


def _lost_slot(subject: ProtocolSubject, flow: Flow, edge: Edge) -> str:
    """The slot that the goal of an edge should list and does not; empty if nothing is lost."""
    source = flow.graph.steps[edge.step]
    # A parent answers with an exit of its own; a person answers with a word, which the choice of the row already tells.
    answered = source.asks == "parent" and edge.key in subject.protocol.exits
    if edge.to.kind == "resume" or (source.kind == "ask" and not answered):
        return ""
    goal = None if edge.to.kind == "end" else flow.graph.steps.get(edge.lands_at)
    needs = flow.graph.ends.get(edge.to.name) if edge.to.kind == "end" else goal.needs if goal else None
    to_itself = edge.lands_at == edge.step
    if needs is None or (to_itself and (edge.is_system or source.kind in ("check", "map"))):
        return ""
    tag = tag_of(edge.key)
    if edge.is_system:
        accepted = {need.exit for need in needs if not need.step}
        return "" if accepted & {edge.key, tag, "!*"} else tag
    slot = f"{edge.step}.{tag}"
    over = goal.over.rpartition(".")[0] if goal else ""
    return "" if slot == over or any(need.slot == slot and not need.up for need in needs) else slot


def reports_arrive(subject: ProtocolSubject) -> Iterator[Finding]:
    """19. No step and no outcome waits for the report of a failure that never leads there."""
    hint = "lead one here, or remove the need"
    for flow in subject.flows.values():
        arriving: dict[str, set[str]] = {}
        for edge in flow.edges:
            if edge.is_system:
                goal = f"@end:{edge.to.name}" if edge.to.kind == "end" else edge.lands_at
                arriving.setdefault(goal, set()).update((edge.key, tag_of(edge.key), "!*"))
                arriving.setdefault(base_of(goal), set()).add("!*")
        for name, step in flow.graph.steps.items():
            known = arriving.get(name, set()) | ({"!*"} & arriving.get(base_of(name), set()))
            for need in step.needs:
                if not need.step and need.exit not in known:
                    message = f"reads '{need}', but no such failure leads here"
                    yield subject.at_step(19, flow, name, message, hint, "needs")
        for outcome, needs in flow.graph.ends.items():
            for need in needs:
                if not need.step and need.exit not in arriving.get(f"@end:{outcome}", set()):
                    message = f"reads '{need}', but no such failure leads here"
                    yield subject.finding(19, flow.name, f"graphs.{flow.name}.ends.{outcome}", message, hint)


# Check 23: every decision makes a difference.

_VARIABLE = re.compile(r"\bvars\.(\w+)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _names_read(tables: list[RowTable], *, by_sets: bool = True) -> set[str]:
    """The names that the guards of these rows look at, and those that their assignments look at."""
    found: set[str] = set()
    for way in (way for table in tables for way in table.rows):
        for text in (way.when, *(way.sets.values() if by_sets else ())):
            try:
                found |= parse(text).names if text else set()
            except GuardError:
                continue  # check 18 reports it
    return found


def decisions_make_a_difference(subject: ProtocolSubject) -> Iterator[Finding]:
    """23. Routed fields, variables and guards decide something; approval, abort and attempts live up to their names."""
    protocol = subject.protocol
    for name, exit_ in protocol.exits.items():
        routing = [table for flow in subject.flows.values() for table in flow.tables if tag_of(table.key) == name]
        if routing:
            yield from _unread_fields(subject, name, exit_, _names_read(routing))
    shown = {name for text in protocol.templates.values() for name in _VARIABLE.findall(text)}
    lines = [text for role in protocol.roles.values() for text in role.params.values()]
    shown |= {name for text in lines for name in _PLACEHOLDER.findall(text)}
    for flow in subject.flows.values():
        guarding = _names_read(flow.tables, by_sets=False)
        for name in flow.graph.vars:
            if name not in guarding | shown:
                message = f"variable '{name}' decides nothing: no guard and no template reads it"
                path = f"graphs.{flow.name}.vars.{name}"
                yield subject.finding(23, flow.name, path, message, "read it in a guard or a template, or remove it")
        yield from _idle_guards(subject, flow)
        read = _names_read(flow.tables)
        for name, step in flow.graph.steps.items():
            yield from _idle_approval(subject, flow, name, step, read)
            yield from _false_abort(subject, flow, name, step)
            yield from _half_retry(subject, flow, name, step)


def _unread_fields(subject: ProtocolSubject, name: str, exit_: Exit, read: set[str]) -> Iterator[Finding]:
    for field_name, field in exit_.fields.items():
        path = f"exits.{name}.{field_name}"
        if field.route == "value" and field.by == "agent" and f"data.{field_name}" not in read:
            message = f"field '{field_name}' is routed, but no row of '{name}' looks at it"
            yield subject.finding(23, name, path, message, "look at it in a guard, or remove `route: true`")
        if field.route == "asked" and "same_question" not in read:
            message = f"field '{field_name}' is routed as a question, but no row of '{name}' counts it"
            yield subject.finding(
                23, name, path, message, "look at `same_question` in a guard, or remove `route: asked`"
            )


def _idle_guards(subject: ProtocolSubject, flow: Flow) -> Iterator[Finding]:
    """Report a guarded row with the same effect as all rows after it."""
    for _, key, rows, where, path in flow.tables:
        effects = [msgspec.structs.replace(way, when="") for way in rows]
        for n, first in enumerate(rows[:-1]):
            if first.when and all(effect == effects[n] for effect in effects[n + 1 :]):
                message = f"the guard '{first.when}' decides nothing: what follows in '{key}' does the same"
                yield subject.finding(23, where, path, message, "let them differ, or remove one")


def _idle_approval(subject: ProtocolSubject, flow: Flow, name: str, step: Step, read: set[str]) -> Iterator[Finding]:
    """Report an approval that leads where a refusal leads, if no guard reads it later through `last`."""
    exits = declared_exits(subject.protocol, step)
    refusals = [tag for tag, exit_ in exits.items() if not exit_.proves and exit_.severity != "INFO"]
    for tag in (tag for tag, exit_ in exits.items() if exit_.proves == "approval"):
        for other in refusals:
            if f"last.{name}" not in read and row(flow.graph, name, tag) == row(flow.graph, name, other):
                message = f"'{tag}' leads where '{other}' leads, so the approval decides nothing"
                yield subject.at_step(
                    23, flow, name, message, "let them differ, or look at `last`", part=f"routes.{tag}"
                )


def _false_abort(subject: ProtocolSubject, flow: Flow, name: str, step: Step) -> Iterator[Finding]:
    """Report an `abort` that gives up neither this instance nor the one that asked."""
    good = good_outcomes(subject, flow.name)
    for way in step.routes.get("abort", ()) if step.kind == "ask" else ():
        passed_on = any(isinstance(action, Send) and action.to == "sender" for action in way.do)
        if not passed_on and not (way.to.startswith("@end:") and way.to[5:] not in good):
            message = f"'abort' leads to '{way.to}', which gives nothing up"
            hint = "lead it to an outcome that is not good, or rename it"
            yield subject.at_step(23, flow, base_of(name), message, hint, "routes.abort")


def _half_retry(subject: ProtocolSubject, flow: Flow, name: str, step: Step) -> Iterator[Finding]:
    """A claim that was refused for its form and one refused by a gate are both tried again, or neither is."""
    if step.kind != "agent" or step.attempts < 2 or not step.gates:
        return
    for key in ("!gate", "!invalid"):
        if not any(way.to == name for way in row(flow.graph, name, key) or ()):
            message = f"has {step.attempts} attempts, but {key} does not try again"
            hint = f"add `'{key}': '@self'`, or allow one attempt"
            yield subject.at_step(23, flow, name, message, hint, "routes")
            return
