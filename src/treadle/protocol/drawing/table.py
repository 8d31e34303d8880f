"""A protocol as the edge table its authors would write: one row per way out of a step.

The default is compact: clones of one gate are a single step again, with rows that may lead `@back`, and system exits
that most steps treat alike are rows of the step `*`. In full, every step has every row that the kernel would take.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

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
    target,
)

# One row of a protocol's edge table.

ANY_STEP: Final = "*"
SELF: Final = "@self"
BACK: Final = "@back"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One edge: its step and worker, its exit, its target, and the actions on the way."""

    graph: str
    step: str
    kind: str
    """The step's kind; `signal` for a handler, `system` for a row of all steps."""
    who: str = ""
    symbol: str = ""
    wait: tuple[str, ...] = ()
    exit: str
    """A routing key; a signal's name; several system exits are joined by a space."""
    to: str
    when: str = ""
    do: tuple[str, ...] = ()
    charge: str = ""
    max: int = 0
    """How often: the charged budget, or for a step that tries again its attempts."""
    then: str = ""
    """The target, or the exit that replaces this one, once the limit is spent."""
    gates: tuple[str, ...] = ()


# The short form of an edge table: one gate for all its callers, and one row for the system exits that most steps
# share.


def merge_clones(rows: list[Row]) -> list[Row]:
    """Merge rows of `stuck@impl` and `stuck@review` into rows of `stuck`; those that lead to each caller lead
    `@back`.
    """
    back = _back_keys(rows)
    merged: dict[Row, None] = {}
    for found in rows:
        to = BACK if (base_of(found.step), found.exit) in back and _leads_back(found) else _plain(found.to)
        to = SELF if to == base_of(found.step) else to
        merged[replace(found, step=base_of(found.step), to=to, then=_plain(found.then))] = None
    return list(merged)


def _back_keys(rows: list[Row]) -> set[tuple[str, str]]:
    cloned = [found for found in rows if "@" in found.step]
    callers = Counter(base_of(step) for step in {found.step for found in cloned})
    leads: dict[tuple[str, str], list[bool]] = {}
    for found in cloned:
        leads.setdefault((base_of(found.step), found.exit), []).append(_leads_back(found))
    return {place for place, back in leads.items() if all(back) and callers[place[0]] > 1}


def _leads_back(found: Row) -> bool:
    caller = found.step.partition("@")[2]
    return found.to in (caller, f"@{caller}")


def _plain(to: str) -> str:
    """A target without the caller a gate was cloned for: `stuck@impl` → `stuck`."""
    return to if target(to).kind in ("end", "resume") or to == SELF else base_of(to)


def merge_system(rows: list[Row]) -> list[Row]:
    """Merge the system exits that most steps treat alike into rows `*`; keep the rows of the other steps."""
    rules = {place: tuple(map(_as_rule, found)) for place, found in _by(rows, lambda it: (it.step, it.exit)).items()}
    common = _common(rules)
    known = len({key for _, key in rules})
    here: dict[tuple[str, tuple[Row, ...]], list[str]] = {}
    for (step, key), rule in rules.items():
        place = ANY_STEP if _is_retry(rule) or rule == common.get(key) else step
        keys = here.setdefault((place, rule), [])
        if key not in keys:
            keys.append(key)
    first = {found.step: found for found in reversed(rows)}
    return [
        _placed(first.get(step), step, _joined(keys, known), found)
        for (step, rule), keys in here.items()
        for found in rule
    ]


def _joined(keys: list[str], known: int) -> str:
    return "!*" if 1 < known == len(keys) else " ".join(keys)


def _as_rule(found: Row) -> Row:
    """Return the row without its step, to compare the rows of different steps."""
    bare = replace(found, step="", kind="system", who="", symbol="", wait=(), gates=(), exit="")
    return (
        replace(bare, max=0, then="")
        if found.to == SELF
        else replace(bare, to=_plain(found.to), then=_plain(found.then))
    )


def _is_retry(rule: tuple[Row, ...]) -> bool:
    return len(rule) == 1 and rule[0].to == SELF and not rule[0].charge


def _common(rules: dict[tuple[str, str], tuple[Row, ...]]) -> dict[str, tuple[Row, ...]]:
    """Return, for each exit, the rule of most non-retrying steps; fewer are enough for the commonest rule of all."""
    acting = {place: rule for place, rule in rules.items() if not _is_retry(rule)}
    usual = [rule for rule, count in Counter(acting.values()).most_common(1) if count > 1]
    found: dict[str, tuple[Row, ...]] = {}
    for key in dict.fromkeys(key for _, key in acting):
        its = [rule for (_, its_key), rule in acting.items() if its_key == key]
        rule, count = Counter(its).most_common(1)[0]
        if rule in usual or 1 < count > len(its) / 2:
            found[key] = rule
    return found


def _placed(origin: Row | None, step: str, exits: str, rule: Row) -> Row:
    if origin is None:
        return replace(rule, step=step, exit=exits)
    kept = {"kind": origin.kind, "who": origin.who, "symbol": origin.symbol, "wait": origin.wait}
    return replace(rule, step=step, exit=exits, **kept)


def _by(rows: Iterable[Row], place: Callable[[Row], tuple[str, str]]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for it in rows:
        found.setdefault(place(it), []).append(it)
    return found


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
            who=step_worker(it),
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


def step_worker(step: Step) -> str:
    """Return a short phrase for the worker of a step: `impl:fix`, `effect merge`, `ask human`."""
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


# An edge table as plain Markdown.

COLUMNS: Final = ("From", "Who", "Exit", "When", "To", "Action", "Limit", "Gates")


def cells(found: Row) -> tuple[str, ...]:
    """Return a row's cells under `COLUMNS`."""
    wait = f" (waits for {', '.join(found.wait)})" if found.wait else ""
    who_ = " ".join(part for part in (found.symbol, found.who) if part)
    step = "any step" if found.step == ANY_STEP else found.step
    exit_ = f"signal {found.exit}" if found.kind == "signal" else found.exit
    return (
        step + wait,
        who_,
        exit_,
        found.when,
        found.to,
        "; ".join(found.do),
        _limit_text(found),
        " ".join(found.gates),
    )


def _limit_text(found: Row) -> str:
    if found.kind == "system" and found.to == SELF:
        return "the step's attempts"
    if not found.max:
        return found.charge
    what = f"{found.charge}: {found.max}" if found.charge else f"{found.max} attempts"
    return f"{what}, then {found.then}"


def without_repeats(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Cells in which a step is named only in its first row."""
    shown: list[tuple[str, ...]] = []
    last: tuple[str, ...] = ()
    for found in rows:
        line = cells(found)
        shown.append(("", "", *line[2:]) if line[:2] == last else line)
        last = line[:2]
    return shown


def markdown_table(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table of plain text; nothing in the text can leave its cell. Empty columns are left out."""
    lines = list(lines)
    used = [place for place in range(len(columns)) if any(line[place] for line in lines)]
    text = [columns, ("---",) * len(columns), *(tuple(map(escape_markdown, line)) for line in lines)]
    return "".join("| " + " | ".join(line[place] for place in used) + " |\n" for line in text)


_CODE: Final = r"(?<![\\`])`[^`\\|\s](?:(?:[^`\\|\s]| )*[^`\\|\s])?`(?!`)"
_MARKED: Final = re.compile(rf"(?P<code>{_CODE})|[\\`*|\[~]|\b_|_\b|[<&]|\s+")
_AS = {"<": "&lt;", "&": "&amp;"}


def escape_markdown(text: str) -> str:
    """Escape text for Markdown; code between backticks stays as it is."""
    return _MARKED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    if found["code"]:
        return mark
    return " " if mark.isspace() else _AS.get(mark, "\\" + mark)
