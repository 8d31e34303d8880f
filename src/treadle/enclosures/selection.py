"""Selects the container or the sandbox of the settings, and checks its requirements."""

import stat
from pathlib import Path

import msgspec

from treadle.config.model import WorkspaceSettings
from treadle.config.project import Project
from treadle.enclosures.box import BubblewrapBox, find_box
from treadle.enclosures.container import OTHERWISE, Container, find_engine, needed_image
from treadle.errors import PortError, TreadleError

CONTAINER = "container"
INSTALL_BOX = "`apt install bubblewrap`, or your system's package of that name"


async def open_container(
    settings: WorkspaceSettings, project: Project, run: str = "run", labels: dict[str, str] | None = None
) -> Container | None:
    """Return the container, or None if the settings ask for none; a `TreadleError` names a missing part and a fix."""
    if settings.driver != CONTAINER:
        return None
    if not settings.image:
        raise TreadleError(
            f"containers need an image: set `workspace.image` in treadle.toml, or {OTHERWISE}", code="container.image"
        )
    places = [Path(text.replace("{root}", str(project.root))) for text in settings.mounts]
    mounts = tuple(_check_mount("workspace.mounts", place, project) for place in places)
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


async def open_box(settings: WorkspaceSettings, project: Project) -> BubblewrapBox | None:
    """Return the sandbox, or None if there is none; raise a `PortError` if the settings require one."""
    if settings.driver == CONTAINER:
        return None
    found = "the settings want none" if settings.box == "off" else await find_box()
    if isinstance(found, BubblewrapBox):
        places = [Path(text).expanduser() for text in settings.writable]
        writable = tuple(_check_mount("workspace.writable", place, project) for place in places)
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
            code="box.off" if settings.box == "off" else "box.missing",
        )
    return None


def _check_mount(setting: str, path: Path, project: Project) -> Path:
    """Return a folder or file to mount; refuse paths that would show secrets, also through a link."""
    place = f"{setting}: {path}"
    try:
        real, mode = path.resolve(strict=True), path.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise PortError(
            f"{place} cannot be mounted: {error}; make it, or take it out of treadle.toml", code="container.mount"
        ) from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise TreadleError(
            f"{place} is neither a folder nor a file: sockets and devices are not mounted; take it out",
            code="container.mount",
        )
    for secret in (project.local.resolve(), (project.root / ".git").resolve()):
        if real.is_relative_to(secret) or secret.is_relative_to(real):
            raise TreadleError(
                f"{place} would show {secret} to agents; name a folder that does not hold it", code="container.secret"
            )
    return path
