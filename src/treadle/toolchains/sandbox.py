"""Sandboxes that isolate a project's commands from the machine; Treadle tries once which of them work.

Without a sandbox, commands still run in a clean environment, and everything they start is ended; each result names the
isolation in force.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.project import FOLDER
from treadle.enclosures.port import EnclosedCommand, LaunchCommand

_TRIAL_SECONDS: Final = 10.0
_CACHES: Final = (".cache", ".cargo", ".rustup", ".npm", ".m2", ".gradle", "go", ".local/share/uv")
"""Folders below the home folder that tools must be able to write to."""
_SHARED: Final = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/proc"))
_MINDER: Final = (
    "import sys; sys.path.append(sys.argv[1]); import minder; minder.main(sys.argv[2:])",
    str(Path(__file__).parent),
)
"""The minder is imported, because Python compiles a script anew at each start."""
_NAMESPACES: Final = ("--map-current-user", "--keep-caps", "--net", "--kill-child")


class Sandbox(msgspec.Struct, frozen=True):
    """A way to start commands in isolation."""

    name: str
    prefix: tuple[str, ...] = ()
    """The words before the command."""
    loopback: bool = False
    """Whether the minder has to bring up the loopback device."""
    narrows: bool = False
    """Whether the minder has to make files read-only."""
    keeps_files: bool = False
    """Whether its own options select the writable folders."""
    is_apart: bool = False

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        """Return the command line that starts a command in this sandbox, without a network; it may read every file."""
        if not self.keeps_files:
            return LaunchCommand(argv=(*self.prefix, *job.argv), env=job.env)
        options = {"+": "--bind", "-": "--ro-bind"}
        binds = [word for one in writable_places(job) for word in (options[one[0]], one[1:], one[1:])]
        return LaunchCommand(argv=(*self.prefix, *binds, "--chdir", str(job.cwd), "--", *job.argv), env=job.env)


def writable_places(job: EnclosedCommand) -> tuple[str, ...]:
    """Return the folders that a command may write to (`+`), and those inside them that it may not (`-`).

    The latter are the user's project around the checkout.
    """
    home = Path(os.environ.get("HOME") or "/nonexistent")
    writable = [job.cwd, *job.writable, *_SHARED, *(home / name for name in _CACHES)]
    kept = [one.parent for one in job.cwd.parents if one.name == FOLDER]
    marks = {one.resolve(): "-" for one in kept} | {one.resolve(): "+" for one in writable if one.is_dir()}
    return tuple(f"{marks[one]}{one}" for one in sorted(marks, key=lambda one: len(one.parts)) if one != Path("/"))


def minder_command(status: int, *, loopback: bool, places: Sequence[str]) -> tuple[str, ...]:
    """Return the minder's command line, up to the word count of its farewell."""
    made = "1" if loopback else "0"
    return (sys.executable, "-I", "-S", "-c", *_MINDER, str(status), made, str(len(places)), *places)


NONE: Final = Sandbox("no sandbox: network and files are within reach")
_found: dict[str, Sandbox] = {}


def candidates() -> list[Sandbox]:
    """Return the sandboxes that may work on this machine, the best first."""
    found = []
    if bwrap := shutil.which("bwrap"):
        options = "--ro-bind / / --dev /dev --proc /proc --unshare-net --unshare-pid --die-with-parent".split()
        name = "bubblewrap: no network, own processes, writes only to the checkout, caches and /tmp"
        found.append(Sandbox(name, (bwrap, *options), keeps_files=True))
    if unshare := shutil.which("unshare"):
        name = "namespaces: no network, own processes, writes only to the checkout, caches and /tmp"
        found.append(Sandbox(name, (unshare, *_NAMESPACES, "--pid", "--mount-proc"), loopback=True, narrows=True))
        name = "namespaces: no network, own processes; files are within reach"
        found.append(Sandbox(name, (unshare, *_NAMESPACES, "--pid", "--mount-proc"), loopback=True))
        name = "namespaces: no network; processes and files are within reach"
        found.append(Sandbox(name, (unshare, *_NAMESPACES), loopback=True))
    return found


async def find_sandbox() -> Sandbox:
    """Return the best sandbox that works here; try once for each set of installed programs."""
    options = candidates()
    key = "\n".join(" ".join(option.prefix) for option in options)
    if key not in _found:
        best = NONE
        for sandbox in options:
            if await works(sandbox):
                best = sandbox
                break
        # Stored only now: another caller that comes while this one tries must not run without a sandbox.
        _found[key] = best
    return _found[key]


async def works(sandbox: Sandbox) -> bool:
    """Whether a sandbox can start a command here, with all that it promises."""
    job = EnclosedCommand(argv=(shutil.which("true") or "/bin/true",), cwd=Path("/"), env=dict(os.environ))
    if sandbox.narrows:  # a minder that cannot do it ends with an error
        minder = minder_command(1, loopback=False, places=writable_places(job))
        job = msgspec.structs.replace(job, argv=(*minder, "0", *job.argv))
    command = sandbox.launch(job).argv
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
