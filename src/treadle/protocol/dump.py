"""A protocol as files again, without shorthand: `load_files(dump(p)) == p`."""

from treadle.protocol.digest import non_default_fields, plain
from treadle.protocol.model import (
    Action,
    CancelGroup,
    CheckRef,
    Exit,
    Graph,
    Model,
    Protocol,
    Record,
    ResetThread,
    Route,
    Rows,
    Spawn,
    Step,
    Tier,
)
from treadle.protocol.reading.assembly import MAIN, TEMPLATES
from treadle.protocol.reading.notation import check_words, thread_text
from treadle.protocol.reading.steps import KEYS, KIND_OF
from treadle.protocol.yaml_text import Plain, emit

Entries = dict[str, Plain]
_PREEMPT = {-1: "never", 0: "now"}


def dump(protocol: Protocol) -> dict[str, str]:
    """File name → text: `protocol.yaml` and the templates."""
    rest = _fields_of(protocol, "name", "version", "root", "types", "exits", "roles", "graphs", "templates")
    document: Entries = {
        "protocol": protocol.name,
        "version": protocol.version,
        **{key: rest.pop(key) for key in ("title", "help") if key in rest},
        "root": protocol.root,
        **rest,
        "types": {name: _with_fields(record) for name, record in protocol.types.items()},
        "exits": {name: _with_fields(exit_) for name, exit_ in protocol.exits.items()},
        "roles": {name: _fields_of(role) for name, role in protocol.roles.items()},
        "graphs": {name: _graph(graph) for name, graph in protocol.graphs.items()},
    }
    return {MAIN: emit(document), **{TEMPLATES + path: text for path, text in protocol.templates.items()}}


def _fields_of(value: Model, *but: str) -> Entries:
    """The fields that do not have their default, in the model's order."""
    return {name: plain(inner) for name, inner in non_default_fields(value) if name not in but}


def _with_fields(value: Record | Exit) -> Entries:
    """A type or an exit: its own keys, then its fields beside them."""
    entries = _fields_of(value, "fields", "help")
    if value.help:
        entries["about"] = value.help
    for name, field in value.fields.items():
        written = _fields_of(field)
        if "route" in written:
            written["route"] = True if field.route == "value" else field.route
        entries[name] = field.type if list(written) == ["type"] else written
    return entries


def _graph(graph: Graph) -> Entries:
    entries = _fields_of(graph, "input", "start", "ends", "steps", "handlers", "system", "commands")
    if graph.input != ("input", ""):
        entries["input"] = {graph.input[0]: graph.input[1]}
    if graph.system:
        entries["system"] = _table(graph.system)
    if graph.handlers:
        handlers = {signal: _fields_of(handler) for signal, handler in graph.handlers.items()}
        for signal, written in handlers.items():
            if "preempt" in written:
                preempt = graph.handlers[signal].preempt
                written["preempt"] = _PREEMPT.get(preempt, preempt)
        entries["handlers"] = {**handlers}
    if graph.commands:
        entries["commands"] = {
            name: goal if isinstance(goal, str) else {errand.word: _fields_of(errand, "word") for errand in goal}
            for name, goal in graph.commands.items()
        }
    return {
        **entries,
        "start": graph.start,
        "ends": {outcome: [str(need) for need in needs] for outcome, needs in graph.ends.items()},
        "steps": {name: _step(step) for name, step in graph.steps.items()},
    }


def _step(step: Step) -> Entries:
    """The keys of the step's kind; exits and template are written out, since a role might have others."""
    work = next(key for key, kind in KIND_OF.items() if kind == step.kind)
    role = f"{step.role}:{step.mode}" if step.mode else step.role
    by_work: Entries = {"role": role, "effect": step.effect, "ask": step.asks, "map": step.graph}
    entries: Entries = {work: _checks(step.checks) if work == "checks" else by_work[work]}
    written = _fields_of(step)
    for key in KEYS[step.kind]:
        if key != work and (key in written or (step.kind == "agent" and key in ("exits", "template"))):
            entries[key] = _value(step, key)
    return entries


def _value(step: Step, key: str) -> Plain:
    match key:
        case "routes":
            return _table(step.routes)
        case "needs":
            return [str(need) for need in step.needs]
        case "wait":
            return [f"group:{wait.group}" if wait.kind == "group" else wait.kind for wait in step.wait]
        case "gates":
            return {exit_: _checks(checks) for exit_, checks in step.gates.items()}
        case "thread":
            short, degrade = thread_text(step.thread), step.thread.degrade
            return short if degrade == "payloads" else {"kind": short, "degrade": degrade}
        case _:
            value: Plain = plain(getattr(step, key))
            return value


def _checks(checks: tuple[CheckRef, ...]) -> Plain:
    words = check_words(checks)
    if words is not None:
        return words
    refs = [(ref.name, _fields_of(ref, "name")) for ref in checks]
    return [{"check": name, **rest} if rest else name for name, rest in refs]


def _table(table: dict[str, Rows]) -> Plain:
    routes = {key: [_route(route) for route in rows] for key, rows in table.items()}
    return {key: rows[0] if len(rows) == 1 else rows for key, rows in routes.items()}


def _route(route: Route) -> Plain:
    entries = _fields_of(route, "over", "do")
    if route.do:
        entries["do"] = [_action(action) for action in route.do]
    return route.to if list(entries) == ["to"] else entries


def _action(action: Action) -> Plain:
    match action:
        case Tier():
            return {"tier": action.by}
        case ResetThread():
            return {"reset_thread": action.step or None}
        case CancelGroup():
            return {"cancel": action.group}
        case _:
            return {"spawn" if isinstance(action, Spawn) else "send": _fields_of(action)}
