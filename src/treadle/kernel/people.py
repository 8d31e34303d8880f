"""People: answers to questions, and commands at any moment (R18): go, pause, resume, abort, a note, a level."""

import msgspec

from treadle.kernel.activities import go_on
from treadle.kernel.advance import LIMIT_ASK, OUTAGE
from treadle.kernel.events import Replied, Signalled
from treadle.kernel.instances import ROOT, finish_instance, map_keys
from treadle.kernel.mailbox import post, reply
from treadle.kernel.routing import redirect
from treadle.kernel.state import Instance, Message, Slot
from treadle.kernel.turn import Turn
from treadle.protocol.model import ABORTED, Graph, Need

# Whether a person's command may send an instance to a step: the step's needs exist and are not stale.


def why_refused(graph: Graph, inst: Instance, step: str, item: str = "") -> str:
    """Return why a person cannot send an instance to a step, or to an item of it, now; empty if that is allowed."""
    main = inst.frames[0]
    if step not in graph.commanded or main.status == "active" or len(inst.frames) > 1:
        return f"cannot go to {step} from {main.step} now"
    if missing := [str(need) for need in graph.steps[step].needs if is_missing(inst, need)]:
        return f"{step} needs {', '.join(missing)}"
    sources = {need: newer_source(graph, inst, need.slot) for need in graph.steps[step].needs if _is_own(need)}
    if stale := [f"{need} again, because {newer} has changed since" for need, newer in sources.items() if newer]:
        return f"{step} needs {', '.join(stale)}"
    if item and item not in (known := map_keys(inst, step, graph.steps[step])):
        return f"{step} has no {item}; there are {', '.join(known) or 'none'}"
    return ""


def is_missing(inst: Instance, need: Need) -> bool:
    return not (need.optional or need.every or need.up or need.slot in inst.slots)


def newer_source(graph: Graph, inst: Instance, slot: str, seen: frozenset[str] = frozenset()) -> str:
    """Return a source of a slot, direct or indirect, that was written again since; empty if there is none."""
    written, source = inst.slots.get(slot), graph.steps.get(slot.partition(".")[0])
    if written is None or source is None or slot in seen:
        return ""
    for need in filter(_is_own, source.needs):
        other = inst.slots.get(need.slot)
        if other is not None and other.seq > written.seq:
            return need.slot
        if deeper := newer_source(graph, inst, need.slot, seen | {slot}):
            return deeper
    return ""


def _is_own(need: Need) -> bool:
    """Whether a need is required, and names a slot of the instance itself."""
    return bool(need.step) and not (need.optional or need.every or need.up)


STATUS_QUERY = "StatusQuery"
"""Answered from the state at once: a question whether an instance is alive must not wait behind its work."""

_LEVELS = ("0", "1", "2")


def replied(t: Turn, e: Replied) -> bool:
    """Apply a person's answer; its note goes to the agents at the asker's next steps, until one's work is accepted."""
    ask = t.asks.get(e.ask)
    if ask is None or ask.command is None or e.choice not in ask.command.choices:
        return False
    if e.ask in (LIMIT_ASK, OUTAGE):
        _go_on_or_abort(t, e.ask, e.choice)
        return True
    inst = t.edit(ask.inst)
    for frame in inst.frames:
        if e.note_ref and frame.id == e.ask:
            frame.note_ref = e.note_ref
    reply(t, e.ask, e.choice, Slot(e.note_ref, {}, t.seq))
    return True


def _go_on_or_abort(t: Turn, ask: str, choice: str) -> None:
    """Apply the answer to a question of the kernel itself: about a limit (R19), or an outage (R21)."""
    if ask == LIMIT_ASK:
        t.end_ask(LIMIT_ASK)
    if choice == "abort":
        finish_instance(t, t.edit(ROOT), ABORTED)
    elif ask == OUTAGE:
        go_on(t)
    else:
        # Cost and tokens may grow by the same amount once more, and the time starts again.
        t.allowances += 1
        if t.protocol.limits.wall:
            t.set_timer("run!wall", t.protocol.limits.wall)
        t.touch_everyone()


def signalled(t: Turn, e: Signalled) -> bool:
    """Apply a command of a person (R18), or deliver a signal from outside."""
    inst = t.inst(e.inst)
    if inst is None or not inst.live:
        return False
    inst = t.edit(e.inst)
    if e.name == STATUS_QUERY:
        t.notify(inst.id, "status", f"{inst.frames[-1].step} {inst.frames[-1].status}")
    match e.name:
        case "abort":
            finish_instance(t, inst, ABORTED)
        case "pause":
            inst.paused = True
        case "resume":
            inst.paused = False
            if not inst.parent and OUTAGE not in t.asks:  # a question has its own answer
                go_on(t)
            t.touch_everyone()
        case "go":
            _go(t, inst, e.step, e.item)
        case "note":
            inst.frames[-1].note_ref = e.data_ref
        case "level" if e.item in _LEVELS and not inst.parent:
            t.state = msgspec.structs.replace(t.state, level=int(e.item))
            t.touch_everyone()
        case name if name in t.graph(inst).handlers:
            post(t, inst.id, Message(name, "", (e.data_ref,), t.seq))
        case name if name != STATUS_QUERY:
            t.bury(inst.id, name, "")
    return True


def _go(t: Turn, inst: Instance, step: str, item: str) -> None:
    """Release a step that waits for this `go`, or send a waiting main frame to another step that people may command."""
    graph = t.graph(inst)
    step = graph.led.get(step, (step,))[0]
    here = [frame for frame in inst.frames if frame.step == step]
    if any(frame.status == "queued" for frame in here) and step not in inst.released and not item:
        inst.released.append(step)
    elif here:
        # A second `go`, kept for later, would open the next manual stop before a person has looked at it.
        t.notify(inst.id, "refused", f"{step} has already got its go")
    elif why := why_refused(graph, inst, step, item):
        t.notify(inst.id, "refused", why)
    else:
        redirect(t, inst, step)
        inst.frames[0].anew = item
        inst.released.append(step)
