"""What can hold an agent in: bubblewrap, user namespaces, containers. None of it is required."""

from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.cli.programs import ask, find_program
from treadle.config.model import Workspace
from treadle.config.project import Project
from treadle.enclosures.engine import find_engine
from treadle.enclosures.opening import CONTAINER, open_container
from treadle.errors import PortError, TreadleError

_TRIAL: Final = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--unshare-pid", "true")
_NAMESPACES: Final = "`sysctl kernel.unprivileged_userns_clone=1`, or ask whoever runs this machine"


async def bubblewrap_line() -> Line:
    """Whether bubblewrap is there and may do its work."""
    path = find_program("bwrap")
    if path is None:
        return missing("bubblewrap", "not found: agents run without a sandbox", "apt install bubblewrap")
    said = await ask([path, *_TRIAL])
    if not said.is_well:
        return warn("bubblewrap", f"{path} cannot make a sandbox: {said.first_line}", _NAMESPACES)
    return ok("bubblewrap", f"{path} makes a sandbox")


async def namespaces_line() -> Line:
    """Whether an ordinary user may have namespaces of their own."""
    path = find_program("unshare")
    if path is None:
        return warn("user namespaces", "cannot be tried: there is no `unshare`", "apt install util-linux")
    said = await ask([path, "--user", "--map-root-user", "true"])
    return ok("user namespaces", "usable") if said.is_well else warn("user namespaces", said.first_line, _NAMESPACES)


async def container_line(settings: Workspace, project: Project | None) -> Line:
    """Whether containers can be had; if the settings ask for them, whether everything that they need is there."""
    if settings.driver == CONTAINER and project is not None:
        return await _needed(settings, project)
    try:
        engine = await find_engine()
    except PortError as error:
        what, _, _ = str(error).removeprefix("no containers: ").partition("; ")
        is_there = "does not answer" in what
        fix = f"{'start it' if is_there else 'install one'}, if agents are to run in containers"
        return warn("containers", what, fix) if is_there else missing("containers", what, fix)
    return ok("containers", f"{engine.kind} {engine.version}; the settings do not ask for it")


async def _needed(settings: Workspace, project: Project) -> Line:
    try:
        found = await open_container(settings, project)
    except TreadleError as error:
        what, _, fix = str(error).partition("; ")
        return missing("containers", what, fix, required=True)
    assert found is not None
    engine = found.engine
    return ok("containers", f"{engine.kind} {engine.version} has the image {found.image} ({found.id[:19]})")
