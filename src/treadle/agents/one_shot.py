"""Agent programs that start once for each activity and print a stream of events, with a dialect for each kind."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol, Self

import msgspec

from treadle.agents.contract import clean_environment, contract_variables, put_file
from treadle.agents.event_stream import EventLines, Reader, event_of, read_all
from treadle.agents.files import end_of
from treadle.agents.program import (
    KeeperFiles,
    Listen,
    Patience,
    ProgramPlace,
    ProgramSession,
    attach_program,
    harvest_program,
    start_program,
)
from treadle.config.agents import find_agent
from treadle.enclosures.port import OPEN, Enclosure
from treadle.errors import PortError
from treadle.kernel.events import Usage
from treadle.ports import Abilities, Ended, Progress, Session, Watch, Work
from treadle.results.intake import read_file

# A HOME for each conversation: parallel agents do not share one, and a resumed agent finds its transcript there.
#
# A conversation is identified by its folder, beside its activities' folders, and by the program's own name for it. A
# fork gets a copy of the folder. Treadle lends it the user's login: a copy, which goes back to the user if the
# program renewed it.

_PLACE: Final = "conversations"
_TOTAL: Final = "used.json"
_BEFORE: Final = "used-before.json"


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a conversation, and its name in the agent's program."""

    folder: Path
    name: str = ""
    """Empty if the conversation has not begun."""

    @classmethod
    def of(cls, work: Work) -> Self:
        """Return the conversation of an activity: the one that it continues, or a new one."""
        known, _, name = work.session.partition("/")
        own = work.home.absolute().parent / _PLACE
        if work.session and not work.fork and _is_plain(known):
            return cls(folder=own / known, name=name)
        return cls(folder=own / work.home.name)

    @property
    def home(self) -> Path:
        """The HOME of its programs."""
        return self.folder / "home"

    def session_of(self, name: str) -> str:
        """Return the conversation as a session that can be continued; empty if the program has not named it."""
        return f"{self.folder.name}/{name}" if name else ""

    def open(self, work: Work) -> str:
        """Make its folder and return the program's name of the conversation to continue or to fork."""
        source, _, name = work.session.partition("/")
        try:
            if work.session and work.fork and _is_plain(source):
                _copy_folder(self.folder.parent / source, self.folder)
            self.home.mkdir(parents=True, exist_ok=True)
            self.folder.chmod(0o700)
        except (OSError, shutil.Error) as error:
            raise PortError(
                f"the folder {self.folder} of a conversation cannot be created: {error}", code="file.unwritable"
            ) from None
        return name

    # usage that a program counts from the beginning of a conversation

    def begin_count(self, work: Work) -> None:
        """Record the conversation's usage before this activity."""
        found = read_file(self.folder, _TOTAL)
        put_file(work.home, f"{work.round}-{_BEFORE}", found if isinstance(found, bytes) else b"{}")

    def counted_before(self, work: Work) -> Usage:
        """Return the conversation's usage before this activity."""
        found = read_file(work.home, f"{work.round}-{_BEFORE}")
        try:
            return msgspec.json.decode(found, type=Usage) if isinstance(found, bytes) else Usage()
        except msgspec.DecodeError:
            return Usage()

    def end_count(self, total: Usage) -> None:
        """Record the conversation's total usage."""
        put_file(self.folder, _TOTAL, msgspec.json.encode(total))

    # the user's login

    def lend(self, files: tuple[str, ...], owner: Path) -> None:
        """Copy the user's login into its HOME."""
        for name in files:
            source, target = owner / name, self.home / name
            if source.is_file():
                # A link left by an agent on the way to the file would send the login elsewhere.
                for path in (*reversed(target.relative_to(self.home).parents), target.relative_to(self.home)):
                    if (self.home / path).is_symlink():
                        (self.home / path).unlink()
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                target.chmod(0o600)

    def hand_back(self, files: tuple[str, ...], owner: Path) -> None:
        """Copy a login that the program renewed back to the user, unless the user's own is newer.

        An agent may write this HOME, so a file that is not the same login with other values stays where it is.
        """
        for name in files:
            source, target = self.home / name, owner / name
            if source.is_symlink() or not source.is_file() or not target.is_file():
                continue
            new, old = read_file(source.parent, source.name), target.read_bytes()
            is_newer = source.stat().st_mtime_ns > target.stat().st_mtime_ns
            if isinstance(new, bytes) and is_newer and new != old and _shape(new) == _shape(old) is not None:
                part = target.with_name(f".{target.name}.treadle")
                part.write_bytes(new)
                part.chmod(0o600)
                part.replace(target)


def _shape(data: bytes) -> object:
    """Return the structure of a login without its values; None if it is no JSON."""

    def kinds(value: object) -> object:
        return {key: kinds(each) for key, each in value.items()} if isinstance(value, dict) else type(value).__name__

    try:
        return kinds(msgspec.json.decode(data))
    except msgspec.DecodeError:
        return None


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a folder in one atomic step; links stay links, and special files (sockets) are left out."""

    def special_files(folder: str, names: list[str]) -> list[str]:
        paths = [Path(folder) / name for name in names]
        return [path.name for path in paths if not (path.is_symlink() or path.is_file() or path.is_dir())]

    part = target.with_name(f"{target.name}.part")
    for old in (part, target):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(source, part, symlinks=True, ignore=special_files)
    part.rename(target)


def _is_plain(name: str) -> bool:
    return bool(name) and name not in (".", "..") and os.sep not in name


class Dialect(Protocol):
    """One kind of agent: its command line, environment, files and stream of events."""

    @property
    def program(self) -> str: ...

    @property
    def abilities(self) -> Abilities: ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The user's variables that this agent gets, and no others: its keys and the address of its service."""
        ...

    @property
    def login(self) -> tuple[str, ...]:
        """The login files, relative to the user's HOME."""
        ...

    @property
    def otherwise(self) -> tuple[str, ...]:
        """The variables that give access to a service without a key or a login of its own."""
        ...

    @property
    def cumulative(self) -> tuple[str, ...]:
        """The parts of its usage that count from the beginning of a conversation."""
        ...

    @property
    def sandbox(self) -> str:
        """The agent's own mechanism that limits its writes; empty if it has none, or an enclosure does it."""
        ...

    def prepare(self, work: Work, home: Path) -> None:
        """Write the files that it reads from its HOME."""
        ...

    def argv(self, work: Work, home: Path, session: str) -> list[str]:
        """Return its arguments; `session` is the conversation to continue or to branch off from.

        The prompt is not among them: the program reads it from its standard input.
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
        """The abilities of the dialect; from inside an image, no MCP server of this process is reachable."""
        able = self.dialect.abilities
        return msgspec.structs.replace(able, mcp="stdio") if self.enclosure.is_apart else able

    def ready(self) -> None:
        """Raise a `PortError` if the program is missing. A program in an image is only checked when it starts."""
        self._program(clean_environment(self.allowed)["PATH"])

    async def start(self, work: Work, watch: Watch) -> Session:
        """Start the program in a new conversation, or in the one to continue."""
        if found := await self.attach(work, watch):
            return found  # nothing of its HOME may be made anew
        talk, dialect = Conversation.of(work), self.dialect
        session = talk.open(work)
        talk.begin_count(work)
        talk.lend(dialect.login, Path.home())
        dialect.prepare(work, talk.home)
        env = {**clean_environment((*self.allowed, *dialect.keys)), "HOME": str(talk.home), **contract_variables(work)}
        env |= dialect.env(work, talk.home)
        argv = self.command(work, talk.home, session, env["PATH"])
        # By a file: words of a command line are seen by all users, and none may be longer than 128 KiB.
        put_file(work.home, prompt := f"{work.round}-prompt.md", work.prompt.encode(errors="replace"))
        place = ProgramPlace(enclosure=self.enclosure, writable=(talk.home,), stdin=work.home / prompt)
        listen = _listen_to(dialect.reader())
        return _OneShotSession(self, await start_program(work, argv, env, watch, self.patience, listen, place))

    def command(self, work: Work, home: Path, session: str, path: str) -> list[str]:
        """Return the command line; the program is looked up in a PATH."""
        return [*self._program(path), *self.dialect.argv(work, home, session)]

    async def attach(self, work: Work, watch: Watch) -> Session | None:
        """Attach to the program that an earlier process started for exactly this activity."""
        session = await attach_program(work, watch, self.patience, _listen_to(self.dialect.reader()))
        return _OneShotSession(self, session) if session else None

    async def harvest(self, work: Work) -> Ended | None:
        """Return how the program ended while no driver was running."""
        ended = await harvest_program(work, self.patience)
        return self.judge(work, ended) if ended else None

    def judge(self, work: Work, ended: Ended) -> Ended:
        """Decide how it ended from its stream and its exit code together: neither is trusted alone."""
        talk = Conversation.of(work)
        stream = read_all(self.dialect.reader(), end_of(KeeperFiles.of(work).stdout, self.patience.output))
        talk.hand_back(self.dialect.login, Path.home())
        ended = msgspec.structs.replace(
            ended,
            session=talk.session_of(stream.session),
            usage=self._own_usage(work, talk, stream.usage),
            final=stream.final[-self.patience.final :],
            refused=stream.refused,
        )
        if stream.is_over and not stream.trouble:
            return msgspec.structs.replace(ended, code=ended.code or 0)
        # A stream that ends in an error or breaks off is no success, despite an exit code of 0.
        broken = "; ".join(filter(None, ("its stream of events broke off", ended.detail)))
        return msgspec.structs.replace(
            ended,
            how=ended.how if ended.how != "done" else "failed",
            detail=stream.trouble or broken,
            outage=stream.outage,
            wait=stream.wait,
        )

    def _own_usage(self, work: Work, talk: Conversation, usage: Usage) -> Usage:
        """Return the usage of this activity, also for programs that count from the beginning of a conversation."""
        before, cumulative = talk.counted_before(work), self.dialect.cumulative
        if cumulative:
            total = {name: max(getattr(usage, name), getattr(before, name)) for name in cumulative}
            talk.end_count(msgspec.structs.replace(before, **total))
        own = {name: max(getattr(usage, name) - getattr(before, name), 0) for name in cumulative}
        return msgspec.structs.replace(usage, **own)

    def _program(self, path: str) -> tuple[str, ...]:
        name = self.dialect.program
        if self.enclosure.is_apart:
            return (name,)
        if found := find_agent(name, path):
            return found.words
        raise PortError(
            f"the program '{name}' is not on your PATH; `treadle agents` shows how to install it",
            code="agent.missing",
        )


class _OneShotSession(msgspec.Struct, frozen=True):
    """A session of a program that reads no input while it works; reminders go into the next round."""

    runner: OneShot
    program: ProgramSession

    async def wait(self) -> Ended:
        return self.runner.judge(self.program.work, await self.program.wait())

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        return False

    async def cancel(self) -> None:
        await self.program.cancel()


def _listen_to(reader: Reader) -> Listen:
    """Return a listener that turns output into progress as it arrives."""
    lines = EventLines()

    def listen(data: bytes) -> Sequence[Progress]:
        shown = [progress for event in lines.cut(data) if (progress := reader.take(event))]
        return shown or [Progress()]

    return listen


# The user's surroundings, which dialects pass on.

PROXY_VARIABLES: Final = (
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"),
    *(name for upper in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (upper, upper.lower())),
)
"""Variables for proxies and certificates, needed to reach a service."""


def read_settings(file: Path) -> dict[str, Any]:
    """Read the user's own settings of an agent; empty if there are none."""
    try:
        found = event_of(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PortError(
            f"{file}, your settings of an agent, cannot be read: {error.strerror}", code="agent.settings"
        ) from None
    if found is None:
        raise PortError(
            f"{file}, your settings of an agent, is not plain JSON; remove its comments", code="agent.settings"
        )
    return found
