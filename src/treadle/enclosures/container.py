"""Containers: the engines that run them (docker, podman), and the command line that starts a command in one."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.enclosures.port import EnclosedCommand, LaunchCommand
from treadle.errors import PortError

# Container engines: which one is installed, whether it answers, and which images it has.

EngineKind = Literal["docker", "podman"]
KINDS: Final[tuple[EngineKind, ...]] = ("podman", "docker")
AUTO: Final = "auto"
_PATIENCE: Final = 20.0
_QUESTIONS: Final[dict[EngineKind, str]] = {
    "docker": "{{.ServerVersion}} {{json .SecurityOptions}}",
    "podman": "{{.Version.Version}} rootless={{.Host.Security.Rootless}}",
}
_STARTS: Final[dict[EngineKind, str]] = {"docker": "systemctl start docker", "podman": "podman info"}
_ITS_OWN: Final = ("PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS")
_BEGINNINGS: Final = ("DOCKER_", "PODMAN_", "CONTAINER_", "CONTAINERS_")
OTHERWISE: Final = 'set `workspace.driver = "worktree"`'


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """An engine that answers."""

    kind: EngineKind
    path: str
    version: str = ""
    is_rootless: bool = False
    """Whether root in its containers maps to the user outside."""


class EngineAnswer(msgspec.Struct, frozen=True):
    """The output of a program; `code` is None if it timed out or could not start."""

    code: int | None
    text: str
    complaint: str = ""
    """Its standard error."""

    @property
    def first_line(self) -> str:
        """The first line of its output; after a failure, of its standard error."""
        output = self.text if self.code == 0 else f"{self.complaint}\n{self.text}"
        lines = (line.strip() for line in output.splitlines())
        return next(("".join(filter(str.isprintable, line))[:200] for line in lines if line), f"exit code {self.code}")


def client_environment() -> dict[str, str]:
    """Return the variables that an engine's program needs to find its engine; containers do not get them."""
    return {name: value for name, value in os.environ.items() if name in _ITS_OWN or name.startswith(_BEGINNINGS)}


async def run_program(argv: Sequence[str], patience: float = _PATIENCE) -> EngineAnswer:
    """Run an engine's program to its end."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=nothing, stdout=pipe, stderr=pipe, env=client_environment()
        )
    except OSError as error:
        return EngineAnswer(None, error.strerror or str(error))
    try:
        out, err = await asyncio.wait_for(process.communicate(), patience)
        return EngineAnswer(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
    except TimeoutError:
        return EngineAnswer(None, f"no answer within {patience:g} s")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def find_engine(wanted: str = AUTO, image: str = "") -> Engine:
    """Return the named engine; for `auto`, preferably one with the image. Raise a `PortError` if there is none."""
    kinds = [kind for kind in KINDS if wanted in (AUTO, kind)]
    found = [(kind, path) for kind in kinds if (path := shutil.which(kind))]
    if not found:
        names = " nor ".join(kinds)
        raise PortError(
            f"no containers: {'neither ' if len(kinds) > 1 else 'no '}{names} is found; install one, or {OTHERWISE}",
            code="container.missing",
        )
    tried = [await _try_engine(kind, path) for kind, path in found]
    engines = [it for it in tried if isinstance(it, Engine)]
    if not engines:
        complaints = ", ".join(it for it in tried if isinstance(it, str))
        raise PortError(
            f"no containers: {complaints}; `{_STARTS[found[0][0]]}`, or {OTHERWISE}", code="container.unusable"
        )
    for engine in engines if image and len(engines) > 1 else ():
        if await image_id(engine, image):
            return engine
    return engines[0]


async def _try_engine(kind: EngineKind, path: str) -> Engine | str:
    answer = await run_program([path, "info", "--format", _QUESTIONS[kind]])
    version, _, rest = answer.text.strip().partition(" ")
    if answer.code != 0 or not version[:1].isdigit():
        return f"{kind} does not answer ({answer.first_line})"
    return Engine(kind=kind, path=path, version=version, is_rootless="rootless=true" in rest or "name=rootless" in rest)


async def image_id(engine: Engine, image: str) -> str:
    """Return the id of an image; empty if the engine does not have it."""
    answer = await run_program([engine.path, "image", "inspect", "--format", "{{.Id}}", image])
    return answer.first_line if answer.code == 0 and answer.text.strip() else ""


async def needed_image(engine: Engine, image: str) -> str:
    """Return the id of an image; raise a `PortError` if the engine does not have it."""
    if found := await image_id(engine, image):
        return found
    raise PortError(
        f"{engine.kind} has no image {image}; `{engine.kind} pull {image}`, or build it", code="container.image"
    )


ENGINE_FAILED: Final = 125
"""The exit code of an engine's program if the engine itself failed."""
NOT_STARTED: Final = {
    ENGINE_FAILED: "the engine could not run the container",
    126: "the program in the image cannot be executed",
    127: "there is no such program in the image",
}
BY_SIGNAL: Final = range(129, 193)
"""Exit codes that mean a signal ended the command inside."""

PLACES: Final = frozenset(
    "PATH HOME USER LOGNAME SSL_CERT_FILE SSL_CERT_DIR XDG_CACHE_HOME JAVA_HOME GOPATH GOROOT GOCACHE GOMODCACHE"
    " CARGO_HOME RUSTUP_HOME PYENV_ROOT NVM_DIR".split()
)
"""Variables that name places of this machine; a container uses those of its image instead."""
_HOME: Final = "/tmp"
_PLAIN: Final = (
    *("--rm", "--init", "--pull", "never", "--log-driver", "none", "--read-only"),
    *("--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777", "--cap-drop", "ALL"),
    *("--security-opt", "no-new-privileges", "--security-opt", "label=disable"),
)
_MOST_PROCESSES: Final = "4096"


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """Starts each command in a new container of one image."""

    engine: Engine
    image: str
    id: str
    """The id of the image: the inspected image runs, even if its name moves to another one."""
    mounts: tuple[Path, ...] = ()
    """Additional readable paths."""
    memory: int = 0
    cpus: float = 0.0
    network: str = "default"
    """The network of agents: the engine's default, `none`, or a named network of the engine."""
    run: str = "run"
    labels: dict[str, str] = {}
    is_apart: bool = True
    loopback: bool = False
    narrows: bool = False

    @property
    def name(self) -> str:
        short = self.id.removeprefix("sha256:")[:12]
        return f"container of {self.image} ({short}, {self.engine.kind}): no network, own processes, own files"

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        """Return the engine's command line, the values of its `--env` names, and the container's removal command."""
        name = container_name(self.run, job.key)
        # Passed by name: a value in a command line could be listed by other users.
        passed = {variable: value for variable, value in job.env.items() if variable not in PLACES}
        if not any(Path(passed.get("TMPDIR", "/")).is_relative_to(folder) for folder in job.writable):
            passed.pop("TMPDIR", None)
        labels = self.labels | {"treadle.run": self.run, "treadle.what": "agent" if job.network else "check"}
        argv = (
            *(self.engine.path, "run", "--name", name, *_PLAIN),
            *(("--interactive",) if job.has_stdin else ()),
            *(word for label, value in labels.items() for word in ("--label", f"{label}={value}")),
            *self._user(),
            *self._limits(job),
            *_mounted(job.cwd, *job.writable),
            *_mounted(*job.readable, *self.mounts, options=",readonly"),
            *(word for variable in sorted(passed) for word in ("--env", variable)),
            *("--env", f"HOME={_HOME}", "--workdir", str(job.cwd), "--entrypoint", job.argv[0]),
            *(self.id, *job.argv[1:]),
        )
        return LaunchCommand(argv=argv, env=passed | client_environment(), farewell=removal_command(self.engine, name))

    def _user(self) -> tuple[str, ...]:
        """Return the user options, so that files made inside belong to the user outside."""
        me = f"{os.getuid()}:{os.getgid()}"
        if self.engine.kind == "podman" and os.getuid():
            return ("--userns", "keep-id", "--user", me)
        return ("--user", "0:0" if self.engine.is_rootless else me)

    def _limits(self, job: EnclosedCommand) -> Iterator[str]:
        network = self.network if job.network else "none"
        if network != "default":
            yield from ("--network", network)
        if self.engine.kind == "docker":  # podman has a limit of its own, and may not set one everywhere
            yield from ("--pids-limit", _MOST_PROCESSES)
        if self.memory:
            yield from ("--memory", str(self.memory))
        if self.cpus:
            yield from ("--cpus", f"{self.cpus:g}")


def container_name(run: str, key: str) -> str:
    """Return a name that is the same for the same start, and unique to it."""
    return f"treadle-{run}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def removal_command(engine: Engine, *containers: str) -> tuple[str, ...]:
    """Return the command that ends and removes containers with their volumes."""
    return (engine.path, "rm", "--force", "--volumes", *containers)


def signal_in(code: int) -> int:
    """Convert an exit code from inside to that of a local process: negative if a signal ended it."""
    return 128 - code if code in BY_SIGNAL else code


def _mounted(*paths: Path, options: str = "") -> Iterator[str]:
    for path in dict.fromkeys(paths):
        yield from ("--mount", f"type=bind,{_field('source', path)},{_field('target', path)}{options}")


def _field(name: str, path: Path) -> str:
    """Format a field of a line of comma-separated values."""
    text = f"{name}={path}"
    if any(char in text for char in "\n\r\0"):
        raise PortError(
            f"{str(path)!r} cannot be mounted in a container: it has a line break in its name; rename it",
            code="container.mount",
        )
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text
