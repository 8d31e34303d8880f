"""Short questions to other programs, git among them: a timeout, a limit on output, an environment of our making."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.git.repository import is_refused_for_owner

PATIENCE: Final = 10.0
_KEPT: Final = 20_000
_HARMLESS: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "XDG_RUNTIME_DIR")


class ProgramAnswer(msgspec.Struct, frozen=True):
    """How a program answered; `code` is None if it did not in time, or could not be started."""

    code: int | None
    text: str
    is_late: bool = False
    """Whether the program hit the timeout, which leaves its answer unknown."""

    @property
    def is_well(self) -> bool:
        return self.code == 0

    @property
    def first_line(self) -> str:
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        return "".join(char for char in lines[0] if char.isprintable())[:120] if lines else ""


def find_program(name: str, root: Path | None = None) -> str | None:
    """Find a program: on the PATH, or below a folder if its name has a slash."""
    if "/" in name and root is not None:
        path = root / name
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name)


def plain_environment() -> dict[str, str]:
    """Return the variables that any program may see; no keys, no tokens."""
    return {name: os.environ[name] for name in _HARMLESS if name in os.environ} | {"TERM": "dumb", "NO_COLOR": "1"}


async def ask_program(
    command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> ProgramAnswer:
    """Run a program without input; kill it and its children at the end, or after the timeout."""
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
        return ProgramAnswer(None, error.strerror or str(error))
    try:
        output = await asyncio.wait_for(_output(process), patience)
        return ProgramAnswer(await process.wait(), output.decode(errors="replace"))
    except TimeoutError:
        return ProgramAnswer(None, f"no answer within {patience:g} s", is_late=True)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _output(process: asyncio.subprocess.Process) -> bytes:
    """Read all output and keep the first part; reading the rest keeps the program from blocking on a full pipe."""
    assert process.stdout is not None
    kept = b""
    while chunk := await process.stdout.read(65_536):
        kept = (kept + chunk)[:_KEPT]
    return kept


# The git questions of `treadle init` and `treadle doctor`.

_ELSEWHERE: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Set by git for hooks; they would point our questions at another repository."""


async def ask_git(root: Path, *arguments: str) -> ProgramAnswer:
    """Run a git command in a folder, as the user would."""
    env = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    env |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}  # its words are compared
    return await ask_program(["git", *arguments], cwd=root, env=env)


async def is_repository(root: Path) -> bool:
    return (await ask_git(root, "rev-parse", "--git-dir")).is_well


async def belongs_to_others(root: Path) -> bool:
    """Whether git refuses the repository because of its owner."""
    answer = await ask_git(root, "rev-parse", "--git-dir")
    return not answer.is_well and is_refused_for_owner(answer.text)


async def has_commits(root: Path) -> bool:
    return (await ask_git(root, "rev-parse", "--verify", "--quiet", "HEAD")).is_well
