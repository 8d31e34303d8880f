"""How what belongs to an activity is ended: asked first, then made to; and nothing else, ever."""

import asyncio
import os
import shlex
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from treadle.agents.kept import Kept
from treadle.agents.processes import Process, descendants, holding, lives, send, send_all
from treadle.enclosures.engine import ask
from treadle.errors import PortError

_QUICK: Final = 0.01
_MARGIN: Final = 1.0
_ROUNDS: Final = 4
_GONE: Final = "no such container"


async def end_keeper(keeper: Process, grace: float) -> None:
    """Ask the keeper to end everything; if it cannot, because it was stopped or worse, do it in its place."""
    send(keeper, signal.SIGTERM)
    if not await _gone([keeper], grace + _MARGIN):
        below = descendants(keeper.pid) if lives(keeper) else []
        send_all([keeper, *below], signal.SIGKILL)
        await _gone([keeper, *below], grace)
    reap(keeper)


async def end_all(kept: Kept, grace: float) -> None:
    """End whatever any session of an activity has left, up to and including this one."""
    for each in kept.up_to_this():
        if keeper := each.keeper():
            await end_keeper(keeper, grace)
        await sweep(each, grace)


async def sweep(kept: Kept, grace: float) -> None:
    """End what carries the mark of a session and has escaped its keeper, and what it has left elsewhere."""
    number = signal.SIGTERM
    for _ in range(_ROUNDS):
        if not (left := await asyncio.to_thread(holding, kept.mark)):
            await _bid_farewell(kept)
            return
        send_all(left, number)
        await _gone(left, grace)
        number = signal.SIGKILL
    if left := await asyncio.to_thread(holding, kept.mark):
        raise PortError(
            f"process {left[0].pid} of an agent cannot be ended; look at it with `ps`",
            retryable=True,
            code="agent.stuck",
        )


async def _bid_farewell(kept: Kept) -> None:
    """End the container of a session; a keeper that has written down how its program ended has done so."""
    words = kept.farewell_words()
    if not words or kept.ended()[0]:
        return
    said = await ask(words)
    if said.code != 0 and _GONE not in said.complaint.lower():
        raise PortError(
            f"the container {words[-1]} of an agent cannot be ended: {said.first_line}; try `{shlex.join(words)}`",
            retryable=True,
            code="agent.stuck",
        )
    with suppress(OSError):
        kept.farewell.unlink()


def reap(keeper: Process) -> int | None:
    """Take leave of a keeper that this process has started; of others, their parents do."""
    if keeper.start:
        with suppress(ChildProcessError):
            found, status = os.waitpid(keeper.pid, os.WNOHANG)
            return status if found else None
    return None


async def _gone(processes: Sequence[Process], seconds: float) -> bool:
    """Wait until none of them lives."""
    until = asyncio.get_running_loop().time() + seconds
    while any(lives(process) for process in processes):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(_QUICK)
    return True
