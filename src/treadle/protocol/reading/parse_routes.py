"""Rows: where an exit leads, when, and what happens on the way."""

from typing import Final, get_args

from treadle.protocol.findings import suggest
from treadle.protocol.model import (
    Action,
    CancelGroup,
    Recipient,
    ResetThread,
    Route,
    Rows,
    Send,
    Spawn,
    Tier,
)
from treadle.protocol.reading import notation
from treadle.protocol.reading.part import NAME, SIGNAL, STEP, Part, quoted

ROUTE_KEYS: Final = ("to", "when", "do", "charge", "fresh", "sync", "sets")
ACTIONS: Final = ("spawn", "send", "tier", "reset_thread", "cancel")


def table(part: Part | None, step: str = "") -> dict[str, Rows]:
    """Routing keys with their rows."""
    found = {}
    for key, entry in part.entries() if part else ():
        if not key or any(letter.isspace() for letter in key):
            entry.problem(f"{quoted(key)} is not a routing key", "write Exit, Exit.Value or !timeout")
        found[key] = rows(entry, step)
    return found


def rows(part: Part, step: str) -> Rows:
    """The rows of one routing key: a target, a mapping, or a list of them."""
    found = tuple(_route(item, step) for item in part.items())
    if not found:
        part.problem(f"{quoted(part.name)} leads nowhere", "write a step, or @end:Outcome")
    return found


def _route(part: Part, step: str) -> Route:
    if not isinstance(part.node.value, dict):
        return Route(to=notation.target(part, step))
    part.known(*ROUTE_KEYS)
    to = part.get("to")
    if to is None:
        part.problem(f"a row of {quoted(part.name)} has no target", "add `to: STEP`")
    return Route(
        to=notation.target(to, step) if to else "?",
        do=_actions(part.get("do")),
        when=part.text("when"),
        charge=part.name_of("charge"),
        fresh=part.flag("fresh"),
        sync=part.flag("sync"),
        sets={name: _expression(entry) for name, entry in part.named("sets", NAME)},
    )


def _expression(part: Part) -> str:
    value = part.node.value
    if isinstance(value, bool):
        return str(value)
    return str(value) if isinstance(value, int) else part.as_text()


def _actions(part: Part | None) -> tuple[Action, ...]:
    found: list[Action | None] = []
    for item in part.items() if part else ():
        if isinstance(item.node.value, str):
            found.append(_bare_action(item))
            continue
        item.known(*ACTIONS)
        found += [_action(entry) for name, entry in item.entries() if name in ACTIONS]
    return tuple(one for one in found if one is not None)


def _bare_action(part: Part) -> Action | None:
    """`tier` and `reset_thread` need no value."""
    match part.as_text():
        case "tier":
            return Tier()
        case "reset_thread":
            return ResetThread()
        case word:
            known = suggest(word, ACTIONS) if word not in ACTIONS else f"write {{{word}: …}}"
            part.problem(f"{quoted(word)} is not an action", known or f"known: {', '.join(ACTIONS)}")
            return None


def _action(part: Part) -> Action | None:
    match part.name:
        case "spawn":
            return _spawn(part)
        case "send":
            return _send(part)
        case "tier":
            return Tier(by=part.as_whole(1, least=1))
        case "reset_thread":
            return ResetThread(step="" if part.node.value is None else part.as_name(STEP))
        case _:
            return CancelGroup(group=part.as_name())


def _spawn(part: Part) -> Spawn:
    part.known("group", "graph", "over")
    _demand(part, "group", "graph", "over")
    return Spawn(group=part.name_of("group"), graph=part.name_of("graph"), over=part.text("over"))


def _send(part: Part) -> Send:
    part.known("signal", "to")
    _demand(part, "signal", "to")
    return Send(signal=part.name_of("signal", SIGNAL), to=part.one_of("to", get_args(Recipient), "parent"))


def _demand(part: Part, *keys: str) -> None:
    form = f"write {{{', '.join(keys)}}}"
    if not isinstance(part.node.value, dict):
        part.expected("a mapping", form)
        return
    for key in keys:
        if key not in part.node.value:
            part.problem(f"{quoted(part.name)} has no {quoted(key)}", form)
