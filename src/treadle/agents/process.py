"""A program at work on an activity: started under a keeper, watched, found again after a restart, ended with all it
started.

What is known about it lies on disk or in the system's own table of processes, never only here: this process may be
killed at any moment, and the next one goes on from there.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.answer import answered
from treadle.agents.ending import end_all, end_keeper, reap, sweep
from treadle.agents.environment import MARK
from treadle.agents.keeper import FULL, TAKEN
from treadle.agents.keeping import USUAL
from treadle.agents.kept import Kept
from treadle.agents.outcome import STOPPED, UNHEARD, last_words, outcome
from treadle.agents.processes import Process, lacks, lives, look
from treadle.agents.tail import MAX_FINAL, Tail, end_of, escaped, last_line
from treadle.enclosures.enclosure import OPEN, Enclosure, Job
from treadle.errors import PortError
from treadle.ports import Ended, Progress, Watch, Work
from treadle.results import executor_result, handoff

_BOOT: Final = "import sys; sys.path.append(sys.argv[1]); from treadle.agents.keeper import main; main(sys.argv[2:])"
_SOURCES: Final = str(Path(__file__).parents[2])
_QUICK: Final = 0.01
_POLL: Final = 0.1
_START_UP: Final = 30.0
_ANSWERS: Final = (executor_result.FILE, handoff.FILES[0])
"""What every agent may write in its lane: answers that are taken out of it."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a program may take to end, and how much it may say."""

    answered: float = 30.0
    """Seconds to end by itself once its answer has arrived."""
    asked: float = 5.0
    """Seconds from the request to end (TERM) to the end (KILL)."""
    output: int = 8 << 20
    """Bytes of each output stream that are kept: its end."""
    final: int = MAX_FINAL
    """Bytes of them in which an answer is looked for."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a program runs in, and what it reaches there besides its lane and its activity's own folders."""

    enclosure: Enclosure = OPEN
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    stdin: Path | None = None
    """A file that it reads as its input; None: there is none."""


ON_THIS_MACHINE: Final = Place()

Listen = Callable[[bytes], Sequence[Progress]]
"""What a piece of the program's output says about its progress."""


def hear_last_line(data: bytes) -> Sequence[Progress]:
    """The last line is as good a sign of life as any."""
    return (Progress(text),) if (text := last_line(data)) else ()


class ProgramSession:
    """A `Session` of a program under its keeper."""

    def __init__(
        self, work: Work, keeper: Process, watch: Watch, patience: Patience, listen: Listen = hear_last_line
    ) -> None:
        self.work, self.keeper, self.patience = work, keeper, patience
        self._kept = Kept.of(work)
        self._watch, self._listen = watch, listen
        self._tails = (Tail(self._kept.stdout), Tail(self._kept.stderr))
        self._deadline: float | None = None

    async def wait(self) -> Ended:
        """Until the program has ended, with everything it started; giving up waiting does not end it."""
        with _end_of(self.keeper) as end:
            while lives(self.keeper):
                self._report()
                if self._overstays():
                    await self.cancel()
                with suppress(TimeoutError):
                    await asyncio.wait_for(end.wait(), _POLL)
        self._report()
        self._close()
        reap(self.keeper)
        await sweep(self._kept, self.patience.asked)
        longest = self.patience.final
        return outcome(self.work, longest) or Ended(
            how="lost", detail="the agent vanished without a trace", final=escaped(end_of(self._kept.stdout, longest))
        )

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        """A program that reads nothing cannot be reached."""
        return False

    async def cancel(self) -> None:
        """End it and everything it started; harmless if it has ended."""
        await end_keeper(self.keeper, self.patience.asked)
        await sweep(self._kept, self.patience.asked)

    @property
    def alive(self) -> bool:
        """Whether the program, or what it started, is still there."""
        return lives(self.keeper)

    def _report(self) -> None:
        """Pass on what is new."""
        out, err = (tail.read() for tail in self._tails)
        for said in (self._listen(out) if out else ()) or (hear_last_line(err) if err else ()):
            self._watch(said)

    def _close(self) -> None:
        for tail in self._tails:
            tail.close()

    def _overstays(self) -> bool:
        """Whether its answer has been there for so long that it should have ended."""
        if not answered(self.work):
            self._deadline = None
            return False
        now = asyncio.get_running_loop().time()
        self._deadline = self._deadline or now + self.patience.answered
        return now >= self._deadline


async def start_program(
    work: Work,
    argv: Sequence[str],
    env: dict[str, str],
    watch: Watch,
    patience: Patience,
    listen: Listen = hear_last_line,
    place: Place = ON_THIS_MACHINE,
) -> ProgramSession:
    """Start a program in the lane; one that already works on exactly this is taken over, never joined by another."""
    if lacking := lacks():
        raise PortError(f"{lacking}; the agents `manual` and `scripted` work everywhere", code="agent.platform")
    if session := await attach_program(work, watch, patience, listen):
        return session
    kept = Kept.of(work)
    await end_all(kept, patience.asked)
    try:
        kept.folder.mkdir(parents=True, exist_ok=True)
        work.out.mkdir(parents=True, exist_ok=True)
        launch = await asyncio.to_thread(place.enclosure.launch, _job(work, kept, argv, env, place))
        _note(kept.farewell, "\0".join(launch.farewell))
        _note(kept.place, "" if place.enclosure == OPEN else place.enclosure.name)
    except OSError as error:
        raise PortError(
            f"{error.filename} cannot be prepared for an agent: {error.strerror}", retryable=True, code="agent.start"
        ) from None
    pid = _spawn_keeper(work, kept, launch.argv, launch.env, patience, place.stdin)
    return ProgramSession(work, await _introduced(kept, pid), watch, patience, listen)


def _job(work: Work, kept: Kept, argv: Sequence[str], env: dict[str, str], place: Place) -> Job:
    """The program with its lane and its activity's own folders, and nothing else of the project."""
    seen = tuple(path.absolute() for path in (work.bundle, *place.readable) if path.exists())
    return Job(
        argv=tuple(argv),
        cwd=work.lane.absolute(),
        scope=None if work.writes is None else (*work.writes, *_ANSWERS),
        env=env,
        writable=tuple(path.absolute() for path in (work.out, *place.writable)),
        readable=seen,
        network=True,
        is_told=place.stdin is not None,
        key=str(kept.folder),
    )


def _note(path: Path, text: str) -> None:
    """Write down what it runs in and how to end it before it begins: nobody may be there to remember."""
    path.unlink(missing_ok=True)
    if text:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)


async def attach_program(
    work: Work, watch: Watch, patience: Patience, listen: Listen = hear_last_line
) -> ProgramSession | None:
    """The program of an earlier process that still works on exactly this activity."""
    kept = Kept.of(work)
    until = asyncio.get_running_loop().time() + _START_UP
    # The lock is held before its holder has written down who it is.
    while (keeper := kept.keeper()) is None and kept.taken() and not kept.keepers():
        if asyncio.get_running_loop().time() > until:
            raise PortError(
                f"somebody holds {kept.lock} and does not say who; find out with `fuser`",
                retryable=True,
                code="agent.held",
            )
        await asyncio.sleep(_QUICK)
    return ProgramSession(work, keeper, watch, patience, listen) if keeper else None


async def harvest_program(work: Work, patience: Patience) -> Ended | None:
    """How the program ended while nobody looked; None if it has to be started, also because we have stopped it."""
    kept = Kept.of(work)
    if kept.taken() or kept.keepers():
        return None
    found = outcome(work, patience.final)
    if found is None or (kept.ended()[0] in (STOPPED, UNHEARD) and found.how == "lost"):
        return None
    await sweep(kept, patience.asked)
    return found


def _spawn_keeper(
    work: Work, kept: Kept, argv: Sequence[str], env: dict[str, str], patience: Patience, stdin: Path | None
) -> int:
    """Start a keeper that is nobody's business but its own: no terminal, no open files, a session to itself."""
    logging = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(stdin or os.devnull), os.O_RDONLY, 0),  # which its program inherits
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(kept.log), logging, 0o600),
    ]
    limits = [str(patience.asked), str(patience.output // 2), ",".join(str(int(number)) for number in USUAL)]
    paths = [str(kept.lock), str(kept.folder), str(work.lane.absolute())]
    command = [sys.executable, "-I", "-S", "-c", _BOOT, _SOURCES, *paths, *limits, *argv]
    marked = {**env, MARK: str(kept.folder)}
    try:
        return os.posix_spawn(sys.executable, command, marked, file_actions=actions, setsid=True, setsigmask=USUAL)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PortError(
            f"no process could be started for {argv[0]}: {reason}", retryable=True, code="agent.start"
        ) from None


async def _introduced(kept: Kept, pid: int) -> Process:
    """The keeper of this session, once it has said who it is: the one just started, or one that was quicker."""
    started = look(pid) or Process(pid, 0, 0)
    until = asyncio.get_running_loop().time() + _START_UP
    status: int | None = None
    while asyncio.get_running_loop().time() < until:
        if keeper := kept.keeper():
            return keeper
        if not lives(started):
            status = status if status is not None else _status(pid)
            if kept.ended()[0] and not kept.taken():  # so short a life that it was not seen
                return Process(pid, 0, 0)
            if not kept.taken():
                break
        await asyncio.sleep(_QUICK)
    known = {TAKEN: "another one holds this activity", FULL: f"the disk of {kept.root} is full; make room"}
    why = known.get(os.waitstatus_to_exitcode(status)) if status is not None else None
    why = why or last_words("it did not say why", kept.log)
    raise PortError(f"no keeper could be started for an agent: {why}", retryable=True, code="agent.start")


def _status(pid: int) -> int | None:
    return reap(Process(pid, 0, 1))


@contextmanager
def _end_of(process: Process) -> Iterator[asyncio.Event]:
    """An event that happens when a process ends, so that nobody has to look for it often."""
    end = asyncio.Event()
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        end.set()
        yield end
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, end.set)
    try:
        yield end
    finally:
        loop.remove_reader(handle)
        os.close(handle)
