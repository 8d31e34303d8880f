"""The client program of an ACP agent. It runs as its own process, so the agent outlives the driver of the run.

`python -P -m treadle.agents.acp_client JOB PROGRAM ARGS…` reads the prompt from its standard input, starts the agent,
leads one turn of a conversation and prints each event as one line of JSON. It decides what the agent may do, and counts
the complaints about the service in the agent's log. The agent waits for this module, so it must load fast.
"""

import asyncio
import importlib
import logging
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from treadle.agents.event_stream import each, outage_of, part
from treadle.git.globs import matches

_WRITING: Final = ("edit", "delete", "move")
_NEEDS: Final = {"execute": ("run_commands", "run commands"), "fetch": ("web", "use the web")}
"""Kinds of tool calls that need a permission: its name, and the words for it in a refusal."""
_PATHS: Final = ("path", "file_path", "filePath", "filepath", "abs_path")


class AcpJob(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of an agent, passed on a command line: it contains no prompt and no secrets."""

    lane: str
    bundle: str
    out: str
    session: str = ""
    """The agent's name of the conversation to continue, or to branch off from (`fork`)."""
    fork: bool = False
    model: str = ""
    writes: tuple[str, ...] | None = None
    """Globs of the files in the lane that the agent may write; None: all of them."""
    perms: tuple[str, ...] | None = None
    """The permissions of its role; None: all of them."""
    is_enclosed: bool = False
    """Whether a sandbox already limits the agent's writes."""
    ledger: str = ""
    """A glob below its HOME for the files in which it records its tokens."""
    silence: float = 20.0
    """Seconds without a sign of life after which the client ends an agent that complains about its service."""


def write_refusal(job: AcpJob, path: str) -> str:
    """Return why the agent may not write a file, or an empty text; the target of a link decides."""
    try:
        place = (Path(job.lane) / path).resolve()
        lane, out = Path(job.lane).resolve(), Path(job.out).resolve()
    except (OSError, ValueError, RuntimeError):
        return "its path is invalid"
    if place.is_relative_to(out):
        return ""
    if not place.is_relative_to(lane):
        return "it is outside of the lane"
    inside = place.relative_to(lane)
    if ".git" in inside.parts:
        return "git's own files are not for agents"
    if job.writes is not None and not matches(inside.as_posix(), job.writes):
        return "it is not among the files of this step"
    return ""


def call_refusal(job: AcpJob, call: dict[str, Any]) -> str:
    """Return why a tool call is refused, or an empty text if it is allowed.

    A role that may run commands may run any command: this function does not read them, so the sandbox and the checks
    have to contain them.
    """
    kind = call.get("kind")
    if kind == "switch_mode":
        return "it keeps the mode that it was started in"
    perm, what = _NEEDS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    if perm and not _may(job, perm):
        return f"this role may not {what}"
    is_writing = kind in _WRITING or any(one.get("type") == "diff" for one in each(call, "content"))
    if not is_writing or (job.is_enclosed and _may(job, "modify")):
        return ""
    # All files that the call names: in its locations, its diffs and the input of the tool.
    named = [one.get("path") for name in ("locations", "content") for one in each(call, name)]
    named += [part(call, "rawInput").get(name) for name in _PATHS]
    paths = dict.fromkeys(path for path in named if isinstance(path, str) and path)
    if not paths:
        return "it does not name the file to write"
    return next((f"{path}: {why}" for path in paths if (why := write_refusal(job, path))), "")


def _may(job: AcpJob, perm: str) -> bool:
    return job.perms is None or perm in job.perms


def print_event(kind: str, **event: object) -> None:
    """Print an event of the client: a JSON object on a line of its standard output."""
    sys.stdout.buffer.write(msgspec.json.encode({"type": kind, **event}) + b"\n")
    sys.stdout.buffer.flush()


# Complaints about the service in an agent's log, while the agent itself is silent.

_QUOTED: Final = re.compile(r'error="([^"]{5,})"')
"""The error text inside a line of a log."""


class Complaints:
    """Complaints about the service in an agent's log since its last sign of life.

    Some agents retry a busy service forever and report that only to their log. The run is better at waiting than they
    are.
    """

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._last, self._count, self._since = "", 0, 0.0
        self._busy: set[str] = set()

    def sign_of_life(self) -> None:
        self._last, self._count, self._since = "", 0, asyncio.get_running_loop().time()

    def tool(self, name: str, *, is_at_work: bool) -> None:
        """Note that a tool started or ended; while a tool works, the agent does not ask its service."""
        (self._busy.add if is_at_work else self._busy.discard)(name)

    def hear(self, line: str) -> None:
        if any(word in line.lower() for word in ("error", "fail", "retry")) and outage_of(line):
            quoted = _QUOTED.search(line)
            self._last, self._count = quoted[1] if quoted else line, self._count + 1

    async def lasting(self) -> str:
        """Wait for several complaints and no other sign of life for too long; return the last complaint."""
        while not (complaint := self.verdict()):
            await asyncio.sleep(0.25)
        return complaint

    def verdict(self) -> str:
        """Return the last complaint if it is time to end the agent; else an empty text."""
        is_long = asyncio.get_running_loop().time() - self._since >= self._silence
        return self._last if is_long and self._count > 1 and not self._busy else ""


# The program.

_GRACE: Final = 2.0


async def main(job: AcpJob, command: list[str], prompt: str) -> int:
    """Lead one turn and return the exit code."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=job.lane, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=64 << 20
        )
    except OSError as error:
        print_event("error", during="start", message=f"{command[0]} cannot be started: {error.strerror}")
        return 1
    complaints = Complaints(job.silence)
    hearing = asyncio.ensure_future(_hear(process, complaints))
    # Its import takes a second; in that time, the agent starts.
    from treadle.agents.acp_turn import lead_turn  # noqa: PLC0415

    talking = asyncio.ensure_future(lead_turn(job, process, prompt, complaints, stopping))
    others = [asyncio.ensure_future(each) for each in (process.wait(), stopping.wait())]
    try:
        await asyncio.wait((talking, *others), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((talking,), timeout=3.0)  # for what the agent said before it ended or was cancelled
        if talking.done():
            return talking.result()
        talking.cancel()
        why = "its turn was cancelled" if stopping.is_set() else f"the agent ended with exit code {process.returncode}"
        print_event("error", during="start", message=why)
        return 1
    finally:
        for each in others:
            each.cancel()
        await _end(process)
        await _in_time(hearing)


async def _hear(process: Process, complaints: Complaints) -> None:
    """Copy the agent's log to our standard error and count its complaints."""
    assert process.stderr
    while line := await process.stderr.readline():
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
        complaints.hear(line.decode(errors="replace"))


async def _end(process: Process) -> None:
    """Close the agent's standard input, then terminate it, then kill it. The keeper ends anything left after that."""
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


def run() -> None:
    """Run the program with the arguments of this process."""
    logging.disable(logging.CRITICAL)  # the agent's messages are not ours to log
    job = msgspec.json.decode(sys.argv[1], type=AcpJob)
    code = asyncio.run(main(job, sys.argv[2:], sys.stdin.buffer.read().decode(errors="replace")))
    sys.stdout.flush()
    os._exit(code)  # nothing is left to be done, and threads of the library are not waited for


if __name__ == "__main__":
    # The turn imports this module by its name: `run` must come from there, or every class would exist twice.
    importlib.import_module("treadle.agents.acp_client").run()
