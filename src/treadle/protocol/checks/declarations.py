"""Checks 3, 5 and 20, the declarations: types, exits, roles, commands and numbers make sense, and each is used."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from treadle.protocol.answers.schema import TAG, TOOL
from treadle.protocol.checks.subject import ProtocolSubject, declared_exits
from treadle.protocol.fields import (
    SCALARS,
    EnumType,
    ListType,
    RecordType,
    ScalarType,
    TypeNotationError,
    bare,
    parse_type,
    record_of,
    type_fault,
)
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import ABORTED, Exit, Field, Protocol, Record, Role, Step, base_of
from treadle.protocol.vocabulary import CHECKS

TOOLCHAIN: Final = ("build", "test", "contract", "lint", "format", "api_dump", "collect", "interface")
"""The commands that a project can configure."""


def declarations_hold_together(subject: ProtocolSubject) -> Iterator[Finding]:
    """3. Types, exits, roles and the root mention only existing names."""
    protocol = subject.protocol
    if protocol.root not in protocol.graphs:
        hint = suggest(protocol.root, protocol.graphs) or "name one of its graphs"
        yield subject.finding(3, "", "root", f"the root is unknown graph '{protocol.root}'", hint)
    yield from _record_faults(subject)
    for name, exit_ in protocol.exits.items():
        yield from _field_faults(subject, name, f"exits.{name}", exit_.fields)
        yield from _route_on_faults(subject, name, exit_)
    for name, role in protocol.roles.items():
        yield from _role_faults(subject, name, role)
    for command in protocol.toolchain:
        if command not in TOOLCHAIN:
            hint = suggest(command, TOOLCHAIN) or f"commands are {', '.join(TOOLCHAIN)}"
            yield subject.finding(3, "", "toolchain", f"unknown toolchain command '{command}'", hint)


def _record_faults(subject: ProtocolSubject) -> Iterator[Finding]:
    types = subject.protocol.types
    endless = _endless(types)
    for name, record in types.items():
        if name in SCALARS:
            message = f"a record cannot be called '{name}', which is a type of the language"
            yield subject.finding(3, name, f"types.{name}", message, "rename it")
        if name in endless:
            needed = [endless[name]]
            while endless[needed[-1]] not in needed and needed[-1] != name:
                needed.append(endless[needed[-1]])
            chain = ", which needs ".join(f"a '{other}'" for other in needed)
            message = f"no value of '{name}' can be written down: it needs {chain}, and so on"
            hint = f"make one of them optional, as in `{endless[name]}?`, or a list"
            yield subject.finding(3, name, f"types.{name}", message, hint)
        yield from _field_faults(subject, name, f"types.{name}", record.fields)


def _endless(types: Mapping[str, Record]) -> dict[str, str]:
    """Records that need a value of a record that needs … for ever → the one they need."""
    needed: dict[str, list[str]] = {name: [] for name in types}
    for name, record in types.items():
        for field in record.fields.values():
            try:
                expr = parse_type(field.type)
            except TypeNotationError:
                continue  # `_fields` reports it
            if isinstance(expr, RecordType):
                needed[name].append(expr.name)
    left = set(types)
    while ended := {name for name in left if not any(other in left for other in needed[name])}:
        left -= ended
    return {name: next(other for other in needed[name] if other in left) for name in types if name in left}


def _field_faults(subject: ProtocolSubject, where: str, path: str, fields: Mapping[str, Field]) -> Iterator[Finding]:
    types = subject.protocol.types
    for name, field in fields.items():
        place = f"{path}.{name}"
        fault = type_fault(field.type, types)
        if fault is not None:
            yield subject.finding(3, where, place, f"field '{name}': {fault.message}", fault.hint)
            continue
        expr = bare(parse_type(field.type))
        if field.route == "asked" and (expr.item if isinstance(expr, ListType) else expr) != ScalarType("text"):
            message = f"field '{name}' is routed as a question, but '{field.type}' is not a text"
            yield subject.finding(3, where, place, message, "write `text` or `[text]`, or remove `route`")
        if field.route != "items":
            continue
        record = record_of(expr)
        if not isinstance(expr, ListType):
            message = f"field '{name}' is routed as items, but '{field.type}' is not a list"
            yield subject.finding(3, where, place, message, "write `[T]`, or `route: true`")
        elif record and types[record].key not in types[record].fields:
            message = f"field '{name}' is routed as items, but type '{record}' has no field '{types[record].key}'"
            hint = suggest(types[record].key, types[record].fields) or "say with `key` which field identifies an item"
            yield subject.finding(3, where, f"types.{record}", message, hint)


def _route_on_faults(subject: ProtocolSubject, name: str, exit_: Exit) -> Iterator[Finding]:
    if not exit_.route_on:
        return
    path = f"exits.{name}.route_on"
    field = exit_.fields.get(exit_.route_on)
    if field is None:
        hint = suggest(exit_.route_on, exit_.fields) or "name one of its enum fields"
        yield subject.finding(3, name, path, f"routes on unknown field '{exit_.route_on}'", hint)
    elif type_fault(field.type, subject.protocol.types) is None and not isinstance(parse_type(field.type), EnumType):
        message = f"routes on '{exit_.route_on}', which is '{field.type}' and not an enum"
        yield subject.finding(3, name, path, message, "write its values as `A | B`")


def _role_faults(subject: ProtocolSubject, name: str, role: Role) -> Iterator[Finding]:
    protocol = subject.protocol
    templates = [(f"roles.{name}.template", role.template)]
    for mode_name, mode in role.modes.items():
        path = f"roles.{name}.modes.{mode_name}"
        templates.append((f"{path}.template", mode.template))
        for exit_ in mode.exits:
            if exit_ not in protocol.exits:
                hint = suggest(exit_, protocol.exits) or "declare it under `exits`"
                yield subject.finding(3, name, f"{path}.exits", f"mode '{mode_name}': unknown exit '{exit_}'", hint)
    for path, template in templates:
        if template and template not in protocol.templates:
            hint = suggest(template, protocol.templates) or f"write templates/{template}"
            yield subject.finding(3, name, path, f"unknown template '{template}'", hint)
    if not role.models:
        yield subject.finding(3, name, f"roles.{name}.models", "has no models", "name at least one tier")


# Check 3, the names in an answer: each means one thing, to the agent that writes it and to every reader.

MAX_TOOL: Final = 64
"""How long the name of a tool may be; model APIs refuse longer ones."""


def aliases_are_unambiguous(subject: ProtocolSubject) -> Iterator[Finding]:
    """3. No field has the name of an answer's tag, no alias stands for two things, no tool's name is too long."""
    protocol = subject.protocol
    for name, exit_ in protocol.exits.items():
        for field, declared in exit_.fields.items():
            if TAG in (field, *declared.also):
                message = f"a field cannot be called '{TAG}', which says in an answer which exit it is"
                yield subject.finding(3, name, f"exits.{name}.{field}", message, "rename it, e.g. 'kind'")
        if len(TOOL + name) > MAX_TOOL:
            message = f"its tool would be called '{TOOL}{name}', {len(TOOL + name)} characters"
            hint = f"an exit's name has at most {MAX_TOOL - len(TOOL)} characters"
            yield subject.finding(3, name, f"exits.{name}", message, hint)
    parts: list[tuple[str, str, Record | Exit]] = [
        *(("types", name, record) for name, record in protocol.types.items()),
        *(("exits", name, exit_) for name, exit_ in protocol.exits.items()),
    ]
    for kind, name, part in parts:
        # An answer never contains computed fields.
        aliases = {field: declared.also for field, declared in part.fields.items() if declared.by == "agent"}
        for word, one, other in _clashes(aliases):
            message = f"'{word}' could mean field '{one}' or field '{other}'"
            yield subject.finding(3, name, f"{kind}.{name}.{other}", message, "rename one of them in `also`")
    for flow, name, step in subject.steps():
        aliases = {tag: exit_.also for tag, exit_ in declared_exits(protocol, step).items()}
        for word, one, other in _clashes(aliases):
            message = f"an answer '{word}' could mean exit '{one}' or exit '{other}'"
            yield subject.at_step(3, flow, name, message, "rename one of them in `also`", "exits")


def _clashes(names: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """A word that stands for two of the names, and these two."""
    owners = {name: name for name in names}
    for name, others in names.items():
        for word in dict.fromkeys(others):
            owner = owners.setdefault(word, name)
            if owner != name:
                yield word, owner, name


# Check 3, the toolchain: a protocol asks a project for exactly the commands that its checks run.

_RUN_BY: Final[dict[str, frozenset[str]]] = {
    command: frozenset(name for name, spec in CHECKS.items() if spec.runs == command)
    for command in ("build", "contract", "lint", "format")
}
"""The checks that run each command; `test` is left out, because too many checks run it to draw a conclusion."""


def commands_are_run(subject: ProtocolSubject) -> Iterator[Finding]:
    """3. A listed command is run by some check, and a check's command is listed, if a toolchain is."""
    toolchain = subject.protocol.toolchain
    used = [
        (flow, name, check.name)
        for flow, name, step in subject.steps()
        for checks in (step.checks, *step.gates.values())
        for check in checks
    ]
    names = {check for _, _, check in used}
    for command in toolchain:
        if command in _RUN_BY and not names & _RUN_BY[command]:
            message = f"toolchain command '{command}' is asked of the project, but no check runs it"
            yield subject.finding(3, "", "toolchain", message, "add a check that does, or remove the command")
    for flow, name, check in used if toolchain else ():
        for command, checks in _RUN_BY.items():
            if check in checks and command not in toolchain:
                message = f"check '{check}' runs command '{command}', which is not in the toolchain"
                yield subject.at_step(3, flow, name, message, f"add '{command}' to `toolchain`")


# Check 20: numbers are in a meaningful range.


def numbers_make_sense(subject: ProtocolSubject) -> Iterator[Finding]:
    """20. Attempts, timeouts, budgets, windows, classes and limits are in range."""
    protocol = subject.protocol
    for name, size in protocol.pools.items():
        if size < 1:
            yield subject.finding(20, "", f"pools.{name}", f"pool '{name}' holds {size}", "at least 1")
    for name in ("depth", "children", "instances", "agents"):
        if getattr(protocol.limits, name) < 1:
            yield subject.finding(20, "", f"limits.{name}", f"limit '{name}' is below 1", "at least 1")
    for name in ("infra_retries", "cost", "tokens", "wall"):
        if getattr(protocol.limits, name) < 0:
            yield subject.finding(20, "", f"limits.{name}", f"limit '{name}' is negative", "0 means none")
    for flow in subject.flows.values():
        graph_name, graph = flow.name, flow.graph
        for name, budget in graph.budgets.items():
            if budget.max < 1:
                path = f"graphs.{graph_name}.budgets.{name}.max"
                yield subject.finding(20, graph_name, path, f"budget '{name}' allows {budget.max}", "at least 1")
        for signal, handler in graph.handlers.items():
            if handler.prio not in range(4):
                path = f"graphs.{graph_name}.handlers.{signal}.prio"
                yield subject.finding(20, graph_name, path, f"handler of '{signal}' has class {handler.prio}", "0 to 3")
            if handler.preempt < -1:
                path = f"graphs.{graph_name}.handlers.{signal}.preempt"
                message = f"handler of '{signal}' preempts after {handler.preempt} seconds"
                yield subject.finding(20, graph_name, path, message, "-1 never, 0 at once, or seconds")
        for name, step in graph.steps.items():
            for field, message, hint in _step_faults(step):
                yield subject.at_step(20, flow, base_of(name), message, hint, field)


def _step_faults(step: Step) -> Iterator[tuple[str, str, str]]:
    if step.prio not in range(4):
        yield "prio", f"has class {step.prio}", "0 to 3"
    if step.attempts < 1:
        yield "attempts", f"has {step.attempts} attempts", "at least 1"
    if step.kind in ("agent", "effect", "check") and step.timeout <= 0:
        yield "timeout", f"has a timeout of {step.timeout} seconds", "more than 0"
    if step.kind == "agent" and (step.nudge_after <= 0 or step.nudges < 0):
        yield "nudge_after", f"is nudged {step.nudges} times after {step.nudge_after} seconds", "more than 0 seconds"
    window = step.window
    digits = len(window) < 7 and all(digit in "0123456789" for digit in window)
    if step.kind == "map" and window and not window.startswith("in.") and not (digits and int(window) > 0):
        yield "window", f"has the window '{window}'", "a number above 0, or `in.field`"
    if step.remind < 0 or step.default_after < 0:
        yield "remind", "waits a negative time", "0 means never"
    if step.default and not step.default_after:
        yield "default_after", f"never takes its default '{step.default}'", "add `default_after`"
    if step.default_after and not step.default:
        yield "default", "has `default_after` but no `default`", "name the choice that time decides for"
    read_low, read_high, out_low, out_high = step.estimate or (0, 0, 0, 0)
    if not (0 <= read_low <= read_high and 0 <= out_low <= out_high):
        yield "estimate", f"estimates {list(step.estimate or ())}", "[read_low, read_high, out_low, out_high]"


# Check 5, the milder part: an unused declaration is worth a warning.


def nothing_is_unused(subject: ProtocolSubject) -> Iterator[Finding]:
    """5. Every exit, role, type, pool and outcome is used; an unused one is a warning."""
    protocol = subject.protocol
    steps = [step for _, _, step in subject.steps()]
    modes = [mode for role in protocol.roles.values() for mode in role.modes.values()]
    exits = {name for step in steps for name in step.exits} | {name for mode in modes for name in mode.exits}
    pools = {pool.rpartition(":")[2] for step in steps for pool in step.pools}
    yield from _unused(subject, "exit", "", "exits", protocol.exits, exits)
    yield from _unused(subject, "role", "", "roles", protocol.roles, {step.role for step in steps})
    yield from _unused(subject, "type", "", "types", protocol.types, _used_types(protocol))
    yield from _unused(subject, "pool", "", "pools", protocol.pools, pools)
    for flow in subject.flows.values():
        graph, path = flow.graph, f"graphs.{flow.name}"
        outcomes = {edge.to.name for edge in flow.edges if edge.to.kind == "end"}
        yield from _unused(subject, "outcome", flow.name, f"{path}.ends", graph.ends, outcomes | {ABORTED})
        reported: set[str] = set()
        for site in flow.sites:
            if site.edge and site.child in protocol.graphs:
                ends = {*protocol.graphs[site.child].ends, ABORTED}
                reported |= {f"child:{outcome}" for outcome in ends.difference(graph.ok.get(site.group, ()))}
        for signal in graph.handlers:
            if signal.startswith("child:") and signal not in reported:
                message = f"handles '{signal}', which no child of a spawned group can report"
                hint = "remove it, or take the outcome out of `ok`"
                yield subject.finding(5, flow.name, f"{path}.handlers.{signal}", message, hint, level="warning")


def _used_types(protocol: Protocol) -> set[str]:
    """The records that inputs and exits hold, directly or in other records."""
    used: set[str] = set()
    todo = [graph.input[1] for graph in protocol.graphs.values()]
    fields = [field for exit_ in protocol.exits.values() for field in exit_.fields.values()]
    while todo or fields:
        for field in fields:
            try:
                todo.append(record_of(parse_type(field.type)))
            except TypeNotationError:
                continue  # check 3 reports it
        new = [name for name in dict.fromkeys(todo) if name in protocol.types and name not in used]
        used.update(new)
        todo, fields = [], [field for name in new for field in protocol.types[name].fields.values()]
    return used


def _unused(
    subject: ProtocolSubject, what: str, where: str, path: str, declared: Iterable[str], used: set[str]
) -> Iterator[Finding]:
    for name in declared:
        if name not in used:
            message, place = f"{what} '{name}' is never used", f"{path}.{name}"
            yield subject.finding(5, where, place, message, "use it or remove it", level="warning")
