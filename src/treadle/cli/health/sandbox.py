"""What can hold checks and agents in: bubblewrap, user namespaces, containers. Required only if the settings say so."""

from typing import Final

from treadle.cli.health.line import Line, missing, ok, warn
from treadle.config.model import Workspace
from treadle.config.project import Project
from treadle.enclosures.box import find_box
from treadle.enclosures.engine import find_engine
from treadle.enclosures.opening import CONTAINER, INSTALL_BOX, open_box, open_container
from treadle.errors import PortError, TreadleError
from treadle.toolchains.sandbox import find_sandbox

_AUTO: Final = "set `workspace.box` to `auto`"
_FIX: Final = "apt install bubblewrap, and `sysctl kernel.unprivileged_userns_clone=1` where that is 0"


async def checks_line() -> Line:
    """What keeps checks from the network and from files."""
    found = await find_sandbox()
    if found.keeps_files or found.narrows:
        return ok("sandbox of checks", found.name)
    return warn("sandbox of checks", found.name, _FIX, code="box.missing")


async def agents_line(settings: Workspace, project: Project | None, own: str = "") -> Line:
    """What keeps agents to their write scope, besides the check on what they have changed, which always does.

    `own` is what the agents' own programs do for that, where there is no box.
    """
    what = "sandbox of agents"
    if settings.driver == CONTAINER:
        return ok(what, "containers")
    if project is None:
        found = await find_box()
        return (
            warn(what, f"none: {found}", INSTALL_BOX, code="box.missing")
            if isinstance(found, str)
            else ok(what, found.name)
        )
    try:
        box = await open_box(settings, project)
    except TreadleError as error:
        said, _, fix = str(error).partition("; ")
        return missing(what, said, fix, required=True, code=error.code)
    if box is not None:
        return ok(what, box.name)
    if settings.box == "off":
        return warn(what, f"none: `workspace.box` is `off`; {_besides(own)}", _AUTO, code="box.off")
    return warn(what, f"none: {await find_box()}; {_besides(own)}", INSTALL_BOX, code="box.missing")


def _besides(own: str) -> str:
    return "; ".join(filter(None, (own, "changes outside of the scope are found afterwards")))


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
        return (
            warn("containers", what, fix, code=error.code)
            if is_there
            else missing("containers", what, fix, code=error.code)
        )
    return ok("containers", f"{engine.kind} {engine.version}; the settings do not ask for it")


async def _needed(settings: Workspace, project: Project) -> Line:
    try:
        found = await open_container(settings, project)
    except TreadleError as error:
        what, _, fix = str(error).partition("; ")
        return missing("containers", what, fix, required=True, code=error.code)
    assert found is not None
    engine = found.engine
    return ok("containers", f"{engine.kind} {engine.version} has the image {found.image} ({found.id[:19]})")
