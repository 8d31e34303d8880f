"""Run a project's commands to their end in a checkout, with a timeout and bounded output.

Nothing that a command started outlives it. Its environment starts empty, so that no variable of Treadle's own decides
how tests run. Treadle reads the files it wrote only if they are regular, of bounded size, and no links.
"""

import asyncio
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.container import NOT_STARTED, signal_in
from treadle.enclosures.port import EnclosedCommand, Enclosure, LaunchCommand
from treadle.errors import PortError
from treadle.git.files import temporary_folder
from treadle.toolchains.results import MAX_OUTPUT, CommandResult, Ended
from treadle.toolchains.sandbox import find_sandbox, minder_command, writable_places

# Reading files that the project's commands wrote: regular ones, of a bounded size, and never through a link.

MAX_FILE: Final = 64_000_000


def read_bytes(path: Path, limit: int = MAX_FILE) -> bytes | None:
    """Return a file's contents; None if it is missing, no regular file, or too large."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(file, "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return opened.read(limit)


def read_text(path: Path) -> str:
    """Return a small file's text; empty if it is missing."""
    return (read_bytes(path, 1_000_000) or b"").decode(errors="replace")


# The environment of the project's commands starts empty: no variable of Treadle's own decides how tests run.

_PASSED_ON: Final = (
    "HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ SSL_CERT_FILE SSL_CERT_DIR XDG_CACHE_HOME JAVA_HOME GOPATH GOROOT"
    " GOCACHE GOMODCACHE CARGO_HOME RUSTUP_HOME PYENV_ROOT NVM_DIR"
).split()
_FIXED: Final = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


def command_environment(scratch: Path, ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a project's command; temporary files go to `scratch`."""
    known = os.environ if ours is None else ours
    entries = [entry for entry in known.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117
    temporary = scratch / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "LANG": "C.UTF-8",
        **{name: known[name] for name in _PASSED_ON if name in known},
        **_FIXED,
        "PATH": os.pathsep.join(entries),
        "TMPDIR": str(temporary),
    }


_CHUNK: Final = 1 << 16
_END_TIMEOUT: Final = 15.0
"""The minder's timeout for ending everything, before Treadle kills the minder itself."""

Listen = Callable[[bytes], None]
COUNT: ContextVar[Callable[[int, int], None]] = ContextVar("count", default=lambda _done, _tests: None)
"""A callback that receives, while tests run, the number of finished tests and the total (0: not known).

A context variable, because the caller that wants to know is far above the tool that counts, and most callers do not.
"""


class BoundedOutput:
    """A buffer that keeps the beginning and the end of an output of any length."""

    def __init__(self, limit: int = MAX_OUTPUT) -> None:
        self._half = limit // 2
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Append a chunk."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self._lost += over

    def __str__(self) -> str:
        gap = f"\n… {self._lost} bytes are left out …\n".encode() if self._lost else b""
        return bytes(self._head + gap + self._tail).decode(errors="replace")


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
) -> CommandResult:
    """Run a command until it exits, times out, or `stop` is set; `listen` receives all its output."""
    began = time.monotonic()
    reading, writing = os.pipe()
    job = EnclosedCommand(
        argv=tuple(command), cwd=cwd, env=dict(env), writable=(scratch,), readable=readable, key=f"{cwd} {scratch}"
    )
    launch = _with_minder(job, sandbox, writing)
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
    kept = BoundedOutput()
    output = asyncio.create_task(_read(process, kept, listen))
    try:
        is_late = await _wait_for_end(process, timeout, stop)
    finally:
        await _end_process(process)
        with suppress(TimeoutError):
            await asyncio.wait_for(output, _END_TIMEOUT)
        status = _status(reading)
    exit_code, ended, detail = _how_it_ended(status, is_late=is_late, is_apart=sandbox.is_apart)
    return CommandResult(
        command=tuple(command),
        exit=exit_code,
        ended=ended,
        output=str(kept),
        duration=time.monotonic() - began,
        isolation=sandbox.name,
        detail=detail,
    )


def _with_minder(job: EnclosedCommand, sandbox: Enclosure, status: int) -> LaunchCommand:
    """Put a minder above the command: inside the sandbox, or in front of a container, which it then ends."""
    minder = minder_command(status, loopback=sandbox.loopback, places=writable_places(job) if sandbox.narrows else ())
    if not sandbox.is_apart:
        return sandbox.launch(msgspec.structs.replace(job, argv=(*minder, "0", *job.argv)))
    inner = sandbox.launch(job)
    argv = (*minder, str(len(inner.farewell)), *inner.farewell, *inner.argv)
    return msgspec.structs.replace(inner, argv=argv)


async def _read(process: asyncio.subprocess.Process, kept: BoundedOutput, listen: Listen | None) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(_CHUNK):
        kept.add(chunk)
        if listen is not None:
            listen(chunk)


async def _wait_for_end(process: asyncio.subprocess.Process, timeout: float, stop: asyncio.Event | None) -> bool:
    """Wait for the process; return whether it has to be stopped."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(process.wait())]
    if stop is not None:
        waits.append(asyncio.create_task(stop.wait()))
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return waits[0] not in done
    finally:
        for wait in waits:
            wait.cancel()


async def _end_process(process: asyncio.subprocess.Process) -> None:
    """Close the minder's input, which makes it end everything; kill a minder that does not."""
    assert process.stdin is not None
    process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _END_TIMEOUT)
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


def _how_it_ended(status: str, *, is_late: bool, is_apart: bool) -> tuple[int | None, Ended, str]:
    word, _, rest = status.partition(" ")
    if word == "missing":
        return None, "missing", rest
    if word == "exit" and not is_late:
        code = signal_in(int(rest)) if is_apart else int(rest)
        if is_apart and code in NOT_STARTED:
            return None, "missing", NOT_STARTED[code]
        return (code, "done", "") if code >= 0 else (None, "killed", f"ended by signal {-code}")
    return (None, "timeout", "") if is_late else (None, "killed", "it vanished")


# Commands in a checkout that yield only output and an exit code.


async def run_in_checkout(
    path: Path,
    command: tuple[str, ...],
    *,
    timeout: float,
    sandbox: Enclosure | None = None,
    scratch: Path | None = None,
    readable: tuple[Path, ...] = (),
    listen: Listen | None = None,
    more: Mapping[str, str] | None = None,
) -> CommandResult:
    """Run one of the project's commands in a checkout, in the best sandbox that works here; `more`: its environment.

    `scratch` is a folder that it may write to, where the caller wants to read from it.
    """
    path = path.resolve()
    with nullcontext(scratch) if scratch else temporary_folder("scratch") as folder:
        return await run(
            command,
            cwd=path,
            env=command_environment(folder) | _own_sources(path, command) | dict(more or {}),
            timeout=timeout,
            sandbox=sandbox or await find_sandbox(),
            scratch=folder,
            readable=readable,
            listen=listen,
        )


def _own_sources(path: Path, command: tuple[str, ...]) -> dict[str, str]:
    """Put this checkout's sources first on PYTHONPATH: a virtualenv may link the project to the user's own checkout."""
    is_python = Path(command[0]).name.startswith("python") or (path / "pyproject.toml").is_file()
    usual = [path / "src"] if is_python else []
    folders = [folder for folder in dict.fromkeys([*_linked_folders(path, command), *usual]) if folder.is_dir()]
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))} if folders else {}


def _linked_folders(path: Path, command: tuple[str, ...]) -> Iterator[Path]:
    """Yield the folders of this checkout that match the virtualenv's links into the user's checkout.

    A link counts only if this checkout lies below the user's; other links belong to other projects.
    """
    environment_folder = Path(command[0]).parent.parent
    if not (environment_folder / "pyvenv.cfg").is_file():
        return
    for file in sorted(environment_folder.glob("lib/python*/site-packages/*.pth")):
        for line in read_text(file).splitlines():
            linked = Path(line.strip()) if line.startswith("/") else None
            for root in path.parents:
                if linked and (root / ".treadle").is_dir() and linked.resolve().is_relative_to(root):
                    yield path / linked.resolve().relative_to(root)
