"""Time enters as events: deadlines, reminders, default answers, grace periods, silence (R16)."""

from typing import Final

import msgspec

from treadle.kernel.advance import OUTAGE
from treadle.kernel.claims import fail
from treadle.kernel.commands import Cancel, Nudge
from treadle.kernel.events import Idle, TimerFired
from treadle.kernel.limits import open_limit
from treadle.kernel.mailbox import preempt, reply
from treadle.kernel.outages import go_on
from treadle.kernel.state import Ask, Slot
from treadle.kernel.turn import Turn

DEADLINE: Final = "the deadline has passed"


def timer_fired(t: Turn, e: TimerFired) -> bool:
    """R16: a deadline, a reminder, a default answer, the end of a grace period, or the run's time."""
    if e.timer not in t.timers:
        return False
    t.timers = t.timers.delete(e.timer)
    id_, _, what = e.timer.rpartition("!")
    if act := t.activity(e.timer, "running", "verifying"):
        t.commands.append(Cancel(id=e.timer, why="timeout"))
        fail(t, act, "!timeout", e.detail_ref or f"text:{DEADLINE}")
    elif e.timer == OUTAGE:
        go_on(t)
    elif what == "wall":
        open_limit(t, "wall")
    elif what.startswith("preempt:"):
        preempt(t, t.edit(id_), what.removeprefix("preempt:"))
    else:
        _ask_is_due(t, id_, t.asks[id_], what)
    return True


def _ask_is_due(t: Turn, id_: str, ask: Ask, what: str) -> None:
    inst = t.edit(ask.inst)
    step = t.graph(inst).steps[ask.step]
    if what == "default":
        reply(t, id_, step.default, Slot("text:decided by time", {}, t.seq))
    else:
        t.notify(inst.id, "reminder", id_)
        t.set_timer(f"{id_}!remind", step.remind)


def idle(t: Turn, e: Idle) -> bool:
    act = t.activity(e.act, "running")
    if act is None:
        return False
    step = t.protocol.graphs[act.command.graph].steps[act.command.step]
    if act.nudges >= step.nudges:
        return False
    t.put_activity(msgspec.structs.replace(act, nudges=act.nudges + 1))
    t.commands.append(Nudge(id=e.act, count=act.nudges + 1))
    return True
