"""The container or the box that the settings ask for, once everything that it needs is known to be there."""

import stat
from pathlib import Path

import msgspec

from treadle.config.model import Workspace
from treadle.config.project import Project
from treadle.enclosures.box import Box, find_box
from treadle.enclosures.container import Container
from treadle.enclosures.engine import OTHERWISE, find_engine, needed_image
from treadle.errors import PortError, TreadleError

CONTAINER = "container"
INSTALL_BOX = "`apt install bubblewrap`, or your system's package of that name"


async def open_container(
    settings: Workspace, project: Project, run: str = "run", labels: dict[str, str] | None = None
) -> Container | None:
    """None if the settings ask for none; a `TreadleError` says what is missing, and what to do about it."""
    if settings.driver != CONTAINER:
        return None
    if not settings.image:
        raise TreadleError(
            f"containers need an image: set `workspace.image` in treadle.toml, or {OTHERWISE}", code="container.image"
        )
    mounts = tuple(_seen("workspace.mounts", _mount(text, project), project) for text in settings.mounts)
    engine = await find_engine(settings.engine, settings.image)
    return Container(
        engine=engine,
        image=settings.image,
        id=await needed_image(engine, settings.image),
        mounts=mounts,
        memory=settings.memory or 0,
        cpus=settings.cpus or 0.0,
        network=settings.network,
        run=run,
        labels={"treadle.project": str(project.root), **(labels or {})},
    )


async def open_box(settings: Workspace, project: Project) -> Box | None:
    """None if there is none and the settings do not insist; a `TreadleError` says what is missing."""
    if settings.driver == CONTAINER:
        return None
    found = "the settings want none" if settings.box == "off" else await find_box()
    if isinstance(found, Box):
        writable = tuple(_seen("workspace.writable", Path(one).expanduser(), project) for one in settings.writable)
        network = settings.network != "none"
        return msgspec.structs.replace(found, hidden=(project.local,), writable=writable, network=network)
    if settings.box == "on":
        raise PortError(
            f"agents cannot be put in a box: {found}; {INSTALL_BOX}, or set `workspace.box` to `auto`",
            code="box.missing",
        )
    if settings.network == "none":
        raise PortError(
            f"agents cannot be kept from the network without a box: {found}; {INSTALL_BOX}, set `workspace.box` to"
            " `auto`, or set `workspace.network` to `default`",
            code="box.missing",
        )
    return None


def _mount(text: str, project: Project) -> Path:
    return Path(text.replace("{root}", str(project.root)))


def _seen(setting: str, path: Path, project: Project) -> Path:
    """A folder or file that may be reached from inside; what must not be is refused, also through a link."""
    said = f"{setting}: {path}"
    try:
        real, mode = path.resolve(strict=True), path.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise PortError(
            f"{said} cannot be mounted: {error}; make it, or take it out of treadle.toml", code="container.mount"
        ) from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise TreadleError(
            f"{said} is neither a folder nor a file: sockets and devices are not mounted; take it out",
            code="container.mount",
        )
    for secret in (project.local.resolve(), (project.root / ".git").resolve()):
        if real.is_relative_to(secret) or secret.is_relative_to(real):
            raise TreadleError(
                f"{said} would show {secret} to agents; name a folder that does not hold it", code="container.secret"
            )
    return path
