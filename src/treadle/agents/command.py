"""`command:PROGRAM ARGS`: any program that keeps to the agent contract."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final, Self

import msgspec

from treadle.agents.contract import clean_environment, contract_variables, put_file
from treadle.agents.program import (
    Patience,
    ProgramPlace,
    ProgramSession,
    attach_program,
    harvest_program,
    start_program,
)
from treadle.enclosures.port import OPEN, Enclosure
from treadle.errors import PortError, TreadleError
from treadle.ports import Abilities, Ended, Session, Watch, Work

NUDGE: Final = "nudge.md"


class CommandRunner(msgspec.Struct, frozen=True, kw_only=True):
    """Starts a program once for each activity, in its lane and without a shell."""

    argv: tuple[str, ...]
    root: Path
    """The folder for relative program paths: the user's checkout, where no agent can change the program."""
    allowed: tuple[str, ...] = ()
    """Names of variables that the program sees besides those that every program sees."""
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN
    abilities: Abilities = Abilities(survives=True)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        root: Path,
        allowed: tuple[str, ...] = (),
        patience: Patience | None = None,
        enclosure: Enclosure = OPEN,
    ) -> Self:
        """Parse `PROGRAM ARGS`, split as a shell would; nothing in it is expanded."""
        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            raise TreadleError(
                f"`{text}` is not a valid command: {str(error).lower()}; check its quotes", code="agent.invalid"
            ) from None
        if not argv or not argv[0]:
            raise TreadleError("a command needs a program: write `command:PROGRAM ARGS`", code="agent.invalid")
        if "\0" in text:
            raise TreadleError("a command may not hold a NUL character; remove it", code="agent.invalid")
        patience = patience or Patience()
        return cls(argv=argv, root=root.absolute(), allowed=allowed, patience=patience, enclosure=enclosure)

    def ready(self) -> None:
        """Raise a `PortError` if the program is missing. A program in an image is only checked when it starts."""
        self._program(clean_environment(self.allowed)["PATH"])

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start the program, or raise a `PortError` if it is missing."""
        env = {**clean_environment(self.allowed), **contract_variables(work)}
        argv = (self._program(env["PATH"]), *self.argv[1:])
        place = ProgramPlace(enclosure=self.enclosure, readable=(Path(argv[0]),) if self._is_own else ())
        return _CommandSession(await start_program(work, argv, env, watch, self.patience, place=place))

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """Attach to the program that an earlier process started for exactly this activity."""
        session = await attach_program(work, watch, self.patience)
        return _CommandSession(session) if session else None

    async def harvest(self, work: Work) -> Ended | None:
        """Return how the program ended while no driver was running."""
        return await harvest_program(work, self.patience)

    @property
    def _is_own(self) -> bool:
        """Whether the program is a file of the user's checkout rather than an installed one."""
        return os.sep in self.argv[0] and not Path(self.argv[0]).is_absolute()

    def _program(self, path: str) -> str:
        name = self.argv[0]
        if self.enclosure.is_apart and not self._is_own:
            return name
        where = str(self.root / name) if os.sep in name else name
        found = shutil.which(where, path=path)
        if found:
            return found
        if os.sep in name and Path(where).exists():
            raise PortError(
                f"{where} cannot be executed; try `chmod +x {where}`, and a first line such as `#!/bin/sh`",
                code="agent.missing",
            )
        place = f"in {self.root}" if os.sep in name else "on your PATH"
        raise PortError(
            f"the program '{name}' is not {place}; install it, or name another one with --agent",
            code="agent.missing",
        )


class _CommandSession(msgspec.Struct, frozen=True):
    """A program that may look for `nudge.md` in its bundle."""

    program: ProgramSession

    async def wait(self) -> Ended:
        return await self.program.wait()

    async def nudge(self, text: str) -> bool:
        """Write the reminder to `nudge.md` in the bundle, as the contract defines."""
        if not self.program.alive:
            return False
        put_file(self.program.work.bundle, NUDGE, text.encode())
        return True

    async def cancel(self) -> None:
        await self.program.cancel()
