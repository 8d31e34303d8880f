"""Services that cannot be used for a while (R21): the run waits for a time or for a person, and nobody is blamed.

The activities that met the outage are held with all they had (attempt, pools, conversation) and issued again when it is
over (`held`). Meanwhile nothing else starts: it would meet the same. What already runs goes on.
"""

from typing import Final

import msgspec

from treadle.kernel.advance import OUTAGE, is_out
from treadle.kernel.commands import AskHuman, Inputs
from treadle.kernel.events import Unavailable
from treadle.kernel.lifecycle import ROOT, finish
from treadle.kernel.limits import use
from treadle.kernel.state import Ask, Outage
from treadle.kernel.turn import Turn
from treadle.protocol.model import ABORTED

FIRST_WAIT: Final = 30
LONGEST_WAIT: Final = 3600
_FOR_PEOPLE: Final = ("billing", "login")


def unavailable(t: Turn, e: Unavailable) -> bool:
    """Hold an activity, at no cost to it, until the time that its service names, or until a person has seen to it."""
    act = t.activity(e.act, "running")
    if act is None:
        return False
    use(t, e.usage)
    t.cancel_timer(e.act)
    command = msgspec.structs.replace(act.command, retry=act.command.retry + 1)
    t.put_activity(msgspec.structs.replace(act, command=command, phase="held", grant=e.grant))
    known = t.outage.count if t.outage else 0
    count = known if is_out(t) else known + 1  # agents side by side meet one outage
    t.outage = Outage(e.why, e.detail_ref, count)
    if e.why in _FOR_PEOPLE or e.grant:
        _ask(t, e)
    elif OUTAGE not in t.asks:
        _wait(t, e.wait or min(FIRST_WAIT << min(count - 1, 10), LONGEST_WAIT), e.why)
    return True


def _ask(t: Turn, e: Unavailable) -> None:
    t.cancel_timer(OUTAGE)
    if OUTAGE not in t.asks:
        inputs: Inputs = {"gate_report": (e.detail_ref,)} if e.detail_ref else {}
        choices = ("continue", "abort")
        command = AskHuman(id=OUTAGE, inst=ROOT, graph="", step=e.why, choices=choices, inputs=inputs)
        t.put_ask(OUTAGE, Ask(ROOT, e.why, command))
        t.commands.append(command)


def _wait(t: Turn, seconds: int, why: str) -> None:
    """Until the latest time that anybody has named."""
    if t.timers.get(OUTAGE, 0) < t.now + seconds * 1000:
        t.set_timer(OUTAGE, seconds)
        t.notify(ROOT, "outage", f"an agent is held up ({why})")


def outage_answered(t: Turn, choice: str) -> bool:
    """A person has seen to it, or gives up."""
    if choice == "abort":
        finish(t, t.edit(ROOT), ABORTED)
        return True
    go_on(t)
    return True


def go_on(t: Turn) -> None:
    """The outage is over: whoever was held starts again, unless something else stops it. Harmless if nobody was."""
    t.cancel_timer(OUTAGE)
    t.end_ask(OUTAGE)
    granted = [act for _, act in sorted(t.acts.items()) if act.grant]
    for grant in sorted({act.grant for act in granted}):
        t.grants = t.grants.set(grant, t.grants.get(grant, 0) + 1)
    for act in granted:
        t.put_activity(msgspec.structs.replace(act, grant=""))
    for inst in t.everyone():
        t.touch(inst)
