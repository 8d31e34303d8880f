"""Signals: their delivery, the choice of the next one to serve, and the delivery of answers (R12, R14)."""

import msgspec

from treadle.kernel.commands import Cancel
from treadle.kernel.state import Instance, Message, Slot
from treadle.kernel.turn import Turn

_REFS_KEPT = 32
"""Payloads of merged signals, the newest ones, so that a mailbox does not grow while its owner is busy."""


def post(t: Turn, to: str, message: Message) -> None:
    """Put a signal into a mailbox; a signal without a handler goes to the dead letters.

    A handler that coalesces serves all its signals at once, so they are merged on arrival, and pointless ones are
    dropped: a mailbox stays bounded however long its owner is busy.
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
    # A claim that is being verified is left alone: its work is done. The signal may have been served meanwhile.
    if act is None or not outranked or all(message.name != signal for message in inst.mailbox):
        return
    t.commands.append(Cancel(id=frame.id, why="preempted"))
    t.end_activity(act)
    # The attempt is given back. A new visit keeps the id of the next activity different from that of this one.
    inst.attempts[frame.step] -= 1
    inst.visits[frame.step] += 1
    frame.status, frame.id = "queued", ""


def _unite(t: Turn, inst: Instance, message: Message) -> None:
    """Merge a signal into a waiting one of the same name, from the same sender or from one that has ended since.

    Questions are never merged, as each gets its own answer; nor are signals about different children.
    """
    for place, waiting in enumerate(inst.mailbox):
        if waiting.name != message.name or waiting.ask or message.ask:
            continue
        sender = t.inst(waiting.sender) if not message.name.startswith("child:") else None
        if waiting.sender == message.sender or (sender is not None and not sender.live):
            new = tuple(ref for ref in message.refs if ref not in waiting.refs)
            refs = (waiting.refs + new)[-_REFS_KEPT:]
            inst.mailbox[place] = msgspec.structs.replace(waiting, sender=message.sender, refs=refs)
            return
    inst.mailbox.append(message)


def next_signal(t: Turn, inst: Instance, *, waits: bool) -> Message | None:
    """Return the signal to serve now: the best by class and arrival, if its class comes before the current work.

    `waits` says that the instance's step may not start yet, so any signal comes before it. A handler that waits for an
    answer delays only lower classes and signals for the same handler; others of its class are served meanwhile.
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
        current = handlers[top.signal].prio
        return best if prio < current or (prio == current and top.status == "waiting") else None
    if top.status != "queued" or waits:
        return best
    return best if prio <= t.step(inst, top).prio else None


def _drop_abandoned(t: Turn, inst: Instance) -> None:
    """Drop pointless signals: a question that its asker has abandoned, or the end of a child that was replaced."""
    for message in list(inst.mailbox):
        abandoned = bool(message.ask) and message.ask not in t.asks
        if not message.ask and message.name.startswith("child:"):
            child = t.inst(message.sender)
            if child is not None and child.parent == inst.id:
                group = inst.groups.get(child.group)
                abandoned = group is None or group.members.get(child.key) != child.id
        if abandoned:
            inst.mailbox.remove(message)
            t.bury(inst.id, message.name, message.sender)


def take_signal(t: Turn, inst: Instance, message: Message) -> tuple[Message, ...]:
    """Remove a signal from the mailbox, with all others of its name if its handler coalesces."""
    if t.graph(inst).handlers[message.name].coalesce:
        taken = tuple(other for other in inst.mailbox if other.name == message.name)
    else:
        taken = (message,)
    inst.mailbox = [other for other in inst.mailbox if other not in taken]
    t.cancel_timer(f"{inst.id}!preempt:{message.name}")
    return taken


def reply(t: Turn, ask_id: str, key: str, slot: Slot) -> None:
    """Deliver an answer to the frame that waits for it; an answer to a closed question goes to the dead letters."""
    ask = t.asks.get(ask_id)
    if ask is None:
        t.bury(ask_id, key, "")
        return
    inst = t.edit(ask.inst)
    t.end_ask(ask_id)
    for frame in inst.frames:
        if frame.id == ask_id:
            frame.reply, frame.reply_slot = key, slot
