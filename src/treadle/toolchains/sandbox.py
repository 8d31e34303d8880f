"""What keeps a command of the project apart from the rest of the machine: found out once, by trying.

Without any of it commands still run, in a clean environment and with an end to everything they start; each result says
which isolation was in force.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Job, Launch

_TRIAL_SECONDS: Final = 10.0
_CACHES: Final = (".cache", ".cargo", ".rustup", ".npm", ".m2", ".gradle", "go", ".local/share/uv")
"""What tools must be able to write to below the home folder."""
_NAMESPACES: Final = ("--map-current-user", "--keep-caps", "--net", "--kill-child")


class Sandbox(msgspec.Struct, frozen=True):
    """A way to start commands."""

    name: str
    prefix: tuple[str, ...] = ()
    """What stands before the command."""
    loopback: bool = False
    """Whether the network has to be given a loopback by hand."""
    keeps_files: bool = False
    """Whether only named folders can be written to."""
    is_apart: bool = False

    def launch(self, job: Job) -> Launch:
        """How a command is started in here: it never has a network, and may read what it likes."""
        return Launch(argv=tuple(self.around(job.argv, cwd=job.cwd, writable=job.writable)), env=job.env)

    def around(self, command: Sequence[str], *, cwd: Path, writable: Sequence[Path] = ()) -> list[str]:
        """The command inside of the sandbox."""
        if not self.keeps_files:
            return [*self.prefix, *command]
        home = Path(os.environ.get("HOME") or "/nonexistent")
        folders = [cwd, *writable, Path("/tmp"), *(home / name for name in _CACHES)]
        binds = [word for folder in folders for word in ("--bind-try", str(folder), str(folder))]
        return [*self.prefix, *binds, "--chdir", str(cwd), "--", *command]


NONE: Final = Sandbox("no sandbox: network and files are within reach")
_found: dict[str, Sandbox] = {}


def candidates() -> list[Sandbox]:
    """What could work on this machine, the best first."""
    found = []
    if bwrap := shutil.which("bwrap"):
        options = "--ro-bind / / --dev /dev --proc /proc --unshare-net --unshare-pid --die-with-parent".split()
        name = "bubblewrap: no network, own processes, writes only to the checkout, caches and /tmp"
        found.append(Sandbox(name, (bwrap, *options), keeps_files=True))
    if unshare := shutil.which("unshare"):
        name = "namespaces: no network, own processes; files are within reach"
        found.append(Sandbox(name, (unshare, *_NAMESPACES, "--pid", "--mount-proc"), loopback=True))
        name = "namespaces: no network; processes and files are within reach"
        found.append(Sandbox(name, (unshare, *_NAMESPACES), loopback=True))
    return found


async def find_sandbox() -> Sandbox:
    """The best sandbox that works here; tried once for each set of programs."""
    options = candidates()
    key = "\n".join(" ".join(option.prefix) for option in options)
    if key not in _found:
        _found[key] = await _first_working(options)
    return _found[key]


async def _first_working(options: list[Sandbox]) -> Sandbox:
    for sandbox in options:
        if await _works(sandbox):
            return sandbox
    return NONE


async def _works(sandbox: Sandbox) -> bool:
    command = sandbox.around([shutil.which("true") or "/bin/true"], cwd=Path("/"))
    nowhere = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    except OSError:
        return False
    try:
        return await asyncio.wait_for(process.wait(), _TRIAL_SECONDS) == 0
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
