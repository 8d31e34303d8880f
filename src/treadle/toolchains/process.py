"""One command of the project, run to its end: bounded in time and output, and with an end to all it started."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.container import NOT_STARTED, signal_in
from treadle.enclosures.enclosure import Enclosure, Job, Launch
from treadle.errors import PortError
from treadle.toolchains.results import MAX_OUTPUT, Ended
from treadle.toolchains.sandbox import minding, places

_CHUNK: Final = 1 << 16
_LAST_WORDS: Final = 15.0
"""How long the minder may take to end everything before it is ended itself."""

Listen = Callable[[bytes], None]
COUNT: ContextVar[Callable[[int, int], None]] = ContextVar("count", default=lambda _done, _tests: None)
"""Hears, while tests run, how many have ended and how many there are (0: not known).

A context variable, because the caller that wants to know is far above the tool that counts, and most callers do not.
"""


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended."""

    exit: int | None
    ended: Ended
    output: str
    duration: float
    isolation: str
    detail: str = ""


class Kept:
    """Of an output that may be endless, the beginning and the end."""

    def __init__(self, limit: int = MAX_OUTPUT) -> None:
        self._half = limit // 2
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Take a piece."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self._lost += over

    def __str__(self) -> str:
        gap = f"\n… {self._lost} bytes are left out …\n".encode() if self._lost else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of our own outside of every checkout, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="treadle-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    sandbox: Enclosure,
    scratch: Path,
    readable: tuple[Path, ...] = (),
    fds: tuple[int, ...] = (),
    stop: asyncio.Event | None = None,
    listen: Listen | None = None,
) -> Finished:
    """Run a command until it ends, its time is up, or `stop` is set; `listen` hears all that it prints."""
    began = time.monotonic()
    reading, writing = os.pipe()
    job = Job(
        argv=tuple(command), cwd=cwd, env=dict(env), writable=(scratch,), readable=readable, key=f"{cwd} {scratch}"
    )
    launch = _minded(job, sandbox, writing)
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            cwd=cwd,
            env=launch.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=(writing, *fds),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(reading)
        raise PortError(
            f"{command[0]} could not be started in {cwd}: {error}; is the folder there?", code="toolchain.broken"
        ) from None
    finally:
        os.close(writing)
    kept = Kept()
    output = asyncio.create_task(_read(process, kept, listen))
    try:
        is_late = await _until_over(process, timeout, stop)
    finally:
        await _let_go(process)
        with suppress(TimeoutError):
            await asyncio.wait_for(output, _LAST_WORDS)
        status = _status(reading)
    exit_code, ended, detail = _how(status, is_late=is_late, is_apart=sandbox.is_apart)
    return Finished(
        exit=exit_code,
        ended=ended,
        output=str(kept),
        duration=time.monotonic() - began,
        isolation=sandbox.name,
        detail=detail,
    )


def _minded(job: Job, sandbox: Enclosure, status: int) -> Launch:
    """The command with a minder above it: inside of the sandbox, or before the container, which it then ends."""
    minder = minding(status, loopback=sandbox.loopback, places=places(job) if sandbox.narrows else ())
    if not sandbox.is_apart:
        return sandbox.launch(msgspec.structs.replace(job, argv=(*minder, "0", *job.argv)))
    inner = sandbox.launch(job)
    argv = (*minder, str(len(inner.farewell)), *inner.farewell, *inner.argv)
    return msgspec.structs.replace(inner, argv=argv)


async def _read(process: asyncio.subprocess.Process, kept: Kept, listen: Listen | None) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(_CHUNK):
        kept.add(chunk)
        if listen is not None:
            listen(chunk)


async def _until_over(process: asyncio.subprocess.Process, timeout: float, stop: asyncio.Event | None) -> bool:
    """Whether it had to be stopped."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(process.wait())]
    if stop is not None:
        waits.append(asyncio.create_task(stop.wait()))
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return waits[0] not in done
    finally:
        for wait in waits:
            wait.cancel()


async def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close the minder's input, upon which it ends everything; a minder that does not is ended itself."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _LAST_WORDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _status(reading: int) -> str:
    try:
        os.set_blocking(reading, False)
        return os.read(reading, 4096).decode(errors="replace")
    except BlockingIOError:
        return ""
    finally:
        os.close(reading)


def _how(status: str, *, is_late: bool, is_apart: bool) -> tuple[int | None, Ended, str]:
    word, _, rest = status.partition(" ")
    if word == "missing":
        return None, "missing", rest
    if word == "exit" and not is_late:
        code = signal_in(int(rest)) if is_apart else int(rest)
        if is_apart and code in NOT_STARTED:
            return None, "missing", NOT_STARTED[code]
        return (code, "done", "") if code >= 0 else (None, "killed", f"ended by signal {-code}")
    return (None, "timeout", "") if is_late else (None, "killed", "it vanished")
