"""An agent's program that is started once for each activity and tells a stream of events; a dialect for each kind."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from treadle.agents.answer import put_file
from treadle.agents.conversation import Conversation
from treadle.agents.environment import clean, contract
from treadle.agents.kept import Kept
from treadle.agents.process import (
    Listen,
    Patience,
    Place,
    ProgramSession,
    attach_program,
    harvest_program,
    start_program,
)
from treadle.agents.tail import end_of
from treadle.agents.told import Lines, Reader, Told, read_all
from treadle.config.agents import find_agent
from treadle.enclosures.enclosure import OPEN, Enclosure
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work

_COUNTS: Final = Usage.__struct_fields__


class Dialect(Protocol):
    """What one kind of agent needs to be told, and how it tells what it does."""

    @property
    def program(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables of the user's that this agent gets, and no other: its keys, and where its service is."""
        ...

    @property
    def login(self) -> tuple[str, ...]:
        """The files below the user's HOME that hold a login."""
        ...

    @property
    def otherwise(self) -> tuple[str, ...]:
        """The variables that let it reach a service where there is neither a key nor a login of its own."""
        ...

    @property
    def cumulative(self) -> tuple[str, ...]:
        """The parts of its usage that count from the beginning of a conversation."""
        ...

    @property
    def sandbox(self) -> str:
        """What of its own keeps it to its files; empty: nothing, or something else does."""
        ...

    def prepare(self, work: Work, home: Path) -> None:
        """Write what it reads from its HOME."""
        ...

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """Its command line, without the program; `session` is the conversation to continue or to branch off from.

        The prompt is not in it: the program reads it from its standard input.
        """
        ...

    def env(self, work: Work, home: Path) -> dict[str, str]: ...

    def reader(self) -> Reader: ...


class OneShot(msgspec.Struct, frozen=True, kw_only=True):
    """A runner of a program that speaks a dialect."""

    dialect: Dialect
    allowed: tuple[str, ...] = ()
    patience: Patience = Patience()
    enclosure: Enclosure = OPEN

    @property
    def abilities(self) -> Abilities:
        """Those of the dialect; what is apart does not reach a server of this process."""
        able = self.dialect.abilities
        return msgspec.structs.replace(able, mcp="stdio") if self.enclosure.is_apart else able

    def ready(self) -> None:
        """A `PortError` if there is no such program; what is in an image shows when it is started."""
        self._program(clean(self.allowed)["PATH"])

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start the program in a conversation of its own, or in the one that is to go on."""
        if found := await self.attach(work, watch):
            return found  # nothing of its HOME may be made anew
        talk, dialect = Conversation.of(work), self.dialect
        session = talk.open(work)
        talk.begin_count(work)
        talk.lend(dialect.login, Path.home())
        dialect.prepare(work, talk.home)
        env = {**clean((*self.allowed, *dialect.keys)), "HOME": str(talk.home), **contract(work)}
        env |= dialect.env(work, talk.home)
        argv = self.command(work, talk.home, session, env["PATH"])
        # By a file: words of a command line are seen by all users, and none may be longer than 128 KiB.
        put_file(work.home, said := f"{work.round}-prompt.md", work.prompt.encode(errors="replace"))
        place = Place(enclosure=self.enclosure, writable=(talk.home,), stdin=work.home / said)
        listen = _listening(dialect.reader())
        return _OneShotSession(self, await start_program(work, argv, env, watch, self.patience, listen, place))

    def command(self, work: Work, home: Path, session: str, path: str) -> list[str]:
        """The words that start the program, which is looked for in the folders of a PATH."""
        return [*self._program(path), *self.dialect.argv(work, home, session)]

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """The program that an earlier process has started for exactly this activity."""
        session = await attach_program(work, watch, self.patience, _listening(self.dialect.reader()))
        return _OneShotSession(self, session) if session else None

    async def harvest(self, work: Work) -> Ended | None:
        """How the program ended while nobody looked."""
        ended = await harvest_program(work, self.patience)
        return self.judged(work, ended) if ended else None

    def judged(self, work: Work, ended: Ended) -> Ended:
        """How it ended, by its stream and by its end together: neither is believed alone."""
        talk = Conversation.of(work)
        told = read_all(self.dialect.reader(), end_of(Kept.of(work).stdout, self.patience.output))
        talk.hand_back(self.dialect.login, Path.home())
        usage = self._usage(work, talk, told.usage)
        change = msgspec.structs.replace
        final = told.final[-self.patience.final :]
        ended = change(ended, session=talk.called(told.session), usage=usage, final=final, refused=told.refused)
        if told.trouble or not told.is_over:
            return _troubled(ended, told)
        return change(ended, code=ended.code or 0)

    def _usage(self, work: Work, talk: Conversation, usage: Usage) -> Usage:
        """What this activity has used, whatever the program counts from."""
        before = talk.counted_before(work)
        own = {
            name: max(getattr(usage, name) - getattr(before, name), 0)
            if name in self.dialect.cumulative
            else getattr(usage, name)
            for name in _COUNTS
        }
        total = {name: max(getattr(usage, name), getattr(before, name)) for name in self.dialect.cumulative}
        if total:
            talk.end_count(msgspec.structs.replace(before, **total))
        return Usage(**own)

    def _program(self, path: str) -> tuple[str, ...]:
        name = self.dialect.program
        if self.enclosure.is_apart:
            return (name,)
        if found := find_agent(name, path):
            return found.words
        raise PortError(
            f"there is no program '{name}' in the folders of PATH; `treadle agents` says how to get it",
            code="agent.missing",
        )


class _OneShotSession(msgspec.Struct, frozen=True):
    """A program that hears nothing while it works: whoever has to be reminded is told so in the next round."""

    runner: OneShot
    program: ProgramSession

    async def wait(self) -> Ended:
        return self.runner.judged(self.program.work, await self.program.wait())

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        return False

    async def cancel(self) -> None:
        await self.program.cancel()


def _troubled(ended: Ended, told: Told) -> Ended:
    """A stream that ends in trouble, or not at all, is no success, whatever the exit code says."""
    how = ended.how if ended.how != "done" else "failed"
    broken = "; ".join(filter(None, ("its stream of events broke off", ended.detail)))
    detail = told.trouble or broken
    return msgspec.structs.replace(ended, how=how, detail=detail, outage=told.outage, wait=told.wait)


def _listening(reader: Reader) -> Listen:
    """What the output shows of the agent, as it comes."""
    lines = Lines()

    def listen(data: bytes) -> Sequence[Progress]:
        said = [progress for event in lines.cut(data) if (progress := reader.take(event))]
        return said or [Progress()]

    return listen


def variables(names: tuple[str, ...], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Those of the user's variables that are set."""
    return {name: environ[name] for name in names if name in environ}
