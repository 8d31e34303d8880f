"""People: answers to questions, and what they may do at any moment (R18): go, pause, resume, abort, a note, a level."""

import msgspec

from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.commanded import refused
from treadle.kernel.events import Replied, Signalled
from treadle.kernel.lifecycle import finish
from treadle.kernel.limits import limit_answered
from treadle.kernel.mailbox import post, reply
from treadle.kernel.outages import go_on, outage_answered
from treadle.kernel.routing import redirect
from treadle.kernel.state import Instance, Message, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.model import ABORTED

STATUS_QUERY = "StatusQuery"
"""Answered from the state at once: whoever asks whether an instance is alive must not wait behind its work."""

_LEVELS = ("0", "1", "2")


def replied(t: Turn, e: Replied) -> bool:
    """A person's answer; its note goes with whoever asked, to the next agent there until its work is accepted."""
    ask = t.asks.get(e.ask)
    if ask is None or ask.command is None or e.choice not in ask.command.choices:
        return False
    if e.ask == LIMIT_ASK:
        return limit_answered(t, e.choice)
    if e.ask == OUTAGE:
        return outage_answered(t, e.choice)
    inst = t.edit(ask.inst)
    for frame in inst.frames:
        if e.note_ref and frame.id == e.ask:
            frame.note_ref = e.note_ref
    reply(t, e.ask, e.choice, Slot(e.note_ref, {}, t.seq))
    return True


def signalled(t: Turn, e: Signalled) -> bool:
    """R18 and signals from outside."""
    inst = t.inst(e.inst)
    if inst is None or not inst.live:
        return False
    inst = t.edit(e.inst)
    if e.name == STATUS_QUERY:
        t.notify(inst.id, "status", f"{inst.frames[-1].step} {inst.frames[-1].status}")
    match e.name:
        case "abort":
            finish(t, inst, ABORTED)
        case "pause":
            inst.paused = True
        case "resume":
            inst.paused = False
            if not inst.parent and OUTAGE not in t.asks:  # a question has its own answer
                go_on(t)
            for other in t.everyone():
                t.touch(other)
        case "go":
            _go(t, inst, e.step, e.item)
        case "note":
            inst.frames[-1].note_ref = e.data_ref
        case "level" if e.item in _LEVELS and not inst.parent:
            t.state = msgspec.structs.replace(t.state, level=int(e.item))
            for other in t.everyone():
                t.touch(other)
        case name if name in t.graph(inst).handlers:
            post(t, inst.id, Message(name, "", (e.data_ref,), t.seq))
        case name if name != STATUS_QUERY:
            t.bury(inst.id, name, "")
    return True


def _go(t: Turn, inst: Instance, step: str, item: str) -> None:
    """Let a held step start, or (a command of the graph) send a waiting main frame to another one."""
    graph = t.graph(inst)
    step = graph.led.get(step, (step,))[0]
    here = [frame for frame in inst.frames if frame.step == step]
    if any(frame.status == "queued" for frame in here) and step not in inst.released and not item:
        inst.released.append(step)
    elif here:
        # kept for later, a second `go` would open the next manual stop without anybody having looked
        t.notify(inst.id, "refused", f"{step} has its go already")
    elif why := refused(graph, inst, step, item):
        t.notify(inst.id, "refused", why)
    else:
        redirect(t, inst, step)
        inst.frames[0].anew = item
        inst.released.append(step)
