"""A program at work on an activity: started under a keeper, watched, found after a restart, ended with its children.

Theory of operation. This process may be killed at any moment. The next one must find the program, or learn how it
ended, and must never start a second one beside it. So all state is on disk or in the system's process table:

- *The keeper* (`keeper.py`) is the parent of the program, in a session of its own, and outlives this process. It locks
  the activity for as long as it lives, and the system drops the lock with it. It relays the program's output into files
  of bounded size, adopts the program's orphans, and writes last how the program ended.
- *Identity.* The system reuses pids, so a pid alone proves nothing. The keeper records its pid and its start time; and
  it has a mark in its environment (`MARK`), which everything that it starts inherits. A process is ours only if all
  three agree.
- *Start.* `start_program` attaches to the keeper of this session, if one lives. Otherwise it ends what earlier sessions
  of the activity left, writes the records that the next process will need (such as the command that ends a container),
  and only then starts a keeper. A keeper locks before it can write its identity, so both `attach_program` and
  `_await_keeper` wait for a moment where they find the lock alone.
- *Restart.* `attach_program` finds a living keeper, `harvest_program` reads the record of one that has ended. Where
  there is neither, the program was lost and has to start again.
- *End.* On SIGTERM the keeper ends all its descendants, first gently. A keeper that does not react in time is killed
  with them. Then `sweep` ends the processes with the mark that escaped, and the container.
"""

import asyncio
import fcntl
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.contract import MARK, has_answer
from treadle.agents.files import MAX_FINAL, Tail, end_of, escaped, last_line, open_regular, text_of
from treadle.agents.keeper import FULL, TAKEN
from treadle.agents.processes import (
    USUAL,
    Process,
    descendants,
    find_process,
    has_variable,
    is_running,
    missing_support,
    processes_with,
    send,
    send_all,
)
from treadle.enclosures.container import NOT_STARTED, run_program, signal_in
from treadle.enclosures.port import OPEN, EnclosedCommand, Enclosure
from treadle.errors import PortError
from treadle.ports import Ended, Progress, Watch, Work
from treadle.results import executor_result, handoff

# The files of an activity's keeper, and whether it lives.

_MAX_RECORD: Final = 10_000
_CODE: Final = re.compile(r"-?[0-9]{1,9}", re.ASCII)


class KeeperFiles(msgspec.Struct, frozen=True):
    """The files of one session of an activity; each retry or further round uses the next folder."""

    root: Path
    retry: int

    @classmethod
    def of(cls, work: Work) -> "KeeperFiles":
        return cls(work.home.absolute() / "agent", work.retry + work.round)

    @property
    def mark(self) -> str:
        """The variable that identifies all processes of this session."""
        return f"{MARK}={self.folder}"

    @property
    def folder(self) -> Path:
        return self.root / str(self.retry)

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def stdout(self) -> Path:
        return self.folder / "stdout"

    @property
    def stderr(self) -> Path:
        return self.folder / "stderr"

    @property
    def log(self) -> Path:
        """The keepers' error log; normally empty."""
        return self.root / "keeper.log"

    @property
    def farewell(self) -> Path:
        """The file with the command that ends this session's processes elsewhere; absent if there are none."""
        return self.root / f"{self.retry}.farewell"

    @property
    def place(self) -> Path:
        """The file with the name of this session's enclosure; absent if there is none."""
        return self.root / f"{self.retry}.place"

    def is_enclosed(self) -> bool:
        """Whether a wrapper runs between the keeper and the program and reports its end with exit codes of its own."""
        return bool(self._record(self.place) or self.farewell_words())

    def farewell_words(self) -> tuple[str, ...]:
        """Return the command that ends processes elsewhere; empty if there are none."""
        words = self._record(self.farewell).split("\0")
        return tuple(words) if words[0] else ()

    def ended(self) -> tuple[str, int | None, str]:
        """Return the keeper's record (`code`, `stopped`, `error`, `lost`, empty), the exit code and the detail."""
        how, _, detail = self._record(self.folder / "ended").partition(" ")
        return how, int(detail) if how == "code" and _CODE.fullmatch(detail) else None, detail

    def keeper(self) -> Process | None:
        """Return the living keeper of exactly this session."""
        return self._read_process(self.folder / "keeper")

    def was_kept_by(self, pid: int, status: int | None) -> bool:
        """Whether an ended child was the keeper of exactly this session, even if it was killed at its start."""
        was_killed = status is not None and os.WIFSIGNALED(status)
        if was_killed and (self.folder / "ended.part").exists():  # its program may be faster than its introduction
            return True
        return self._record(self.folder / "keeper").split()[:1] == [str(pid)]

    def keepers(self) -> list[Process]:
        """Return the living keepers of this activity: at most one, unless the lock was tampered with."""
        return [found for each in self.up_to_this() if (found := each.keeper())]

    def up_to_this(self) -> "list[KeeperFiles]":
        """Return the sessions of this activity, up to and including this one."""
        return [KeeperFiles(self.root, retry) for retry in range(self.retry + 1)]

    def is_locked(self) -> bool:
        """Whether a keeper of this activity lives, even one that has not written its identity yet."""
        file = open_regular(self.lock)
        if file is None:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    def _read_process(self, path: Path) -> Process | None:
        """Return the process that a file names, if its start time and mark prove that it is the same and ours."""
        words = self._record(path).split()
        if len(words) != 2 or not all(word.isdecimal() and len(word) < 20 for word in words):
            return None
        process = find_process(int(words[0]))
        return process if process and process.start == int(words[1]) and has_variable(process, self.mark) else None

    def _record(self, path: Path) -> str:
        return text_of(end_of(path, _MAX_RECORD)).strip()


# How a program ended, according to the files on disk.

_LAST_WORDS: Final = 2_000
STOPPED: Final = "stopped"
UNHEARD: Final = "lost"


def read_outcome(work: Work, longest: int = MAX_FINAL) -> Ended | None:
    """Return how the program ended; None if there is no record."""
    kept = KeeperFiles.of(work)
    final = escaped(end_of(kept.stdout, longest))
    how, code, detail = kept.ended()
    if has_answer(work):
        return Ended(how="done", final=final, code=code)
    if code in NOT_STARTED and kept.farewell_words():
        return Ended(how="failed", final=final, code=code, detail=last_words(NOT_STARTED[code], kept.stderr))
    if code is not None and kept.is_enclosed():
        code = signal_in(code)
    if code == 0:
        return Ended(how="done", final=final, code=code, detail=last_words("", kept.stderr))
    if code is not None and code > 0:
        detail = last_words(f"it ended with code {code}", kept.stderr, kept.stdout)
        return Ended(how="done", final=final, code=code, detail=detail)
    if code is not None:
        detail = last_words(f"it was ended by {_signal_name(-code)}", kept.stderr, kept.stdout)
        return Ended(how="lost", final=final, code=code, detail=detail)
    if how == STOPPED:
        return Ended(how="lost", final=final, detail="it was ended on request")
    if how == UNHEARD:
        why = f"its last output could not be kept: {detail.lower()}"
        return Ended(how="lost", final=final, detail=f"{why}; make room on the disk of {kept.root}")
    if how == "error":
        return Ended(how="failed", final=final, detail=f"{detail}; check the agent's command")
    return None


def last_words(what: str, *logs: Path) -> str:
    """Append the end of the program's output, from the first log that has any, to a description."""
    found = (text_of(end_of(log, _LAST_WORDS)).strip() for log in logs)
    words = next((f"its last words: {text}" for text in found if text), "")
    return "; ".join(part for part in (what, words) if part)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# Ending the processes of an activity: SIGTERM first, then SIGKILL, and never a process of anything else.

_QUICK: Final = 0.01
_MARGIN: Final = 1.0
_ROUNDS: Final = 4


async def end_keeper(keeper: Process, grace: float) -> None:
    """Ask the keeper to end everything; if it cannot (it is stopped or broken), kill it and its descendants."""
    send(keeper, signal.SIGTERM)
    if not await _wait_until_gone([keeper], grace + _MARGIN):
        below = descendants(keeper.pid) if is_running(keeper) else []
        send_all([keeper, *below], signal.SIGKILL)
        await _wait_until_gone([keeper, *below], grace)
    reap(keeper)


async def end_all(kept: KeeperFiles, grace: float) -> None:
    """End all leftovers of an activity's sessions, up to and including this one."""
    for each in kept.up_to_this():
        if keeper := each.keeper():
            await end_keeper(keeper, grace)
        await sweep(each, grace)


async def sweep(kept: KeeperFiles, grace: float) -> None:
    """End the processes that have a session's mark but escaped its keeper, and its container."""
    number = signal.SIGTERM
    for _ in range(_ROUNDS):
        if not (left := await asyncio.to_thread(processes_with, kept.mark)):
            await _end_container(kept)
            return
        send_all(left, number)
        await _wait_until_gone(left, grace)
        number = signal.SIGKILL
    if left := await asyncio.to_thread(processes_with, kept.mark):
        raise PortError(
            f"process {left[0].pid} of an agent cannot be ended; look at it with `ps`",
            retryable=True,
            code="agent.stuck",
        )


async def _end_container(kept: KeeperFiles) -> None:
    """End the container of a session, unless its keeper recorded an end: then the keeper has done it."""
    words = kept.farewell_words()
    if not words or kept.ended()[0]:
        return
    answer = await run_program(words)
    if answer.code != 0 and "no such container" not in answer.complaint.lower():
        raise PortError(
            f"the container {words[-1]} of an agent cannot be ended: {answer.first_line}; try `{shlex.join(words)}`",
            retryable=True,
            code="agent.stuck",
        )
    with suppress(OSError):
        kept.farewell.unlink()


def reap(keeper: Process) -> int | None:
    """Reap a keeper that this process started; other keepers are reaped by their own parents."""
    return _reap_child(keeper.pid) if keeper.start != _NEVER else None


def _reap_child(pid: int) -> int | None:
    """Return the status of an ended child; None if it has not ended, or is no child of this process."""
    with suppress(ChildProcessError):
        found, status = os.waitpid(pid, os.WNOHANG)
        return status if found else None
    return None


_NEVER: Final = 0
"""The start of a keeper that ended before its start could be read. No living process has it, so the keeper does not
count as running; and it is not reaped again.
"""


def _ended_keeper(pid: int) -> Process:
    return Process(pid, parent=0, start=_NEVER)


async def _wait_until_gone(processes: Sequence[Process], seconds: float) -> bool:
    """Wait until none of them lives."""
    until = asyncio.get_running_loop().time() + seconds
    while any(is_running(process) for process in processes):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(_QUICK)
    return True


_BOOT: Final = "import sys; sys.path.append(sys.argv[1]); from treadle.agents.keeper import main; main(sys.argv[2:])"
_SOURCES: Final = str(Path(__file__).parents[2])
_POLL: Final = 0.1
_START_UP: Final = 30.0
_ANSWERS: Final = (executor_result.FILE, handoff.FILES[0])
"""Answer files that every agent may write in its lane; Treadle removes them from there."""


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for a program: the time to end, and the size of its output."""

    answered: float = 30.0
    """Seconds to exit by itself after its answer has arrived."""
    asked: float = 5.0
    """Seconds from SIGTERM to SIGKILL."""
    output: int = 8 << 20
    """Bytes kept from the end of each output stream."""
    final: int = MAX_FINAL
    """Bytes at the end of the output that are searched for an answer."""


class ProgramPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The enclosure of a program, and the paths that it reaches besides its lane and its activity's folders."""

    enclosure: Enclosure = OPEN
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    stdin: Path | None = None
    """A file for its standard input; None: no input."""


ON_THIS_MACHINE: Final = ProgramPlace()

Listen = Callable[[bytes], Sequence[Progress]]
"""Turns a piece of the program's output into progress."""


def hear_last_line(data: bytes) -> Sequence[Progress]:
    """Report the last line as progress."""
    return (Progress(text),) if (text := last_line(data)) else ()


class ProgramSession:
    """A `Session` of a program under its keeper."""

    def __init__(
        self, work: Work, keeper: Process, watch: Watch, patience: Patience, listen: Listen = hear_last_line
    ) -> None:
        self.work, self.keeper, self.patience = work, keeper, patience
        self._kept = KeeperFiles.of(work)
        self._watch, self._listen = watch, listen
        self._tails = (Tail(self._kept.stdout), Tail(self._kept.stderr))
        self._deadline: float | None = None

    async def wait(self) -> Ended:
        """Wait until the program and all its processes have ended; cancelling the wait does not end them."""
        with _watch_end(self.keeper) as end:
            while is_running(self.keeper):
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
        return read_outcome(self.work, longest) or Ended(
            how="lost", detail="the agent vanished without a trace", final=escaped(end_of(self._kept.stdout, longest))
        )

    async def nudge(self, text: str) -> bool:  # noqa: ARG002
        """Return False: a program without input cannot be reached."""
        return False

    async def cancel(self) -> None:
        """End the program and all its processes; harmless if they have ended."""
        await end_keeper(self.keeper, self.patience.asked)
        await sweep(self._kept, self.patience.asked)

    @property
    def alive(self) -> bool:
        """Whether the program or any of its processes still lives."""
        return is_running(self.keeper)

    def _report(self) -> None:
        """Report new output as progress."""
        out, err = (tail.read() for tail in self._tails)
        for progress in (self._listen(out) if out else ()) or (hear_last_line(err) if err else ()):
            self._watch(progress)

    def _close(self) -> None:
        for tail in self._tails:
            tail.close()

    def _overstays(self) -> bool:
        """Whether the program is still running too long after its answer arrived."""
        if not has_answer(self.work):
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
    place: ProgramPlace = ON_THIS_MACHINE,
) -> ProgramSession:
    """Start a program in the lane, or attach to the one that already works on exactly this session."""
    if lacking := missing_support():
        raise PortError(f"{lacking}; the agents `manual` and `scripted` work everywhere", code="agent.platform")
    if session := await attach_program(work, watch, patience, listen):
        return session
    kept = KeeperFiles.of(work)
    await end_all(kept, patience.asked)
    try:
        kept.folder.mkdir(parents=True, exist_ok=True)
        work.out.mkdir(parents=True, exist_ok=True)
        launch = await asyncio.to_thread(place.enclosure.launch, _enclosed_command(work, kept, argv, env, place))
        _write_record(kept.farewell, "\0".join(launch.farewell))
        _write_record(kept.place, "" if place.enclosure == OPEN else place.enclosure.name)
    except OSError as error:
        raise PortError(
            f"{error.filename} cannot be prepared for an agent: {error.strerror}", retryable=True, code="agent.start"
        ) from None
    pid = _spawn_keeper(work, kept, launch.argv, launch.env, patience, place.stdin)
    # A caller that is cancelled now must still find the keeper, to end it or to leave it to the next driver.
    waiting = asyncio.ensure_future(_await_keeper(kept, pid))
    try:
        keeper = await asyncio.shield(waiting)
    except asyncio.CancelledError:
        await asyncio.wait({waiting})
        raise
    return ProgramSession(work, keeper, watch, patience, listen)


def _enclosed_command(
    work: Work, kept: KeeperFiles, argv: Sequence[str], env: dict[str, str], place: ProgramPlace
) -> EnclosedCommand:
    """Return the command with access to its lane and its activity's folders, and no other part of the project."""
    seen = tuple(path.absolute() for path in (work.bundle, *place.readable) if path.exists())
    return EnclosedCommand(
        argv=tuple(argv),
        cwd=work.lane.absolute(),
        scope=None if work.writes is None else (*work.writes, *_ANSWERS),
        env=env,
        writable=tuple(path.absolute() for path in (work.out, *place.writable)),
        readable=seen,
        network=True,
        has_stdin=place.stdin is not None,
        key=str(kept.folder),
    )


def _write_record(path: Path, text: str) -> None:
    """Write a record before the program starts, because this process may be gone when it is needed."""
    path.unlink(missing_ok=True)
    if text:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as opened:
            opened.write(text)


async def attach_program(
    work: Work, watch: Watch, patience: Patience, listen: Listen = hear_last_line
) -> ProgramSession | None:
    """Attach to the program of an earlier process that still works on exactly this activity."""
    kept = KeeperFiles.of(work)
    until = asyncio.get_running_loop().time() + _START_UP
    # A keeper locks before it has written its identity.
    while (keeper := kept.keeper()) is None and kept.is_locked() and not kept.keepers():
        if asyncio.get_running_loop().time() > until:
            raise PortError(
                f"another process holds {kept.lock}; `fuser {kept.lock}` finds it",
                retryable=True,
                code="agent.held",
            )
        await asyncio.sleep(_QUICK)
    return ProgramSession(work, keeper, watch, patience, listen) if keeper else None


async def harvest_program(work: Work, patience: Patience) -> Ended | None:
    """Return how the program ended without a driver; None if it has to be started, also after we stopped it."""
    kept = KeeperFiles.of(work)
    if kept.is_locked() or kept.keepers():
        return None
    found = read_outcome(work, patience.final)
    if found is None or (kept.ended()[0] in (STOPPED, UNHEARD) and found.how == "lost"):
        return None
    await sweep(kept, patience.asked)
    return found


def _spawn_keeper(
    work: Work, kept: KeeperFiles, argv: Sequence[str], env: dict[str, str], patience: Patience, stdin: Path | None
) -> int:
    """Start a detached keeper: no terminal, no inherited files, its own session."""
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


async def _await_keeper(kept: KeeperFiles, pid: int) -> Process:
    """Wait until the session's keeper has written its identity: the new one, or one that won the race."""
    started = find_process(pid) or _ended_keeper(pid)
    until = asyncio.get_running_loop().time() + _START_UP
    status: int | None = None
    while asyncio.get_running_loop().time() < until:
        if keeper := kept.keeper():
            return keeper
        if not is_running(started):
            status = status if status is not None else _reap_child(pid)
            if not kept.is_locked():
                if kept.ended()[0] or kept.was_kept_by(pid, status):  # before this look
                    return _ended_keeper(pid)
                break
        await asyncio.sleep(_QUICK)
    known = {TAKEN: "another one holds this activity", FULL: f"the disk of {kept.root} is full; make room"}
    why = known.get(os.waitstatus_to_exitcode(status)) if status is not None else None
    why = why or last_words("it did not say why", kept.log)
    raise PortError(f"no keeper could be started for an agent: {why}", retryable=True, code="agent.start")


@contextmanager
def _watch_end(process: Process) -> Iterator[asyncio.Event]:
    """Yield an event that is set when a process ends, so that waiting needs no busy polling."""
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
