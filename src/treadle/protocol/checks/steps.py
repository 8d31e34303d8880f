"""Check 3, the steps: who works, with what and on what exists, for each kind of step."""

from collections.abc import Iterable, Iterator
from typing import Final

from treadle.protocol.catalogue import CHECKS, EFFECTS
from treadle.protocol.checks.flow import Flow, agents, step_path
from treadle.protocol.checks.lookup import Fault, unknown
from treadle.protocol.checks.subject import Subject
from treadle.protocol.findings import Finding, suggest
from treadle.protocol.model import CheckRef, Step, base_of

POOL_OWNERS: Final = ("self", "parent", "run")


def steps_mention_what_exists(subject: Subject) -> Iterator[Finding]:
    """3. Roles, modes, exits, templates, checks, effects, pools, choices and threads exist."""
    for flow in subject.flows.values():
        for name, step in flow.graph.steps.items():
            place = f"{flow.name}.{base_of(name)}", step_path(flow.name, name)
            for where, path, message, hint in (*_any(subject, *place, step), *_kind(subject, flow, *place, step)):
                yield subject.finding(3, where, path, message, hint)


def _any(subject: Subject, where: str, path: str, step: Step) -> Iterator[Fault]:
    protocol = subject.protocol
    for pool in step.pools:
        owner, _, name = pool.rpartition(":")
        yield from unknown(where, f"{path}.pools", "holds", "pool", name, protocol.pools)
        if owner not in POOL_OWNERS:
            hint = f"write {' or '.join(repr(f'{one}:{name}') for one in POOL_OWNERS)}"
            yield where, f"{path}.pools", f"holds pool '{pool}', which does not say whose", hint
    for exit_ in step.exits:
        yield from unknown(where, f"{path}.exits", "leaves by", "exit", exit_, protocol.exits)
    for key, checks in step.gates.items():
        yield from _checks(where, f"{path}.gates.{key}", checks)
    if step.template and step.template not in _inherited(subject, step):
        yield from unknown(where, f"{path}.template", "uses", "template", step.template, protocol.templates)
    if step.kind in ("agent", "effect") and not step.exits:
        yield where, path, "has no exits", "add `exits`, the ways in which its work can come out"


def _inherited(subject: Subject, step: Step) -> tuple[str, ...]:
    """The templates that its role names, where they are looked up already."""
    role = subject.protocol.roles.get(step.role)
    return (role.template, *(mode.template for mode in role.modes.values())) if role else ()


def _kind(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    match step.kind:
        case "agent":
            yield from _agent(subject, where, path, step)
            yield from _thread(subject, flow, where, path, step)
        case "effect":
            yield from unknown(where, f"{path}.effect", "performs", "effect", step.effect, EFFECTS)
            yield from _unverified(subject, flow, where, path, step)
        case "check":
            if not step.checks:
                yield where, path, "runs no checks", "add `checks`"
            yield from _checks(where, f"{path}.checks", step.checks)
        case "ask":
            yield from _ask(where, path, step)
            yield from _waives(flow, where, path, step)
        case "map":
            yield from _map(subject, flow, where, path, step)


def _agent(subject: Subject, where: str, path: str, step: Step) -> Iterator[Fault]:
    role = subject.protocol.roles.get(step.role)
    yield from unknown(where, f"{path}.role", "is done by", "role", step.role, subject.protocol.roles)
    if role is not None and step.mode:
        yield from unknown(where, f"{path}.role", f"invokes '{step.role}' in", "mode", step.mode, role.modes)
    if role is not None and not subject.template_of(step):
        yield where, path, "has no template", f"name one here, in the mode, or in role '{step.role}'"


def _thread(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    thread = step.thread
    graphs = subject.parents(flow.name) if thread.up else [flow.name]
    steps = [name for graph in graphs for name in agents(subject.protocol.graphs[graph])]
    if thread.kind == "new" or not thread.step or thread.step in steps or not graphs:
        return
    verb, owner = "resumes" if thread.kind == "resume" else "forks", " of the parent" if thread.up else ""
    hint = suggest(thread.step, steps) or "name an agent step"
    yield where, f"{path}.thread", f"{verb} the thread of unknown agent step '{thread.step}'{owner}", hint


def _ask(where: str, path: str, step: Step) -> Iterator[Fault]:
    for choice in (*step.choices, *((step.default,) if step.default else ())):
        if choice not in step.routes:
            hint = suggest(choice, step.routes) or "add a row for it"
            yield where, f"{path}.choices.{choice}", f"offers '{choice}', which has no row", hint
    yield from _notes(where, path, step)
    if step.asks == "parent" and not step.signal:
        yield where, path, "asks its parent nothing", "name the `signal` that the parent receives"
    if step.asks == "":
        yield where, path, "asks nobody", "write `ask: human` or `ask: parent`"


def _notes(where: str, path: str, step: Step) -> Iterator[Fault]:
    for number, choice in enumerate(step.notes):
        yield from unknown(where, f"{path}.notes.{number}", "wants a note with", "choice", choice, step.routes)
        if choice and choice == step.default:
            hint = "time writes no note: let another choice be the default"
            yield where, f"{path}.notes.{number}", f"wants a note with '{choice}', its own default", hint


def _waives(flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    """Only a person lets unverified work pass, and to no other end than its merge."""
    merges = [name for name, one in flow.graph.steps.items() if one.effect == "merge"]
    for number, choice in enumerate(step.waives):
        yield from unknown(where, f"{path}.waives.{number}", "waives by", "choice", choice, step.routes)
        if choice and choice == step.default:
            hint = "only a person may let unverified criteria pass: let another choice be the default"
            yield where, f"{path}.waives.{number}", f"waives by '{choice}', which time alone can take", hint
        if any(route.to not in merges for route in step.routes.get(choice, ())):
            hint = f"lead it to {' or '.join(map(repr, merges))}" if merges else "leave `waives` out"
            yield where, f"{path}.waives.{number}", f"waives by '{choice}', which does not lead to a merge", hint


def _unverified(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    """A merge that is refused because criteria are not verified is for a person to decide, or the end."""
    declared = subject.protocol.exits.get("MergeRejected") if step.effect == "merge" else None
    reason = declared.fields.get("reason") if declared else None
    if reason is None or "Unverified" not in reason.type.split(" | "):
        return
    own = "MergeRejected.Unverified" in step.routes
    key = "MergeRejected.Unverified" if own else "MergeRejected"
    for route in step.routes.get(key, ()):
        target = flow.graph.steps.get(route.to)
        # A row of its own leads to a question that can let the work pass; one for all reasons, to any question.
        if target is not None and (target.kind != "ask" or (own and not target.waives)):
            hint = "lead it to a question that has `waives`, or to an end"
            message = f"leads unverified work to '{route.to}', where no person can let it pass"
            yield where, f"{path}.routes.{key}", message, hint


def _map(subject: Subject, flow: Flow, where: str, path: str, step: Step) -> Iterator[Fault]:
    protocol = subject.protocol
    yield from unknown(where, f"{path}.map", "starts", "graph", step.graph, protocol.graphs)
    if step.window.startswith("in."):
        field = step.window[3:]
        known = subject.protocol.types.get(flow.graph.input[1])
        yield from unknown(
            where, f"{path}.window", "takes its window from", "field", field, known.fields if known else ()
        )
        if known and field in known.fields and not known.fields[field].route:
            hint = f"give it `route: true` in type '{flow.graph.input[1]}'"
            yield where, f"{path}.window", f"takes its window from '{field}', which is not routed", hint
    child = protocol.graphs.get(step.graph)
    if not step.after:
        return
    item = protocol.types.get(child.input[1]) if child else None
    yield from unknown(where, f"{path}.after", "orders its items by", "field", step.after, item.fields if item else ())
    if item and step.after in item.fields and not item.fields[step.after].route:
        hint = f"give it `route: items` in type '{child.input[1] if child else ''}'"
        yield where, f"{path}.after", f"orders its items by '{step.after}', which is not routed", hint


def _checks(where: str, path: str, checks: Iterable[CheckRef]) -> Iterator[Fault]:
    for check in checks:
        yield from unknown(where, path, "is gated by", "check", check.name, CHECKS)
        wanted = CHECKS[check.name].arg if check.name in CHECKS else ""
        if wanted and not check.arg:
            yield where, path, f"check '{check.name}' needs an argument", f"write '{check.name}:{wanted}'"
        if check.arg and check.name in CHECKS and not wanted:
            yield where, path, f"check '{check.name}' takes no argument", f"write '{check.name}'"
