"""`command:PROGRAM ARGS`: any program that keeps to the agent contract."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final, Self

import msgspec

from treadle.agents.answer import put_file
from treadle.agents.environment import clean, contract
from treadle.agents.process import (
    Patience,
    Place,
    ProgramSession,
    attach_program,
    harvest_program,
    start_program,
)
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.errors import PortError, TreadleError
from treadle.ports import Abilities, Ended, Session, Watch, Work

NUDGE: Final = "nudge.md"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """Starts a program once for each activity, in its lane and without a shell."""

    argv: tuple[str, ...]
    root: Path
    """A program that is named by a path is found from here: in the user's checkout, where no agent can change it."""
    allowed: tuple[str, ...] = ()
    """Names of variables that the program sees besides the few that every program sees."""
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
        """The runner for `PROGRAM ARGS`, split as a shell would; nothing in it is expanded."""
        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            raise TreadleError(
                f"`{text}` is no command: {str(error).lower()}; check its quotes", code="agent.invalid"
            ) from None
        if not argv or not argv[0]:
            raise TreadleError("a command needs a program: write `command:PROGRAM ARGS`", code="agent.invalid")
        if "\0" in text:
            raise TreadleError("a command may not hold a NUL character; remove it", code="agent.invalid")
        patience = patience or Patience()
        return cls(argv=argv, root=root.absolute(), allowed=allowed, patience=patience, enclosure=enclosure)

    def ready(self) -> None:
        """A `PortError` if there is no such program; what is in an image shows when it is started."""
        self._program(clean(self.allowed)["PATH"])

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start the program; a `PortError` if there is none."""
        env = {**clean(self.allowed), **contract(work)}
        argv = (self._program(env["PATH"]), *self.argv[1:])
        place = Place(enclosure=self.enclosure, readable=(Path(argv[0]),) if self._is_own else ())
        return _CommandSession(await start_program(work, argv, env, watch, self.patience, place=place))

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """The program that an earlier process has started for exactly this activity."""
        session = await attach_program(work, watch, self.patience)
        return _CommandSession(session) if session else None

    async def harvest(self, work: Work) -> Ended | None:
        """How the program ended while nobody looked."""
        return await harvest_program(work, self.patience)

    @property
    def _is_own(self) -> bool:
        """Whether the program is a file of the user's checkout, and not one that is installed somewhere."""
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
                f"{where} cannot be executed; `chmod +x {where}` and a first line such as `#!/bin/sh` help",
                code="agent.missing",
            )
        place = str(self.root) if os.sep in name else "the folders of PATH"
        raise PortError(
            f"there is no program '{name}' in {place}; install it, or name another one with --agent",
            code="agent.missing",
        )


class _CommandSession(msgspec.Struct, frozen=True):
    """A program that may look for `nudge.md` in its bundle."""

    program: ProgramSession

    async def wait(self) -> Ended:
        return await self.program.wait()

    async def nudge(self, text: str) -> bool:
        """Leave a note in the bundle, where the contract says that reminders appear."""
        if not self.program.alive:
            return False
        put_file(self.program.work.bundle, NUDGE, text.encode())
        return True

    async def cancel(self) -> None:
        await self.program.cancel()
