"""The port of enclosures: turns a command and its permitted paths into the command to start."""

from pathlib import Path
from typing import Final, Protocol

import msgspec


class EnclosedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and everything that it may reach."""

    argv: tuple[str, ...]
    cwd: Path
    """Its working folder, which it may write."""
    scope: tuple[str, ...] | None = None
    """Globs of the files that it may write there, for an enclosure that can enforce them; None: all files."""
    env: dict[str, str]
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    network: bool = False
    """Whether it may use the network; a check never may."""
    has_stdin: bool = False
    """Whether it reads its standard input."""
    key: str = ""
    """The name of this start, the same after a crash, so that leftovers are found."""


class LaunchCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command to start."""

    argv: tuple[str, ...]
    env: dict[str, str]
    farewell: tuple[str, ...] = ()
    """A command that ends processes which survive this one; harmless if there are none."""


class Enclosure(Protocol):
    """A way to start commands."""

    @property
    def name(self) -> str:
        """A description of its restrictions, for people and for the evidence."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether open files, and the end of the started process, do not reach the processes inside."""
        ...

    @property
    def loopback(self) -> bool:
        """Whether the caller must set up a loopback in its network."""
        ...

    @property
    def narrows(self) -> bool:
        """Whether the caller must make files read-only."""
        ...

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        """Return the command that starts a job in this enclosure."""
        ...


class NoEnclosure(msgspec.Struct, frozen=True):
    """No enclosure: the command itself."""

    name: str = "nothing: network and files are within reach"
    is_apart: bool = False
    loopback: bool = False
    narrows: bool = False

    def launch(self, job: EnclosedCommand) -> LaunchCommand:
        return LaunchCommand(argv=job.argv, env=job.env)


OPEN: Final = NoEnclosure()
