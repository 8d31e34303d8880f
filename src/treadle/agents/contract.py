"""The agent contract: the environment of an agent's program, the id of its activity, the place of its answer.

And the session of an agent that Treadle plays itself, in this process.
"""

import asyncio
import os
import re
import sysconfig
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.ports import Ended, Session, Watch, Work
from treadle.protocol.items import Json
from treadle.results.emit import FILE, FORMAT, EmittedAnswer, pack, unpack
from treadle.results.intake import read_file

PASSED: Final = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
"""Our own variables that every agent sees; the configuration may allow more (`LC_*` allows a prefix)."""
MARK: Final = "TREADLE_KEEPER"
"""The variable that names a session: a process started with it belongs to that session alone."""


def clean_environment(allowed: Iterable[str] = ()) -> dict[str, str]:
    """Return our variables that an agent may see, with this installation's programs at the end of PATH."""
    names = {*PASSED, *allowed}
    starts = tuple(name[:-1] for name in names if name.endswith("*"))
    kept = {name: value for name, value in os.environ.items() if name in names or (starts and name.startswith(starts))}
    # A relative entry would mean another folder in every lane: there, an agent could leave a program for the next one.
    entries = [entry for entry in kept.get("PATH", os.defpath).split(os.pathsep) if Path(entry).is_absolute()]
    scripts = sysconfig.get_path("scripts")
    return {**kept, "PATH": os.pathsep.join([*entries, *([scripts] if scripts not in entries else [])])}


def contract_variables(work: Work) -> dict[str, str]:
    """Return the variables that every agent gets, in addition to those of its kind."""
    return {
        **work.env,
        "TREADLE_BUNDLE": str(work.bundle),
        "TREADLE_OUT": str(work.out),
        "TREADLE_RUN": work.run,
        "TREADLE_ACT": work.act,
        "TREADLE_STEP": work.step,
        "TREADLE_ROLE": work.role,
        "TREADLE_MODE": work.mode,
        "TREADLE_ATTEMPT": str(work.attempt),
        "TREADLE_TOKEN": work.token,
    }


# An agent's answer file: whether it is there, and how a runner writes one.


def has_answer(work: Work) -> bool:
    """Whether an answer of exactly this session has arrived; its content is verified later."""
    data = read_file(work.out, FILE)
    found = unpack(data) if isinstance(data, bytes) else None
    return isinstance(found, EmittedAnswer) and found.stale_for(work) is None


def put_answer(work: Work, exit_: dict[str, Json]) -> None:
    """Write the answer of an agent that Treadle plays itself, in one atomic step."""
    emitted = EmittedAnswer(
        format=FORMAT,
        act=work.act,
        token=work.token,
        retry=work.retry,
        at=time.time_ns() // 1_000_000,
        via="emit",
        answer={"exit": exit_},
    )
    put_file(work.out, FILE, pack(emitted))


def put_file(folder: Path, name: str, data: bytes) -> None:
    """Write a file of an activity in one atomic step; raise a `PortError` if its folder is a link."""
    part = folder / f".{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_symlink():
            raise PortError(
                f"{folder} is a link; an activity's files are written to its own folder only: remove it",
                code="file.link",
            )
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
        part.replace(folder / name)
    except OSError as error:
        raise PortError(
            f"{folder / name} cannot be written: {error.strerror}", retryable=True, code="file.unwritable"
        ) from None


# The id of an activity: instance, step, visit and attempt.

_ID: Final = re.compile(r"(?P<instance>.+):(?P<step>[^:]+)#(?P<visit>\d{1,9})\.(?P<attempt>\d{1,9})", re.ASCII)


class ActivityKey(msgspec.Struct, frozen=True):
    """An activity by its place in the run, which is the same in every run that takes the same course."""

    instance: str
    step: str
    visit: int
    attempt: int

    @property
    def id(self) -> str:
        """The activity's id in the run."""
        return f"{self.instance}:{self.step}#{self.visit}.{self.attempt}"

    def __str__(self) -> str:
        return f"step '{self.step}' of '{self.instance}' (visit {self.visit}, attempt {self.attempt})"


def activity_of(work: Work) -> ActivityKey:
    """Parse an activity id into instance, step, visit and attempt."""
    found = _ID.fullmatch(work.act)
    if found is None:
        raise PortError(f"'{work.act}' is not an activity id; one looks like `root:tests#1.1`", code="agent.activity")
    return ActivityKey(found["instance"], found["step"], int(found["visit"]), int(found["attempt"]))


# A session that Treadle plays itself: no program, so nothing of it outlives this process.

Play = Callable[[], Awaitable[Ended]]


class PlayedSession:
    """A `Session` played by a coroutine."""

    def __init__(self, play: Awaitable[Ended]) -> None:
        self._task = asyncio.ensure_future(play)

    async def wait(self) -> Ended:
        """Wait for the end of the play; cancelling the wait does not end it."""
        await asyncio.wait([self._task])
        if self._task.cancelled():
            return Ended(how="lost", detail="it was ended on request")
        return self._task.result()

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        """Return False: a running play takes no further input."""
        return False

    async def cancel(self) -> None:
        """Stop playing."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([self._task])


async def start_playing(work: Work, play: Play) -> Session:
    """Start a play, or return its recorded end if it was played before."""
    earlier = played_end(work)

    async def play_once() -> Ended:
        with writing(work.out):
            work.out.mkdir(parents=True, exist_ok=True)
        ended = await play() if earlier is None else earlier
        put_file(work.home, _record_name(work), msgspec.json.encode(ended))
        return ended

    return PlayedSession(play_once())


class PlayedRunner(msgspec.Struct, frozen=True, kw_only=True):
    """The base of runners for sessions that Treadle plays itself."""

    async def attach(self, work: Work, watch: Watch) -> Session | None:  # noqa: ARG002
        """Return None: a play ends with the process that plays it."""
        return None

    async def harvest(self, work: Work) -> Ended | None:
        """Return how the play ended, if it was played."""
        return played_end(work)


def played_end(work: Work) -> Ended | None:
    """Return how the play ended, if it was played."""
    data = read_file(work.home, _record_name(work))
    if not isinstance(data, bytes):
        return Ended(how="done") if has_answer(work) else None
    try:
        return msgspec.json.decode(data, type=Ended)
    except msgspec.DecodeError:
        return None


def _record_name(work: Work) -> str:
    return f"played-{work.retry}.json"
