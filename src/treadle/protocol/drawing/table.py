"""A protocol as the edge table its authors would write: one row per way out of a step.

Compact is the default: clones of one gate are a single step again, whose rows may lead `@back`, and system exits that
most steps treat alike are rows of the step `*`. In full, every step has every row that the kernel would take.
"""

from collections.abc import Iterator

from treadle.protocol.drawing.compact import merge_clones, merge_system
from treadle.protocol.drawing.row import ANY_STEP, SELF, Row
from treadle.protocol.model import (
    Action,
    CancelGroup,
    CheckRef,
    Graph,
    Handler,
    Protocol,
    ResetThread,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Tier,
    base_of,
    row,
    system_keys,
    tag_of,
)


def table(protocol: Protocol, graph: str | None = None, *, full: bool = False) -> list[Row]:
    """The rows of one graph, or of all: steps in their order, then system exits, then signals."""
    names = [graph] if graph is not None else list(protocol.graphs)
    return [found for name in names for found in _graph_rows(name, protocol.graphs[name], full)]


def _graph_rows(name: str, graph: Graph, full: bool) -> list[Row]:
    own = [found for step in graph.steps for found in _own_rows(name, graph, step)]
    system = [found for step in graph.steps for found in _system_rows(name, graph, step)]
    if not full:
        own, system = merge_clones(own), merge_system(system)
    rest = [found for found in system if found.step == ANY_STEP]
    by_step = sorted(
        [found for found in own + system if found.step != ANY_STEP],
        key=lambda found: _position(graph, found.step),
    )
    return by_step + rest + [_handler_row(name, signal, handler) for signal, handler in graph.handlers.items()]


def _position(graph: Graph, step: str) -> int:
    return next(place for place, known in enumerate(graph.steps) if step in (known, base_of(known)))


def _own_rows(name: str, graph: Graph, step: str) -> Iterator[Row]:
    for key, rows in graph.steps[step].routes.items():
        if key not in ("!*", *system_keys(graph.steps[step])):
            yield from _rows(name, graph, step, key, rows)


def _system_rows(name: str, graph: Graph, step: str) -> Iterator[Row]:
    for key in system_keys(graph.steps[step]):
        yield from _rows(name, graph, step, key, row(graph, step, key) or ())


def _rows(name: str, graph: Graph, step: str, key: str, rows: Rows) -> Iterator[Row]:
    it = graph.steps[step]
    for route in rows:
        most, then = _limit(graph, step, route)
        yield Row(
            graph=name,
            step=step,
            kind=it.kind,
            who=who(it),
            symbol=it.symbol,
            wait=tuple(wait.group or wait.kind for wait in it.wait),
            exit=key,
            to=SELF if route.to == step else route.to,
            when=route.when,
            do=(*map(_action, route.do), *_marks(route)),
            charge=route.charge,
            max=most,
            then=then,
            gates=tuple(_check(check) for check in it.gates.get(key) or it.gates.get(tag_of(key)) or ()),
        )


def _handler_row(name: str, signal: str, handler: Handler) -> Row:
    marks = (f"priority {handler.prio}", "coalesce" * handler.coalesce, "reply" * handler.reply)
    preempt = "" if handler.preempt < 0 else f"preempt after {handler.preempt} s" if handler.preempt else "preempt"
    do = tuple(mark for mark in (*marks, preempt) if mark)
    return Row(graph=name, step=ANY_STEP, kind="signal", exit=signal, to=handler.step, do=do)


def who(step: Step) -> str:
    """Who does the work of a step, in one short phrase."""
    match step.kind:
        case "agent":
            return f"{step.role}:{step.mode}" if step.mode else step.role
        case "effect":
            return f"effect {step.effect}"
        case "check":
            return "checks " + " ".join(map(_check, step.checks))
        case "ask":
            return f"ask {step.asks} ({step.signal})" if step.signal else f"ask {step.asks}"
        case "map":
            over, window = step.over and f" over {step.over}", step.window and f", {step.window} at once"
            return f"map {step.graph}{over}{window}"


def _check(check: CheckRef) -> str:
    return check.name + (f":{check.arg}" if check.arg else "") + ("?" if check.advisory else "")


def _action(action: Action) -> str:
    match action:
        case Spawn():
            return f"spawn {action.group}: {action.graph} over {action.over}"
        case Send():
            return f"send {action.signal} to {action.to}"
        case Tier():
            return f"tier +{action.by}"
        case ResetThread():
            return f"reset thread {action.step}".rstrip()
        case CancelGroup():
            return f"cancel {action.group}"


def _marks(route: Route) -> Iterator[str]:
    if route.fresh:
        yield "fresh"
    if route.sync:
        yield "sync"
    for name, value in route.sets.items():
        yield f"{name} = {value}"


def _limit(graph: Graph, step: str, route: Route) -> tuple[int, str]:
    budget = graph.budgets.get(route.charge)
    if budget:
        return budget.max, route.over or budget.to
    it = graph.steps[step]
    if route.to == step and not route.fresh and it.kind != "ask":
        return it.attempts, " or ".join(becomes.key for becomes in it.becomes)
    return 0, ""
