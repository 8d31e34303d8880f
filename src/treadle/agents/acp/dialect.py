"""`acp:PROGRAM ARGS`: any agent of the Agent Client Protocol, led by a client of ours that runs under the keeper."""

import shlex
import sys
from pathlib import Path
from typing import Final, Self

import msgspec

from treadle.agents.acp.job import Job
from treadle.agents.acp.known import ANSWERS, KNOWN, UNKNOWN, Known
from treadle.agents.acp.stream import NAME, AcpReader
from treadle.agents.one_shot import OneShot
from treadle.errors import TreadleError
from treadle.ports import Abilities, Work

CLIENT: Final = ("-P", "-m", "treadle.agents.acp.client")


class Acp(msgspec.Struct, frozen=True, kw_only=True):
    """How an ACP agent is started; what is known of it beyond the protocol goes by its program's name."""

    program: str
    args: tuple[str, ...] = ()
    is_enclosed: bool = False
    """Whether something else keeps it to what it may write; then it is allowed what it asks for."""
    is_apart: bool = False
    """Whether it runs in an image, which has a Treadle of its own."""
    silence: float = 20.0
    otherwise: tuple[str, ...] = ()
    cumulative: tuple[str, ...] = ("cost",)

    @classmethod
    def parse(cls, text: str, root: Path, *, is_enclosed: bool = False, is_apart: bool = False) -> Self:
        """From the words of the settings; a program that is named by a path is found from the root of the checkout."""
        try:
            first, *rest = shlex.split(text)
        except ValueError as error:
            raise TreadleError(
                f"the agent `acp:{text}` cannot be split into words: {error}; check its quotes", code="agent.invalid"
            ) from None
        program = str(root / first) if "/" in first else first
        return cls(program=program, args=tuple(rest), is_enclosed=is_enclosed, is_apart=is_apart)

    @property
    def known(self) -> Known:
        return KNOWN.get(Path(self.program).name, UNKNOWN)

    @property
    def abilities(self) -> Abilities:
        return self.known.abilities

    @property
    def keys(self) -> tuple[str, ...]:
        return self.known.keys

    @property
    def login(self) -> tuple[str, ...]:
        return self.known.login

    @property
    def sandbox(self) -> str:
        """Where nothing encloses it, it asks before it writes."""
        return "" if self.is_enclosed else "its own rules"

    def prepare(self, work: Work, home: Path) -> None:
        self.known.prepare(work, home)

    def through(self, work: Work, session: str) -> list[str]:
        """The client that leads it, and what that is told."""
        python = "python3" if self.is_apart else sys.executable
        return [python, *CLIENT, msgspec.json.encode(self.job(work, session)).decode()]

    def job(self, work: Work, session: str) -> Job:
        return Job(
            lane=str(work.lane.absolute()),
            bundle=str(work.bundle.absolute()),
            out=str(work.out.absolute()),
            session=session if NAME.fullmatch(session) else "",
            fork=work.fork,
            model=work.model,
            writes=None if work.writes is None else (*work.writes, *ANSWERS),
            perms=work.perms,
            is_enclosed=self.is_enclosed,
            ledger=self.known.ledger,
            silence=self.silence,
        )

    def argv(self, work: Work, home: Path, session: str) -> list[str]:  # noqa: ARG002
        return [*self.args, *self.known.words(work)]

    def env(self, work: Work, home: Path) -> dict[str, str]:  # noqa: ARG002
        return self.known.env(work, is_enclosed=self.is_enclosed)

    def reader(self) -> AcpReader:
        return AcpReader()


class AcpRunner(OneShot, frozen=True, kw_only=True):
    """A runner of an agent that is led by a client: that is the program that the keeper keeps."""

    dialect: Acp

    def command(self, work: Work, home: Path, session: str, path: str) -> list[str]:
        """The client, what it is told, and the agent's program, which it starts."""
        return [*self.dialect.through(work, session), *super().command(work, home, session, path)]
