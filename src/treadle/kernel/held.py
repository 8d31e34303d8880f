"""An activity that an outage has held up (R21) is issued again: the same attempt, with a new deadline."""

import msgspec

from treadle.kernel.commands import ActivityCommand, RunAgent
from treadle.kernel.state import Activity
from treadle.kernel.turn import Turn


def take_up(t: Turn, act: Activity) -> None:
    """Issue it again; nobody starts in its place, for it has kept its pools."""
    job = act.command
    due = t.set_timer(job.id, t.protocol.graphs[job.graph].steps[job.step].timeout)
    job = _again(act, due)
    t.put_activity(msgspec.structs.replace(act, command=job, phase="running"))
    t.commands.append(job)


def _again(act: Activity, due: int) -> ActivityCommand:
    """The command once more; an agent that has begun a conversation goes on with it."""
    job = act.command
    if isinstance(job, RunAgent) and act.session:
        return msgspec.structs.replace(job, due=due, session=act.session, fork=False, goes_on=True)
    return msgspec.structs.replace(job, due=due)
