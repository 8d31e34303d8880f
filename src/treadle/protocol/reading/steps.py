"""Steps and their rows: the key that names its work decides the kind of a step; a row routes an exit."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from treadle.protocol.findings import suggest
from treadle.protocol.model import (
    Action,
    Becomes,
    CancelGroup,
    Kind,
    ResetThread,
    Role,
    Route,
    Rows,
    Send,
    Spawn,
    Step,
    Tier,
)
from treadle.protocol.reading import notation
from treadle.protocol.reading.part import (
    NAME,
    POOL,
    SIGNAL,
    STEP,
    WORD,
    Part,
    Reader,
    mapping_of,
    name_by,
    names_by,
    quote_name,
)

# Rows: the target of an exit, its guard, and the actions on the way.

ROUTE_KEYS: Final = ("to", "when", "do", "charge", "fresh", "sync", "sets")
ACTIONS: Final = ("spawn", "send", "tier", "reset_thread", "cancel")


def table(part: Part, step: str = "") -> dict[str, Rows]:
    """Routing keys with their rows: each a target, a mapping, or a list of them."""
    found = {}
    for key, entry in part.entries():
        if not key or any(letter.isspace() for letter in key):
            entry.problem(f"{quote_name(key)} is not a routing key", "write Exit, Exit.Value or !timeout")
        found[key] = tuple(_route(item, step) for item in entry.items())
        if not found[key]:
            entry.problem(f"{quote_name(key)} leads nowhere", "write a step, or @end:Outcome")
    return found


def _route(part: Part, step: str) -> Route:
    if not isinstance(part.node.value, dict):
        return Route(to=notation.target(part, step))
    part.known(*ROUTE_KEYS)
    part.demand(f"a row of {quote_name(part.name)}", "to")
    readers: dict[str, Reader] = {
        "to": partial(notation.target, step=step),
        "do": _actions,
        "charge": Part.as_name,
        "sets": mapping_of(_expression, NAME),
    }
    return Route(**{"to": "?", **part.values(Route, ROUTE_KEYS, readers)})


def _expression(part: Part) -> str:
    return str(part.node.value) if isinstance(part.node.value, int) else part.as_text()


def _actions(part: Part) -> tuple[Action, ...]:
    actions: list[Action] = []
    for item in part.items():
        word = item.node.value
        if word == "tier":
            actions.append(Tier())
        elif word == "reset_thread":
            actions.append(ResetThread())
        elif isinstance(word, str):
            hint = f"write {{{word}: …}}" if word in ACTIONS else suggest(word, ACTIONS)
            item.problem(f"{quote_name(word)} is not an action", hint or f"known: {', '.join(ACTIONS)}")
        else:
            item.known(*ACTIONS)
            actions += [_action(entry) for name, entry in item.entries() if name in ACTIONS]
    return tuple(actions)


def _action(part: Part) -> Action:
    match part.name:
        case "spawn":
            return part.as_model(Spawn, group=Part.as_name, graph=Part.as_name)
        case "send":
            return part.as_model(Send, signal=name_by(SIGNAL))
        case "tier":
            return Tier(by=part.as_whole(1, least=1))
        case "reset_thread":
            return ResetThread(step="" if part.node.value is None else part.as_name(STEP))
        case _:
            return CancelGroup(group=part.as_name())


# Steps.

KIND_OF: Final[dict[str, Kind]] = {"role": "agent", "effect": "effect", "checks": "check", "ask": "ask", "map": "map"}
_ALL: Final = ("title", "symbol", "routes", "wait", "needs", "prio", "row")
_WORK: Final = ("gates", "attempts", "becomes", "pools", "timeout", "lane")
KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "agent": (
        *("role", "exits", "template", "thread", "nudge_after", "nudges", "reads", "writes", "stubs", "keep_work"),
        *("estimate", *_WORK, *_ALL),
    ),
    "effect": ("effect", "exits", "keep_commits", *_WORK, *_ALL),
    "check": ("checks", *_WORK, *_ALL),
    "ask": (
        *("ask", "signal", "choices", "notes", "waives", "template", "remind", "default", "default_after", "skippable"),
        *_ALL,
    ),
    "map": ("map", "over", "window", "after", "keep_going", "keep_done", *_ALL),
}
RESERVED: Final = ("up", "in")
"""`up.step.Exit` and `in.field` would be ambiguous with steps of these names."""


def step(part: Part, roles: Mapping[str, Role]) -> Step | None:
    """Read one step; return None if its kind is unclear."""
    if part.name in RESERVED:
        message = f"a step cannot be called {quote_name(part.name)}"
        part.problem(message, "this word has a meaning in needs; rename the step")
    kind = _kind(part)
    if kind is None:
        return None
    _refuse_strange_keys(part, kind)
    # `role`, `ask` and `map` are written otherwise than the model calls them.
    keys = [key for key in KEYS[kind] if key not in ("role", "ask", "map")]
    values = part.values(Step, keys, {**_READERS, "routes": partial(table, step=part.name)})
    if kind == "agent":
        values = _role_of(part, roles) | values
    elif kind == "ask":
        values["asks"] = part.one_of("ask", ("human", "parent"), "human")
    elif kind == "map":
        values["graph"] = part.name_of("map")
    return Step(kind=kind, **values)


def _kind(part: Part) -> Kind | None:
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", "write {role: …, routes: …}")
        return None
    kinds = [kind for key, kind in KIND_OF.items() if part.get(key)]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        part.problem(f"this step is both {' and '.join(kinds)}", "keep one of role, effect, checks, ask, map")
    else:
        near = [hint for key in part.node.keys if (hint := suggest(key, KIND_OF))]
        part.problem("nobody works in this step", near[0] if near else "add one of role, effect, checks, ask, map")
    return None


def _refuse_strange_keys(part: Part, kind: Kind) -> None:
    """Note keys that no step has, or only steps of other kinds."""
    for key in part.node.keys:
        if key in KEYS[kind]:
            continue
        if others := [other for other, keys in KEYS.items() if key in keys]:
            article = "an" if kind in ("agent", "effect", "ask") else "a"
            message = f"{quote_name(key)} belongs to {' and '.join(others)} steps, and this is {article} {kind}"
            part.problem_at(key, message, "remove it")
        else:
            hint = suggest(key, KEYS[kind]) or f"known here: {', '.join(sorted(KEYS[kind]))}"
            part.problem_at(key, f"unknown key {quote_name(key)}", hint)


def _role_of(part: Part, roles: Mapping[str, Role]) -> dict[str, Any]:
    """The role and mode of an agent step, with the exits and the template that follow from them."""
    name, colon, mode = part.text("role").partition(":")
    for word in (name, mode) if colon else (name,):
        if not NAME.fullmatch(word):
            part.problem(f"{quote_name(word)} is not a name", "write `role: NAME` or `role: NAME:Mode`")
    role = roles.get(name, Role())
    chosen = role.modes.get(mode)
    template = (chosen and chosen.template) or role.template
    return {"role": name, "mode": mode, "exits": chosen.exits if chosen else (), "template": template}


def _becomes(part: Part) -> tuple[Becomes, ...]:
    found = tuple(
        item.as_model(Becomes) if isinstance(item.node.value, dict) else Becomes(key=item.as_text())
        for item in part.items()
    )
    if not found:
        part.problem("'becomes' is empty", "write a routing key, e.g. !exhausted")
    return found


def _estimate(part: Part) -> tuple[int, ...] | None:
    numbers = tuple(item.as_whole() for item in part.items())
    if len(numbers) != 4:
        part.problem("'estimate' must be four numbers", "write [read_low, read_high, out_low, out_high]")
        return None
    return numbers


def _window(part: Part) -> str:
    return str(part.as_whole(1, least=1)) if isinstance(part.node.value, int) else part.as_text()


_READERS: Final[dict[str, Reader]] = {
    "wait": notation.waits,
    "needs": notation.needs,
    "row": Part.as_name,
    "gates": mapping_of(notation.checks),
    "attempts": partial(Part.as_whole, least=1),
    "becomes": _becomes,
    "pools": names_by(POOL),
    "timeout": Part.as_seconds,
    "lane": Part.as_name,
    "exits": names_by(WORD),
    "thread": notation.thread,
    "nudge_after": Part.as_seconds,
    "reads": Part.as_texts,
    "writes": Part.as_texts,
    "estimate": _estimate,
    "effect": Part.as_name,
    "checks": notation.checks,
    "signal": name_by(SIGNAL),
    "remind": Part.as_seconds,
    "default_after": Part.as_seconds,
    "window": _window,
}
