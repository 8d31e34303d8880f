"""A container around a command: the words that docker or podman is started with.

Everything is at the same path inside as outside. What is not mounted is not there: not the user's checkout and its
`.git`, not the store, not other lanes.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from treadle.enclosures.enclosure import Job, Launch
from treadle.enclosures.engine import Engine, client_environment
from treadle.errors import PortError

ENGINE_FAILED: Final = 125
"""The exit code of an engine's program that could not do what it was told."""
NOT_STARTED: Final = {
    ENGINE_FAILED: "the engine could not run the container",
    126: "the program in the image cannot be executed",
    127: "there is no such program in the image",
}
BY_SIGNAL: Final = range(129, 193)
"""Exit codes that stand for a signal that ended the command inside."""

PLACES: Final = frozenset(
    "PATH HOME USER LOGNAME SSL_CERT_FILE SSL_CERT_DIR XDG_CACHE_HOME JAVA_HOME GOPATH GOROOT GOCACHE GOMODCACHE"
    " CARGO_HOME RUSTUP_HOME PYENV_ROOT NVM_DIR".split()
)
"""Variables that name places of this machine: in a container, those of its image hold."""
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
    """Of the image: what was looked at is what runs, whatever its name means by then."""
    mounts: tuple[Path, ...] = ()
    """What else can be read inside."""
    memory: int = 0
    cpus: float = 0.0
    network: str = "default"
    """That of agents: the engine's own, `none`, or one that the engine knows by name."""
    run: str = "run"
    labels: dict[str, str] = {}
    is_apart: bool = True
    loopback: bool = False
    narrows: bool = False

    @property
    def name(self) -> str:
        short = self.id.removeprefix("sha256:")[:12]
        return f"container of {self.image} ({short}, {self.engine.kind}): no network, own processes, own files"

    def launch(self, job: Job) -> Launch:
        """The engine's program, the environment that it takes values from, and how the container is ended."""
        name = container_name(self.run, job.key)
        passed = _passed(job)
        argv = (
            *(self.engine.path, "run", "--name", name, *_PLAIN),
            *(("--interactive",) if job.is_told else ()),
            *self._labels(job),
            *self._user(),
            *self._limits(job),
            *_mounted(job.cwd, *job.writable),
            *_mounted(*job.readable, *self.mounts, options=",readonly"),
            *(word for variable in sorted(passed) for word in ("--env", variable)),
            *("--env", f"HOME={_HOME}", "--workdir", str(job.cwd), "--entrypoint", job.argv[0]),
            *(self.id, *job.argv[1:]),
        )
        return Launch(argv=argv, env=passed | client_environment(), farewell=removal(self.engine, name))

    def _labels(self, job: Job) -> Iterator[str]:
        what = {"treadle.run": self.run, "treadle.what": "agent" if job.network else "check"}
        for label, value in (self.labels | what).items():
            yield from ("--label", f"{label}={value}")

    def _user(self) -> tuple[str, ...]:
        """Files that are made inside belong to the user outside."""
        me = f"{os.getuid()}:{os.getgid()}"
        if self.engine.kind == "podman" and os.getuid():
            return ("--userns", "keep-id", "--user", me)
        return ("--user", "0:0" if self.engine.is_rootless else me)

    def _limits(self, job: Job) -> Iterator[str]:
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
    """The same for the same start, and of no other."""
    return f"treadle-{run}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def removal(engine: Engine, *containers: str) -> tuple[str, ...]:
    """The command that ends containers, with all that is in them."""
    return (engine.path, "rm", "--force", "--volumes", *containers)


def signal_in(code: int) -> int:
    """An exit code from inside, as that of a process of our own: negative if a signal ended it."""
    return 128 - code if code in BY_SIGNAL else code


def _passed(job: Job) -> dict[str, str]:
    """What is handed in, by name alone: values never stand in a command that others can list."""
    own = {name: value for name, value in job.env.items() if name not in PLACES}
    if not any(Path(own.get("TMPDIR", "/")).is_relative_to(folder) for folder in job.writable):
        own.pop("TMPDIR", None)
    return own


def _mounted(*paths: Path, options: str = "") -> Iterator[str]:
    for path in dict.fromkeys(paths):
        yield from ("--mount", f"type=bind,{_field('source', path)},{_field('target', path)}{options}")


def _field(name: str, path: Path) -> str:
    """A field of a line of comma-separated values."""
    text = f"{name}={path}"
    if any(char in text for char in "\n\r\0"):
        raise PortError(
            f"{str(path)!r} cannot be mounted in a container: it has a line break in its name; rename it",
            code="container.mount",
        )
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text
