"""The port: a command and what it may reach, made into the command that is really started."""

from pathlib import Path
from typing import Final, Protocol

import msgspec


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and all that it may reach."""

    argv: tuple[str, ...]
    cwd: Path
    """Where it works, and may write."""
    scope: tuple[str, ...] | None = None
    """Globs of what it may write there, for an enclosure that can tell; None: everything."""
    env: dict[str, str]
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
    """Whether it may have one; a check never may."""
    is_told: bool = False
    """Whether it reads its standard input."""
    key: str = ""
    """Names this very start: the same again after a crash, so that what is left of it is found."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What is really started."""

    argv: tuple[str, ...]
    env: dict[str, str]
    farewell: tuple[str, ...] = ()
    """A command that ends what the end of this process does not; harmless if nothing is left."""


class Enclosure(Protocol):
    """A way to start commands."""

    @property
    def name(self) -> str:
        """What it keeps a command from, for people and for the evidence."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether neither open files nor the end of the started process reach what is inside."""
        ...

    @property
    def loopback(self) -> bool:
        """Whether its network has to be given a loopback by hand."""
        ...

    @property
    def narrows(self) -> bool:
        """Whether files have to be made read-only by hand."""
        ...

    def launch(self, job: Job) -> Launch:
        """How the command is started in here."""
        ...


class Open(msgspec.Struct, frozen=True):
    """No enclosure: the command itself."""

    name: str = "nothing: network and files are within reach"
    is_apart: bool = False
    loopback: bool = False
    narrows: bool = False

    def launch(self, job: Job) -> Launch:
        return Launch(argv=job.argv, env=job.env)


OPEN: Final = Open()
