"""Checks 1, 2 and 4: a step's table has a row for everything that can happen to it, and for nothing else."""

from collections.abc import Iterator

from treadle.protocol.checks.flow import TRYING_KINDS, Flow, step_path
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import SYSTEM_EXITS, Exit, Rows, base_of, exit_keys, row, system_keys, tag_of


def every_exit_is_routed(subject: Subject) -> Iterator[Finding]:
    """1. Every exit has rows, of which only the last is unguarded."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            if step.kind == "ask" and not step.routes:
                yield subject.finding(1, where, path, "the question has no answers", "add `routes: {choice: target}`")
            becomes = {becomes.key for becomes in step.becomes} - set(_own_keys(flow, name))
            for key in flow.keys(name):
                if not key.startswith("!") and key not in becomes and not row(flow.graph, name, key):
                    yield subject.finding(1, where, path, f"exit '{key}' is not routed", "add a row to its table")
            for key, rows in step.routes.items():
                yield from _guarded(subject, where, f"{path}.routes.{key}", key, rows)
        for key, rows in flow.graph.system.items():
            yield from _guarded(subject, flow.name, f"graphs.{flow.name}.system.{key}", key, rows)


def _guarded(subject: Subject, where: str, path: str, key: str, rows: Rows) -> Iterator[Finding]:
    early = next((n for n, way in enumerate(rows[:-1], 1) if not way.when), 0)
    if early:
        message = f"row {early} of '{key}' has no guard, so the rows after it are never reached"
        yield subject.finding(1, where, path, message, "give it a `when`, or put it last")
    if not rows:
        yield subject.finding(1, where, path, f"exit '{key}' is not routed", "add a row to its table")
    elif rows[-1].when:
        message = f"the last row of '{key}' has the guard '{rows[-1].when}'; when it does not hold, nothing does"
        yield subject.finding(1, where, path, message, "add a last row without `when`")


def no_stale_rows(subject: Subject) -> Iterator[Finding]:
    """2. No row, gate or `becomes` speaks of something that cannot happen."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            where, path = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            own = _own_keys(flow, name)
            for key in step.routes if step.kind != "ask" else ():
                yield from _stale_row(subject, flow, name, key, own)
            for key in step.gates:
                if key not in own:
                    hint = suggest(key, own) or f"its exits are {', '.join(step.exits) or 'none'}"
                    message = f"has a gate for '{key}', by which it cannot leave"
                    yield subject.finding(2, where, f"{path}.gates.{key}", message, hint)
            yield from _becomes(subject, flow, name, own)
        for key in flow.graph.system:
            if key not in ("!*", *SYSTEM_EXITS) and tag_of(key) != "!gate":
                hint = suggest(key, ("!*", *SYSTEM_EXITS)) or f"system exits are {' '.join(SYSTEM_EXITS)}"
                path = f"graphs.{flow.name}.system.{key}"
                yield subject.finding(2, flow.name, path, f"'{key}' is not a system exit", hint)


def _own_keys(flow: Flow, name: str) -> list[str]:
    """Tags and refined keys that a step can produce by itself."""
    step = flow.graph.steps[name]
    keys = list(exit_keys(flow.protocol, step))
    for name_ in step.exits:
        exit_ = flow.protocol.exits.get(name_)
        if exit_ and exit_.route_on and not _is_enum(exit_):  # said by check 3; nothing more can be told
            keys += [key for key in (*step.routes, *step.gates, *(b.key for b in step.becomes)) if tag_of(key) == name_]
    if step.kind == "check":
        keys += [f"Failed.{check.name}" for check in step.checks]
    return list(dict.fromkeys([*keys, *map(tag_of, keys)]))


def _is_enum(exit_: Exit) -> bool:
    field = exit_.fields.get(exit_.route_on)
    return field is not None and "|" in field.type


def _stale_row(subject: Subject, flow: Flow, name: str, key: str, own: list[str]) -> Iterator[Finding]:
    step = flow.graph.steps[name]
    path = f"{step_path(flow.name, name)}.routes.{key}"
    where = f"{flow.name}.{name}"
    if key in own:
        return
    if not key.startswith("!"):
        hint = suggest(key, own) or f"it leaves by {', '.join(own) or 'nothing'}"
        yield subject.finding(2, where, path, f"has a row for '{key}', by which it cannot leave", hint)
        return
    checks = {check.name for checks in step.gates.values() for check in checks if not check.advisory}
    possible = [*system_keys(step), *flow.failures(name), *(f"!gate.{check}" for check in sorted(checks))]
    if step.kind in TRYING_KINDS:
        possible += ["!*", "!exhausted"]
    possible = list(dict.fromkeys(possible))
    if key not in possible:
        hint = suggest(key, possible) or f"it can fail by {', '.join(possible) or 'nothing'}"
        yield subject.finding(2, where, path, f"has a row for '{key}', which cannot happen here", hint)


def _becomes(subject: Subject, flow: Flow, name: str, own: list[str]) -> Iterator[Finding]:
    step = flow.graph.steps[name]
    where, path = f"{flow.name}.{name}", f"{step_path(flow.name, name)}.becomes"
    for becomes in step.becomes:
        if becomes.key not in (*own, *SYSTEM_EXITS):
            hint = suggest(becomes.key, own) or f"its exits are {', '.join(step.exits) or 'none'}"
            message = f"spent attempts become '{becomes.key}', by which it cannot leave"
            yield subject.finding(2, where, path, message, hint)
    if not step.becomes:
        yield subject.finding(2, where, path, "spent attempts become nothing", "name a key, such as '!exhausted'")
    elif step.becomes[-1].when:
        message = f"the last `becomes` has the guard '{step.becomes[-1].when}'; when it does not hold, nothing does"
        yield subject.finding(2, where, path, message, "add a last entry without `when`")


def failures_are_covered(subject: Subject) -> Iterator[Finding]:
    """4. Every system exit that can happen to a step has a row."""
    for flow in subject.flows.values():
        for name in flow.graph.steps:
            bare = [key for key in flow.failures(name) if row(flow.graph, name, key) is None]
            if bare:
                message = f"nothing says what happens after {', '.join(bare)}"
                hint = 'add rows here, or `system: {"!*": target}` to the graph'
                yield subject.finding(4, f"{flow.name}.{name}", step_path(flow.name, name), message, hint)
