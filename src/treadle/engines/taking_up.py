"""What becomes of something that was posted for a run: its driver takes it up, or this process does."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from treadle.config.project import Project
from treadle.engines.driving import Driver, driver_of
from treadle.engines.surroundings import Hear, hear_nothing
from treadle.errors import PortError
from treadle.kernel.state import State
from treadle.store.sqlite import Store

_GLANCE: Final = 0.05
_PATIENCE: Final = 10.0
"""Seconds; a driver looks much more often, unless its machine sleeps."""


class Taken(msgspec.Struct, frozen=True):
    """Who has taken something up, and how the run stands now."""

    by: int
    """The process that drives the run; 0: this one has, and nobody does any more."""
    state: State
    waits: bool = False
    """The driver has not looked yet."""


Still = Callable[[State], bool]


async def take_up(
    project: Project, store: Store, run: str, still: Still = lambda _: False, hear: Hear = hear_nothing
) -> Taken:
    """See that what was posted is taken up, and go on as far as no agent is needed.

    `still` tells of what was not posted, but left for the driver elsewhere, that it has not been taken up. `hear`
    follows the checks if this process makes them; another process shows them where it was started.
    """
    if pid := driver_of(store.run(run)):
        return await _by_driver(store, run, pid, still)
    try:
        return Taken(0, await Driver(project, store, starts_agents=False, hear=hear).to_rest(run))
    except PortError:
        if pid := driver_of(store.run(run)):  # somebody was faster
            return await _by_driver(store, run, pid, still)
        raise


async def _by_driver(store: Store, run: str, pid: int, still: Still) -> Taken:
    rounds = int(_PATIENCE / _GLANCE)
    for _ in range(rounds):
        if not store.posted(run) and not still(store.load(run).state):
            return Taken(pid, store.load(run).state)
        await asyncio.sleep(_GLANCE)
    return Taken(pid, store.load(run).state, waits=True)
