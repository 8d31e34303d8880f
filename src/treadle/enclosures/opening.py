"""The container that the settings ask for, once everything that it needs is known to be there."""

import stat
from pathlib import Path

from treadle.config.model import Workspace
from treadle.config.project import Project
from treadle.enclosures.container import Container
from treadle.enclosures.engine import OTHERWISE, find_engine, needed_image
from treadle.errors import PortError, TreadleError

CONTAINER = "container"


async def open_container(
    settings: Workspace, project: Project, run: str = "run", labels: dict[str, str] | None = None
) -> Container | None:
    """None if the settings ask for none; a `TreadleError` says what is missing, and what to do about it."""
    if settings.driver != CONTAINER:
        return None
    if not settings.image:
        raise TreadleError(f"containers need an image: set `workspace.image` in treadle.toml, or {OTHERWISE}")
    mounts = tuple(_mount(text, project) for text in settings.mounts)
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


def _mount(text: str, project: Project) -> Path:
    """A folder or file that may be seen from inside; what must not be seen is refused, also through a link."""
    path = Path(text.replace("{root}", str(project.root)))
    said = f"workspace.mounts: {path}"
    try:
        real, mode = path.resolve(strict=True), path.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise PortError(f"{said} cannot be mounted: {error}; make it, or take it out of treadle.toml") from None
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise TreadleError(f"{said} is neither a folder nor a file: sockets and devices are not mounted; take it out")
    for secret in (project.local.resolve(), (project.root / ".git").resolve()):
        if real.is_relative_to(secret) or secret.is_relative_to(real):
            raise TreadleError(f"{said} would show {secret} to agents; name a folder that does not hold it")
    return path
