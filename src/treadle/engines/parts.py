"""Tells people of each part of a run that ends while it is driven: a story of a backlog, for example."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.ports import Notifier
from treadle.protocol.model import Protocol
from treadle.views.tree import how_it_ended

PART: Final = "part"


def ended_parts(state: State) -> dict[str, str]:
    """The parts that the run itself has started and that have ended: instance → how."""
    return {id_: inst.outcome for id_, inst in state.insts.items() if inst.parent == ROOT and inst.outcome}


@asynccontextmanager
async def telling(run: str, before: State, notifier: Notifier) -> AsyncIterator[Callable[[Protocol, State], None]]:
    """A function that is to be called whenever the run has moved; failing to tell anybody stops nothing."""
    known, seen = set(ended_parts(before)), _ended(before)
    tasks: list[asyncio.Task[None]] = []

    def moved(protocol: Protocol, state: State) -> None:
        nonlocal seen
        if _ended(state) == seen:
            return
        seen = _ended(state)
        for id_ in ended_parts(state):
            if id_ not in known:
                known.add(id_)
                inst = state.insts[id_]
                words = f"{inst.key} {how_it_ended(protocol, state, inst)}"
                tasks.append(asyncio.create_task(notifier.notify(run, PART, words)))

    try:
        yield moved
    finally:
        await asyncio.gather(*tasks, return_exceptions=True)


def _ended(state: State) -> int:
    """How many instances have ended; looking at all of them is worth it only when that has changed."""
    return state.created - state.live
