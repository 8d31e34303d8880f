"""The loop of the program: an event, the reducer, the store, the commands. It fits on this page, and it stays so."""

from collections.abc import Callable

from treadle.kernel.reduce import outstanding
from treadle.kernel.state import State
from treadle.runtime.desk import Desk
from treadle.runtime.inbox import Inbox
from treadle.runtime.tasks import Tasks

Rests = Callable[[State], bool]


async def drive(desk: Desk, inbox: Inbox, tasks: Tasks, rests: Rests) -> State:
    """Drive a run until it ends, or until it rests and nothing has arrived meanwhile."""
    async with tasks:
        for command in outstanding(desk.state):  # recovery: what is open is issued again
            tasks.start(command, desk.state)
        while not desk.state.outcome and (inbox or not rests(desk.state)):
            for command, state in await desk.take(await inbox.take()):  # one transaction, before any effect
                tasks.start(command, state)  # I/O; always ends as an event in the inbox
        return desk.state


def ended(state: State) -> bool:
    """Only the end is a rest: for a host that goes on for as long as it runs."""
    return bool(state.outcome)


def only_people(state: State) -> bool:
    """Nothing runs, and no timer will decide anything: only a person can move the run."""
    deciding = [id_ for id_ in state.timers if not id_.endswith(("!remind", "!wall"))]
    return bool(state.seq) and not state.acts and not deciding
