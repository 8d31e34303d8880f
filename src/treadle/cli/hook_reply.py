"""What a call of a hook means for the runs of a project."""

from treadle.cli.hook_ending import ended
from treadle.cli.hook_team import completed, idle
from treadle.config.project import Project
from treadle.engines.opening import opened_store
from treadle.engines.pinned import pinned
from treadle.engines.waiting import works_in_hand
from treadle.hooks.belonging import belonging
from treadle.hooks.call import Call
from treadle.hooks.reply import NOTHING, Reply
from treadle.ports import Work
from treadle.store.sqlite import Store

_LATE = ("Stop", "SubagentStop")


def reply_to(call: Call, project: Project, *, legacy: bool) -> Reply:
    """Do what a call asks for, and say what its program is told."""
    with opened_store(project) as store:
        works = in_hand(project, store)
        mine = belonging(call, works)
        if not mine:
            return NOTHING
        if call.event in _LATE:
            return ended(project, store, call, mine, legacy=legacy)
        if call.event == "TaskCompleted":
            return completed(project, store, call, mine)
        return idle(store, call, mine, works) if call.event == "TeammateIdle" else NOTHING


def in_hand(project: Project, store: Store) -> list[Work]:
    """What people have in hand as agents, of all runs that have not ended."""
    return [
        work
        for run in store.runs()
        if not run.outcome and run.seq
        for work in works_in_hand(store.load(run.id).state, pinned(run), project.runs / run.id)
    ]
