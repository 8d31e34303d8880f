"""Git as a process: argv, an environment of our making, bounded output, a time limit."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError

PATIENCE: Final = 120.0
OUTPUT: Final = 64 * 1024 * 1024
_GRACE: Final = 2.0
_WORDS: Final = 16_000
_KEPT: Final = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.pager=cat",
    "core.askPass=true",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "core.fsync=committed",
    "core.fsyncMethod=batch",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "diff.external=",
    "diff.submodule=short",
    "advice.detachedHead=false",
    "credential.helper=",
)


class Said(msgspec.Struct, frozen=True):
    """How git answered."""

    code: int
    out: bytes
    words: str
    """What it said about it."""

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip()


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the caller's that could point git elsewhere, no questions, one language; an empty value removes."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    fixed = {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
    }
    return {name: value for name, value in (kept | fixed | dict(extra)).items() if value}


def hardened(arguments: Sequence[str]) -> list[str]:
    """A command line on which no setting of a repository makes git run anything."""
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments]


async def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    patience: float = PATIENCE,
    most: int = OUTPUT,
) -> Said:
    """Run git to its end; a `PortError` if it cannot be started, takes too long, or says too much."""
    shown = shorten(f"git {' '.join(arguments)}")
    try:
        process = await asyncio.create_subprocess_exec(
            *hardened(arguments),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=environment(env),
            start_new_session=True,
        )
    except FileNotFoundError:
        if cwd.is_dir():
            what, code = "git is not installed; install git 2.38 or newer", "git.missing"
        else:
            what, code = f"{cwd} is gone", "file.missing"
        raise PortError(f"`{shown}` cannot be run: {what}", code=code) from None
    except OSError as error:
        raise PortError(f"`{shown}` cannot be run: {error.strerror}", retryable=True, code="git.failed") from None
    try:
        async with asyncio.timeout(patience):
            out, words = await _talk(process, stdin, most)
            return Said(await process.wait(), out, words.decode(errors="replace").strip())
    except TimeoutError:
        raise PortError(
            f"`{shown}` took longer than {patience:g} s and was ended", retryable=True, code="git.timeout"
        ) from None
    except _TooMuch:
        raise PortError(f"`{shown}` printed more than {most} bytes and was ended", code="git.too_large") from None
    finally:
        await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """End it with all it started; asked politely first, git takes its lock files with it."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def shorten(text: str, length: int = 300) -> str:
    """A text for a message: one line, not too long."""
    line = "".join(char if char.isprintable() else "?" for char in text)
    return line if len(line) <= length else f"{line[:length]}…"


class _TooMuch(Exception):
    """More output than anybody wants."""


async def _talk(process: asyncio.subprocess.Process, stdin: bytes, most: int) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_feed(process, stdin))
            out = group.create_task(_read(process.stdout, most, strict=True))
            words = group.create_task(_read(process.stderr, _WORDS, strict=False))
    except* _TooMuch:
        raise _TooMuch from None
    return out.result(), words.result()


async def _feed(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader, most: int, *, strict: bool) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := await stream.read(65_536):
        if size + len(chunk) > most and strict:
            raise _TooMuch
        parts.append(chunk[: max(0, most - size)])
        size += len(chunk)
    return b"".join(parts)
