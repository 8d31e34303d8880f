"""Signals: how they arrive, which one is served next, and how an answer finds the one who asked (R12, R14)."""

import msgspec

from treadle.kernel.commands import Cancel
from treadle.kernel.state import Instance, Message, Slot
from treadle.kernel.turn import Turn

_REFS_KEPT = 32


def post(t: Turn, to: str, message: Message) -> None:
    """Put a signal into a mailbox; what no handler serves goes to the dead letters.

    A handler that coalesces takes all its signals at once, so they are united on arrival, and what has become
    pointless makes room: a mailbox stays bounded however long its owner is busy.
    """
    inst = t.edit(to)
    handler = t.graph(inst).handlers.get(message.name)
    if handler is None or not inst.live:
        t.bury(to, message.name, message.sender)
        return
    _drop_abandoned(t, inst)
    if handler.coalesce:
        _unite(t, inst, message)
    else:
        inst.mailbox.append(message)
    if handler.preempt == 0:
        preempt(t, inst, message.name)
    elif handler.preempt > 0 and inst.frames[-1].status == "active":
        t.set_timer(f"{to}!preempt:{message.name}", handler.preempt)


def preempt(t: Turn, inst: Instance, signal: str) -> None:
    """Stop a running activity that a waiting signal outranks; it costs no attempt and starts again later (R18)."""
    handlers = t.graph(inst).handlers
    frame = inst.frames[-1]
    prio = handlers[signal].prio
    outranked = prio < handlers[frame.signal].prio if frame.signal else prio <= t.step(inst, frame).prio
    act = t.activity(frame.id, "running")
    if act is None or not outranked or all(message.name != signal for message in inst.mailbox):
        return
    t.commands.append(Cancel(id=frame.id, why="preempted"))
    t.end_activity(act)
    inst.attempts[frame.step] -= 1
    inst.visits[frame.step] += 1
    frame.status, frame.id = "queued", ""


def _unite(t: Turn, inst: Instance, message: Message) -> None:
    """Add a signal to a waiting one of its name, from the same sender or from one that has ended since."""
    for place, waiting in enumerate(inst.mailbox):
        if waiting.name == message.name and not waiting.ask and not message.ask and _may_unite(t, waiting, message):
            new = tuple(ref for ref in message.refs if ref not in waiting.refs)
            refs = (waiting.refs + new)[-_REFS_KEPT:]
            inst.mailbox[place] = msgspec.structs.replace(waiting, sender=message.sender, refs=refs)
            return
    inst.mailbox.append(message)


def _may_unite(t: Turn, waiting: Message, message: Message) -> bool:
    """News of children are kept apart, because each is about its sender."""
    if waiting.sender == message.sender or message.name.startswith("child:"):
        return waiting.sender == message.sender
    sender = t.inst(waiting.sender)
    return sender is not None and not sender.live


def next_signal(t: Turn, inst: Instance) -> Message | None:
    """The signal to serve now, if any: the best by class and arrival, if its class comes before the work at hand.

    A handler that waits for an answer holds up only what comes after it and what would be its own work again: others of
    its class are served meanwhile.
    """
    _drop_abandoned(t, inst)
    handlers = t.graph(inst).handlers
    busy = {handlers[frame.signal].step for frame in inst.frames[1:]}
    mail = [message for message in inst.mailbox if handlers[message.name].step not in busy]
    if not mail:
        return None
    best = min(mail, key=lambda message: (handlers[message.name].prio, message.seq))
    prio = handlers[best.name].prio
    top = inst.frames[-1]
    if top.signal:
        at_hand = handlers[top.signal].prio
        return best if prio < at_hand or (prio == at_hand and top.status == "waiting") else None
    if top.status != "queued" or is_held(t, inst):
        return best
    return best if prio <= t.step(inst, top).prio else None


def _drop_abandoned(t: Turn, inst: Instance) -> None:
    """Forget what has become pointless: a question whose asker has gone elsewhere, news of a child since replaced."""
    for message in [message for message in inst.mailbox if _is_abandoned(t, inst, message)]:
        inst.mailbox.remove(message)
        t.bury(inst.id, message.name, message.sender)


def _is_abandoned(t: Turn, inst: Instance, message: Message) -> bool:
    if message.ask:
        return message.ask not in t.asks
    child = t.inst(message.sender) if message.name.startswith("child:") else None
    if child is None or child.parent != inst.id:
        return False
    group = inst.groups.get(child.group)
    return group is None or group.members.get(child.key) != child.id


def is_held(t: Turn, inst: Instance) -> bool:
    """Whether the top frame waits for its children or for a person's `go`."""
    top = inst.frames[-1]
    step = t.step(inst, top)
    manual = t.state.level == 1 and step.kind == "agent"
    for wait in step.wait:
        manual = manual or wait.kind == "manual"
        if wait.kind == "group" and (group := inst.groups.get(wait.group)) and group.open:
            return True
    return manual and top.step not in inst.released


def take(t: Turn, inst: Instance, message: Message) -> tuple[Message, ...]:
    """Remove a signal from the mailbox, with all others of its name if its handler coalesces."""
    if t.graph(inst).handlers[message.name].coalesce:
        taken = tuple(other for other in inst.mailbox if other.name == message.name)
    else:
        taken = (message,)
    inst.mailbox = [other for other in inst.mailbox if other not in taken]
    t.cancel_timer(f"{inst.id}!preempt:{message.name}")
    return taken


def reply(t: Turn, ask_id: str, key: str, slot: Slot) -> None:
    """Hand an answer to the frame that waits for it; an answer nobody waits for goes to the dead letters."""
    ask = t.asks.get(ask_id)
    if ask is None:
        t.bury(ask_id, key, "")
        return
    inst = t.edit(ask.inst)
    t.end_ask(ask_id)
    for frame in inst.frames:
        if frame.id == ask_id:
            frame.reply, frame.reply_slot = key, slot
