"""What keeps a command of the project apart from the rest of the machine: found out once, by trying.

Without any of it commands still run, in a clean environment and with an end to everything they start; each result says
which isolation was in force.
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
from treadle.enclosures.enclosure import Job, Launch

_TRIAL_SECONDS: Final = 10.0
_CACHES: Final = (".cache", ".cargo", ".rustup", ".npm", ".m2", ".gradle", "go", ".local/share/uv")
"""What tools must be able to write to below the home folder."""
_SHARED: Final = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/proc"))
_MINDER: Final = (
    "import sys; sys.path.append(sys.argv[1]); import minder; minder.main(sys.argv[2:])",
    str(Path(__file__).parent),
)
"""Imported, for a script is compiled anew each time."""
_NAMESPACES: Final = ("--map-current-user", "--keep-caps", "--net", "--kill-child")


class Sandbox(msgspec.Struct, frozen=True):
    """A way to start commands."""

    name: str
    prefix: tuple[str, ...] = ()
    """What stands before the command."""
    loopback: bool = False
    """Whether the network has to be given a loopback by hand."""
    narrows: bool = False
    """Whether files have to be made read-only by hand."""
    keeps_files: bool = False
    """Whether it takes options that say which folders can be written to."""
    is_apart: bool = False

    def launch(self, job: Job) -> Launch:
        """How a command is started in here: it never has a network, and may read what it likes."""
        if not self.keeps_files:
            return Launch(argv=(*self.prefix, *job.argv), env=job.env)
        options = {"+": "--bind", "-": "--ro-bind"}
        binds = [word for one in places(job) for word in (options[one[0]], one[1:], one[1:])]
        return Launch(argv=(*self.prefix, *binds, "--chdir", str(job.cwd), "--", *job.argv), env=job.env)


def places(job: Job) -> tuple[str, ...]:
    """What a command may write to (`+`), and what inside of that it may not (`-`): the user's project around it."""
    home = Path(os.environ.get("HOME") or "/nonexistent")
    writable = [job.cwd, *job.writable, *_SHARED, *(home / name for name in _CACHES)]
    kept = [one.parent for one in job.cwd.parents if one.name == FOLDER]
    marks = {one.resolve(): "-" for one in kept} | {one.resolve(): "+" for one in writable if one.is_dir()}
    return tuple(f"{marks[one]}{one}" for one in sorted(marks, key=lambda one: len(one.parts)) if one != Path("/"))


def minding(status: int, *, loopback: bool, places: Sequence[str]) -> tuple[str, ...]:
    """The command of the minder, before the number of words of its farewell."""
    made = "1" if loopback else "0"
    return (sys.executable, "-I", "-S", "-c", *_MINDER, str(status), made, str(len(places)), *places)


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
        name = "namespaces: no network, own processes, writes only to the checkout, caches and /tmp"
        found.append(Sandbox(name, (unshare, *_NAMESPACES, "--pid", "--mount-proc"), loopback=True, narrows=True))
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
        if await works(sandbox):
            return sandbox
    return NONE


async def works(sandbox: Sandbox) -> bool:
    """Whether a command can be started in a sandbox here, with all that it promises."""
    job = Job(argv=(shutil.which("true") or "/bin/true",), cwd=Path("/"), env=dict(os.environ))
    if sandbox.narrows:  # a minder that cannot do it ends with an error
        minder = minding(1, loopback=False, places=places(job))
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
