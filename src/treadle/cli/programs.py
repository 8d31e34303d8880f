"""Other programs, asked a short question: what they print, within a time, in an environment of our making."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

PATIENCE: Final = 10.0
_KEPT: Final = 20_000
_HARMLESS: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "XDG_RUNTIME_DIR")


class Said(msgspec.Struct, frozen=True):
    """How a program answered; `code` is None if it did not in time, or could not be started."""

    code: int | None
    text: str
    is_late: bool = False
    """Nobody knows how it would have answered."""

    @property
    def is_well(self) -> bool:
        return self.code == 0

    @property
    def first_line(self) -> str:
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return "".join(char for char in lines[0] if char.isprintable())[:120] if lines else ""


def find_program(name: str, root: Path | None = None) -> str | None:
    """The path of a program: on the PATH, or below a folder if it is written with a slash."""
    if "/" in name and root is not None:
        path = root / name
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name)


def plain_environment() -> dict[str, str]:
    """The variables that any program may see; no keys, no tokens."""
    return {name: os.environ[name] for name in _HARMLESS if name in os.environ} | {"TERM": "dumb", "NO_COLOR": "1"}


async def ask(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> Said:
    """Runs a program without input; it and what it started are ended when its time is up."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=cwd,
            env=plain_environment() if env is None else env,
            start_new_session=True,
        )
    except OSError as error:
        return Said(None, error.strerror or str(error))
    try:
        output = await asyncio.wait_for(_output(process), patience)
        return Said(await process.wait(), output.decode(errors="replace"))
    except TimeoutError:
        return Said(None, f"no answer within {patience:g} s", is_late=True)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _output(process: asyncio.subprocess.Process) -> bytes:
    """Its output up to a length; the rest is read and forgotten, so that it does not wait for us."""
    assert process.stdout is not None
    kept = b""
    while chunk := await process.stdout.read(65_536):
        kept = (kept + chunk)[:_KEPT]
    return kept
