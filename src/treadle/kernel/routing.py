"""From an exit to the next position: record, choose a row, charge, act, go (R4–R9)."""

from collections.abc import Callable

from treadle.errors import IllegalEvent
from treadle.kernel.instances import (
    arrive,
    cancel_group,
    finish_instance,
    interrupt,
    live_children,
    reconcile,
)
from treadle.kernel.mailbox import post, reply
from treadle.kernel.state import Frame, Instance, Message, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.guards import holds, parse
from treadle.protocol.model import (
    ABORTED,
    CancelGroup,
    ResetThread,
    Route,
    Send,
    Spawn,
    Tier,
    base_of,
    row,
    tag_of,
    target,
)

REPORTS = ("!gate", "!invalid", "!timeout", "!crash", "!blocked", "!store")
"""System exits with a report that the next attempt sees; an accepted exit clears them."""


def leave(t: Turn, inst: Instance, frame: Frame, key: str, slot: Slot, spent: str = "") -> None:
    """Route an accepted exit, or a system exit, of the step that a frame stands at.

    `spent` is the exit that used up the step's attempts, if `key` replaces it.
    """
    follow(t, inst, frame, key, slot, choose(t, inst, frame, key, slot), spent)


def follow(t: Turn, inst: Instance, frame: Frame, key: str, slot: Slot, route: Route, spent: str = "") -> None:
    """Leave a step by a chosen row: record the exit, charge, perform the row's actions, and go to its target.

    Only the acceptance of a claim (`activities`) needs this apart from `choose`: between the two it may still refuse.
    """
    record(t, inst, frame, key, slot)
    step = t.step(inst, frame)
    retries = route.to == frame.step and not route.fresh and step.kind in ("agent", "effect", "check")
    if retries and inst.attempts.get(frame.step, 0) >= step.attempts:
        # R7: with the attempts spent, the step leaves once more, by the exit that spent attempts become. If that leads
        # back again, the step would loop for ever; the checker refuses such a table.
        if spent:
            raise IllegalEvent(
                f"{inst.graph}.{frame.step}: {key} leads back to a step without attempts left", code="event.no_row"
            )
        lookup = _scope(inst, frame, slot, inst.asked.get(_question(t, key, slot), 0))
        becomes = next(option.key for option in step.becomes if holds(option.when, lookup))
        leave(t, inst, frame, becomes, slot, spent=key)
        return
    if route.charge:
        # R6: a row that charges a spent budget only leads elsewhere; its actions do not happen.
        charged = inst.spent.get(route.charge, 0)
        if charged < t.graph(inst).budgets[route.charge].max:
            inst.spent[route.charge] = charged + 1
        else:
            route = Route(to=route.over)
    _perform(t, inst, frame, key, route, slot)
    _go_to_target(t, inst, frame, route, key if key.startswith("!") else spent or key, slot)


def choose(t: Turn, inst: Instance, frame: Frame, key: str, slot: Slot) -> Route:
    """Return the first row with a true guard (R5); the checker proves that there is one."""
    rows = row(t.graph(inst), frame.step, key)
    if rows:
        if not rows[0].when:
            return rows[0]
        times = inst.asked.get(question, 0) + 1 if (question := _question(t, key, slot)) else 0
        lookup = _scope(inst, frame, slot, times)
        for route in rows:
            if holds(route.when, lookup):
                return route
    raise IllegalEvent(
        f"{inst.graph}.{frame.step}: no row for {key}; check the protocol before running it", code="event.no_row"
    )


def record(t: Turn, inst: Instance, frame: Frame, key: str, slot: Slot) -> None:
    """R4: record the slot of the exit, the step's last exit key, and the slot's history."""
    name = f"{frame.step}.{tag_of(key)}"
    if not key.startswith("!"):
        for report in REPORTS:
            inst.slots.pop(f"{frame.step}.{report}", None)
    inst.slots[name] = slot
    inst.last[frame.step] = key
    if question := _question(t, key, slot):
        inst.asked[question] = inst.asked.get(question, 0) + 1
    if name in t.protocol.histories.get(inst.graph, ()):
        inst.history[name] = (*inst.history.get(name, ()), slot.ref)


def _question(t: Turn, key: str, slot: Slot) -> str:
    """Return the question of an exit: the fingerprint in its fields routed as `asked`; empty if there is none."""
    exit_ = t.protocol.exits.get(tag_of(key))
    asked = [name for name, field in exit_.fields.items() if field.route == "asked"] if exit_ else []
    return " ".join(str(slot.fields[name]) for name in asked if slot.fields.get(name))


def _scope(inst: Instance, frame: Frame, slot: Slot, asked: int) -> Callable[[str, str], object]:
    """Return the lookup for guards; `asked` counts how often the exit's question was asked, including this time."""

    def lookup(root: str, name: str) -> object:
        match root:
            case "data":
                value = slot.fields.get(name)
                return len(value) if isinstance(value, tuple) else value
            case "last":
                return inst.last.get(name)
            case "spent":
                return inst.spent.get(name, 0)
            case "attempt":
                return inst.attempts.get(frame.step, 0)
            case "same_failure":
                return inst.failures.get(frame.step, ("", 0))[1]
            case "same_question":
                return asked
            case "depth":
                return inst.depth
            case "root":
                return not inst.parent
        return inst.vars.get(root)

    return lookup


def _perform(t: Turn, inst: Instance, frame: Frame, key: str, route: Route, slot: Slot) -> None:
    """R8: set the row's variables and perform its actions, in order."""
    if route.sets:
        lookup = _scope(inst, frame, slot, inst.asked.get(_question(t, key, slot), 0))
        inst.vars.update({name: parse(text).evaluate(lookup) for name, text in route.sets.items()})
    for action in route.do:
        match action:
            case Spawn():
                reconcile(t, inst, action, slot.fields.get(action.over))
            case Send():
                _send(t, inst, frame, action, slot)
            case Tier():
                role = t.step(inst, frame).role
                inst.tiers[role] = max(0, inst.tiers.get(role, 0) + action.by)
            case ResetThread():
                inst.threads.pop(action.step or frame.step, None)
            case CancelGroup():
                cancel_group(t, inst, action.group)


def _send(t: Turn, inst: Instance, frame: Frame, action: Send, slot: Slot) -> None:
    if action.to == "sender":
        for asked in frame.signals:
            if asked.ask:
                reply(t, asked.ask, action.signal, Slot(slot.ref, slot.fields, t.seq))
            else:
                _post(t, inst, asked.sender, action.signal, slot)
        return
    if action.to == "children":
        recipients = [child.id for child in live_children(t, inst)]
    elif not inst.parent:
        recipients = []
    elif action.to == "parent":
        recipients = [inst.parent]
    else:
        siblings = live_children(t, t.edit(inst.parent), inst.group)
        recipients = [other.id for other in siblings if other.id != inst.id]
    for id_ in recipients:
        _post(t, inst, id_, action.signal, slot)


def _post(t: Turn, inst: Instance, to: str, signal: str, slot: Slot) -> None:
    if t.inst(to) is not None:
        post(t, to, Message(signal, inst.id, (slot.ref,), t.seq))
    else:
        t.bury(to, signal, inst.id)


def _go_to_target(t: Turn, inst: Instance, frame: Frame, route: Route, key: str, slot: Slot) -> None:
    """R9: end the instance, resume the frames below, redirect the main frame, or enter a step."""
    place = target(route.to)
    cause = (key, slot.ref) if key.startswith("!") else ("", "")
    match place.kind:
        case "end":
            finish_instance(t, inst, place.name, slot)
        case "resume" | "redirect":
            # The handler frame has ended. By identity: it need not be on top, and another one may be equal to it.
            _depart(t, inst, frame, "")
            inst.frames = [other for other in inst.frames if other is not frame]
            if place.kind == "redirect":
                redirect(t, inst, place.name, cause)
                inst.frames[0].note_ref = frame.note_ref or inst.frames[0].note_ref
        case "step" if route.sync and inst.parent:
            frame.status, frame.landing = "synced", place.name
            arrive(t, inst, 1)
        case "step":
            enter(t, inst, frame, place.name, route.fresh, cause)


def redirect(t: Turn, inst: Instance, step: str, cause: tuple[str, str] = ("", "")) -> None:
    """Send the main frame to a step; abort the children or the question that it waited for."""
    main = inst.frames[0]
    if main.status == "waiting" and t.step(inst, main).kind == "map":
        for child in live_children(t, inst, main.step):
            finish_instance(t, t.edit(child.id), ABORTED)
    interrupt(t, inst, main)
    t.dequeue(inst)
    enter(t, inst, main, step, True, cause)


def enter(
    t: Turn, inst: Instance, frame: Frame, step: str, fresh: bool = False, cause: tuple[str, str] = ("", "")
) -> None:
    """Put a frame in front of a step; coming from elsewhere starts a new visit with new attempts (R7).

    The frame is only queued; `advance` starts the step, or lets it wait, before the turn ends.
    """
    if step != frame.step or fresh:
        if step != frame.step:
            _depart(t, inst, frame, step, bool(cause[0]))
            inst.released = [other for other in inst.released if other != frame.step]
        inst.begin_visit(step)
        for name, budget in t.graph(inst).budgets.items():
            if name in inst.spent and (step in budget.resets or base_of(step) in budget.resets):
                inst.spent[name] = 0
    frame.step, frame.status, frame.id, frame.landing, frame.anew = step, "queued", "", "", ""
    frame.cause, frame.cause_ref = cause


def _depart(t: Turn, inst: Instance, frame: Frame, to: str, failed: bool = False) -> None:
    """Record in `inst.left` the steps that a frame leaves; their optional inputs and reports are stale from now on.

    A step that asks a question is not left: it still has its earlier inputs when the answer comes. Neither is a step
    that failed, while an effect repairs it.
    """
    steps = t.graph(inst).steps
    is_on_behalf = steps[frame.step].kind == "ask" or frame.asker != ""
    asker = frame.asker if is_on_behalf else frame.step
    frame.asker = asker if to and (steps[to].kind == "ask" or (failed and steps[to].kind == "effect")) else ""
    if is_on_behalf:
        inst.left[frame.step] = t.seq
    if asker not in ("", to, frame.asker):
        inst.left[asker] = t.seq
