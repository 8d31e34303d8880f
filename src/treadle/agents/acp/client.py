"""The client of an ACP agent: a program of its own, so that the agent outlives whoever drives the run.

`python -P -m treadle.agents.acp.client JOB PROGRAM ARGS…` reads the prompt from its standard input, starts the agent,
leads one turn of a conversation with it, and prints what happens as JSON, an object on each line (`stream`).
"""

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final

import msgspec

from treadle.agents.acp.complaints import Complaints
from treadle.agents.acp.job import Job
from treadle.agents.acp.telling import tell

_LONGEST_LINE: Final = 64 << 20
_GRACE: Final = 2.0
_LAST_WORDS: Final = 3.0
"""Seconds for what it still says when it has ended, or is cancelled."""


async def main(job: Job, command: list[str], prompt: str) -> int:
    """Lead one turn; the exit code."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=job.lane, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LONGEST_LINE
        )
    except OSError as error:
        tell("error", during="start", message=f"{command[0]} cannot be started: {error.strerror}")
        return 1
    complaints = Complaints(job.silence)
    hearing = asyncio.ensure_future(_hear(process, complaints))
    # Its import takes a second; in that time, the agent starts.
    from treadle.agents.acp.talk import talk  # noqa: PLC0415

    talking = asyncio.ensure_future(talk(job, process, prompt, complaints, stopping))
    others = [asyncio.ensure_future(each) for each in (process.wait(), stopping.wait())]
    try:
        await asyncio.wait((talking, *others), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((talking,), timeout=_LAST_WORDS)
        if talking.done():
            return talking.result()
        talking.cancel()
        why = "its turn was cancelled" if stopping.is_set() else f"the agent ended with exit code {process.returncode}"
        tell("error", during="start", message=why)
        return 1
    finally:
        for each in others:
            each.cancel()
        await _end(process)
        await _in_time(hearing)


async def _hear(process: Process, complaints: Complaints) -> None:
    """Pass on what it logs."""
    assert process.stderr
    while line := await process.stderr.readline():
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
        complaints.hear(line.decode(errors="replace"))


async def _end(process: Process) -> None:
    """An agent ends when nobody speaks to it any more; if not, it is asked to. The keeper sees to the rest."""
    if process.stdin:
        process.stdin.close()
    for ask in (process.terminate, process.kill):
        with suppress(ProcessLookupError):
            ask()
        if await _in_time(process.wait()):
            return


async def _in_time(awaited: Awaitable[Any]) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(awaited, _GRACE)
        return True
    return False


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # what the agent sends is the agent's business
    told = msgspec.json.decode(sys.argv[1], type=Job)
    code = asyncio.run(main(told, sys.argv[2:], sys.stdin.buffer.read().decode(errors="replace")))
    sys.stdout.flush()
    os._exit(code)  # nothing is left to be done, and threads of the library are not waited for
