"""A protocol as files again, without shorthand: `load_files(dump(p)) == p`."""

from typing import Any

from treadle.protocol.digest import told
from treadle.protocol.emit import Plain, emit
from treadle.protocol.model import (
    Action,
    CancelGroup,
    CheckRef,
    Errand,
    Exit,
    Field,
    Graph,
    Handler,
    Model,
    Need,
    Protocol,
    Record,
    ResetThread,
    Route,
    Rows,
    Spawn,
    Step,
    Thread,
    Tier,
    Wait,
)
from treadle.protocol.reading.assemble import MAIN, TEMPLATES
from treadle.protocol.reading.notation import check_words, thread_text
from treadle.protocol.reading.parse_steps import KEYS, KIND_OF

Entries = dict[str, Plain]
_PREEMPT = {-1: "never", 0: "now"}


def dump(protocol: Protocol) -> dict[str, str]:
    """File name → text: `protocol.yaml` and the templates."""
    texts = {TEMPLATES + path: text for path, text in protocol.templates.items()}
    return {MAIN: emit(_protocol(protocol)), **texts}


def _protocol(protocol: Protocol) -> Entries:
    head: Entries = {"protocol": protocol.name, "version": protocol.version}
    rest = _told(protocol, "name", "version", "root", "types", "exits", "roles", "graphs", "templates")
    return {
        **head,
        **{key: rest.pop(key) for key in ("title", "help") if key in rest},
        "root": protocol.root,
        **rest,
        "types": {name: _record(record) for name, record in protocol.types.items()},
        "exits": {name: _exit(exit_) for name, exit_ in protocol.exits.items()},
        "roles": {name: _told(role) for name, role in protocol.roles.items()},
        "graphs": {name: _graph(graph) for name, graph in protocol.graphs.items()},
    }


def _told(value: Model, *but: str) -> Entries:
    """The fields that do not have their default, in the model's order."""
    return {name: _plain(inner) for name, inner in told(value) if name not in but}


def _plain(value: Any) -> Plain:
    if isinstance(value, Model):
        return _told(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    result: Plain = value
    return result


def _fields(fields: dict[str, Field]) -> Entries:
    return {name: _field(field) for name, field in fields.items()}


def _field(field: Field) -> Plain:
    found = _told(field)
    if "route" in found:
        found["route"] = True if field.route == "value" else field.route
    return field.type if list(found) == ["type"] else found


def _record(record: Record) -> Entries:
    found = _told(record, "fields", "help")
    about: Entries = {"about": record.help} if record.help else {}
    return {**found, **about, **_fields(record.fields)}


def _exit(exit_: Exit) -> Entries:
    found = _told(exit_, "fields", "help")
    about: Entries = {"about": exit_.help} if exit_.help else {}
    return {**found, **about, **_fields(exit_.fields)}


def _command(goal: str | tuple[Errand, ...]) -> Plain:
    return goal if isinstance(goal, str) else {errand.word: _told(errand, "word") for errand in goal}


def _graph(graph: Graph) -> Entries:
    found = _told(graph, "input", "start", "ends", "steps", "handlers", "system", "commands")
    if graph.input != ("input", ""):
        found["input"] = {graph.input[0]: graph.input[1]}
    if graph.system:
        found["system"] = _table(graph.system)
    if graph.handlers:
        found["handlers"] = {signal: _handler(handler) for signal, handler in graph.handlers.items()}
    if graph.commands:
        found["commands"] = {name: _command(goal) for name, goal in graph.commands.items()}
    return {
        **found,
        "start": graph.start,
        "ends": {outcome: _needs(needs) for outcome, needs in graph.ends.items()},
        "steps": {name: _step(step) for name, step in graph.steps.items()},
    }


def _handler(handler: Handler) -> Entries:
    found = _told(handler)
    if "preempt" in found:
        found["preempt"] = _PREEMPT.get(handler.preempt, handler.preempt)
    return found


def _step(step: Step) -> Entries:
    """The keys of the step's kind; exits and template are written out, since a role might have others."""
    work = next(key for key, kind in KIND_OF.items() if kind == step.kind)
    found: Entries = {work: _work(step)}
    told = _told(step)
    for key in KEYS[step.kind]:
        if key != work and (key in told or (step.kind == "agent" and key in ("exits", "template"))):
            found[key] = _value(step, key)
    return found


def _work(step: Step) -> Plain:
    match step.kind:
        case "agent":
            return f"{step.role}:{step.mode}" if step.mode else step.role
        case "effect":
            return step.effect
        case "check":
            return _checks(step.checks)
        case "ask":
            return step.asks
        case "map":
            return step.graph


def _value(step: Step, key: str) -> Plain:
    match key:
        case "routes":
            return _table(step.routes)
        case "needs":
            return _needs(step.needs)
        case "wait":
            return [_wait(wait) for wait in step.wait]
        case "gates":
            return {exit_: _checks(checks) for exit_, checks in step.gates.items()}
        case "thread":
            return _thread(step.thread)
        case _:
            return _plain(getattr(step, key))


def _needs(needs: tuple[Need, ...]) -> Plain:
    return [str(need) for need in needs]


def _wait(wait: Wait) -> Plain:
    return f"group:{wait.group}" if wait.kind == "group" else wait.kind


def _thread(thread: Thread) -> Plain:
    short = thread_text(thread)
    return short if thread.degrade == "payloads" else {"kind": short, "degrade": thread.degrade}


def _checks(checks: tuple[CheckRef, ...]) -> Plain:
    words = check_words(checks)
    return words if words is not None else [_check(ref) for ref in checks]


def _check(ref: CheckRef) -> Plain:
    found = _told(ref, "name")
    return {"check": ref.name, **found} if found else ref.name


def _table(table: dict[str, Rows]) -> Plain:
    return {key: _rows(rows) for key, rows in table.items()}


def _rows(rows: Rows) -> Plain:
    found = [_route(route) for route in rows]
    return found[0] if len(found) == 1 else found


def _route(route: Route) -> Plain:
    found = _told(route, "over", "do")
    if route.do:
        found["do"] = [_action(action) for action in route.do]
    return route.to if list(found) == ["to"] else found


def _action(action: Action) -> Plain:
    match action:
        case Tier():
            return {"tier": action.by}
        case ResetThread():
            return {"reset_thread": action.step or None}
        case CancelGroup():
            return {"cancel": action.group}
        case _:
            return {"spawn" if isinstance(action, Spawn) else "send": _told(action)}
