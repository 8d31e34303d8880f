"""The engines that run containers: which is there, whether it answers, and which images it has."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

from treadle.errors import PortError

Kind = Literal["docker", "podman"]
KINDS: Final[tuple[Kind, ...]] = ("podman", "docker")
AUTO: Final = "auto"
_PATIENCE: Final = 20.0
_QUESTIONS: Final[dict[Kind, str]] = {
    "docker": "{{.ServerVersion}} {{json .SecurityOptions}}",
    "podman": "{{.Version.Version}} rootless={{.Host.Security.Rootless}}",
}
_STARTS: Final[dict[Kind, str]] = {"docker": "systemctl start docker", "podman": "podman info"}
_ITS_OWN: Final = ("PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS")
_BEGINNINGS: Final = ("DOCKER_", "PODMAN_", "CONTAINER_", "CONTAINERS_")
OTHERWISE: Final = 'set `workspace.driver = "worktree"`'


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that answers."""

    kind: Kind
    path: str
    version: str = ""
    is_rootless: bool = False
    """Whether root in its containers is the user who started it."""


class Answer(msgspec.Struct, frozen=True):
    """What a program said; `code` is None if it did not end in time or could not be started."""

    code: int | None
    text: str
    complaint: str = ""
    """What it wrote to its standard error."""

    @property
    def first_line(self) -> str:
        """Of what it said; of what it complained about, if it failed."""
        told = self.text if self.code == 0 else f"{self.complaint}\n{self.text}"
        lines = (line.strip() for line in told.splitlines())
        return next(("".join(filter(str.isprintable, line))[:200] for line in lines if line), f"exit code {self.code}")


def client_environment(ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """What an engine's program needs of our environment to find its engine, and nothing that a container gets."""
    known = os.environ if ours is None else ours
    return {name: value for name, value in known.items() if name in _ITS_OWN or name.startswith(_BEGINNINGS)}


async def ask(argv: Sequence[str], patience: float = _PATIENCE) -> Answer:
    """Run an engine's program to its end."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=nothing, stdout=pipe, stderr=pipe, env=client_environment()
        )
    except OSError as error:
        return Answer(None, error.strerror or str(error))
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience)
        return Answer(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
    except TimeoutError:
        return Answer(None, f"no answer within {patience:g} s")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def find_engine(wanted: str = AUTO, image: str = "") -> Engine:
    """The engine of that name; of any (`auto`), one that has the image if there is one. A `PortError` says why not."""
    kinds = [kind for kind in KINDS if wanted in (AUTO, kind)]
    found = [(kind, path) for kind in kinds if (path := shutil.which(kind))]
    if not found:
        names = " nor ".join(kinds)
        raise PortError(
            f"no containers: {'neither ' if len(kinds) > 1 else 'no '}{names} is found; install one, or {OTHERWISE}",
            code="container.missing",
        )
    tried = [await _try(kind, path) for kind, path in found]
    engines = [it for it in tried if isinstance(it, Engine)]
    if not engines:
        complaints = ", ".join(it for it in tried if isinstance(it, str))
        raise PortError(
            f"no containers: {complaints}; `{_STARTS[found[0][0]]}`, or {OTHERWISE}", code="container.unusable"
        )
    having = [it for it in engines[1:] if image and not await image_id(engines[0], image) and await image_id(it, image)]
    return having[0] if having else engines[0]


async def _try(kind: Kind, path: str) -> Engine | str:
    said = await ask([path, "info", "--format", _QUESTIONS[kind]])
    version, _, rest = said.text.strip().partition(" ")
    if said.code != 0 or not version[:1].isdigit():
        return f"{kind} does not answer ({said.first_line})"
    return Engine(kind=kind, path=path, version=version, is_rootless="rootless=true" in rest or "name=rootless" in rest)


async def image_id(engine: Engine, image: str) -> str:
    """The id of an image that the engine has; empty if it has none."""
    said = await ask([engine.path, "image", "inspect", "--format", "{{.Id}}", image])
    return said.first_line if said.code == 0 and said.text.strip() else ""


async def needed_image(engine: Engine, image: str) -> str:
    """The id of an image; a `PortError` if the engine does not have it."""
    if found := await image_id(engine, image):
        return found
    raise PortError(
        f"{engine.kind} has no image {image}; `{engine.kind} pull {image}`, or build it", code="container.image"
    )
