"""Run git as a process: argv, an environment of our own, bounded output, a timeout.

`run_git` runs one command to its end. A `GitService` is a git process that answers many requests, because starting one
costs more than the request itself; it ends after an idle timeout. `Objects` reads and writes objects with such
processes.
"""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

import msgspec

from treadle.errors import PortError
from treadle.git.files import temporary_folder

TIMEOUT: Final = 120.0
OUTPUT_LIMIT: Final = 64 * 1024 * 1024
_GRACE: Final = 2.0
_STDERR_LIMIT: Final = 16_000
_KEPT: Final = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
_SETTINGS: Final = (
    # A repository's own settings can name programs for git to start; an agent may have written them.
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=true",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "diff.external=",
    "credential.helper=",
    # No network, and no other repository.
    "protocol.allow=never",
    "submodule.recurse=false",
    # Copies of an index must be complete: a split one needs a second file, and an untracked cache fits one worktree.
    "core.untrackedCache=false",
    "core.splitIndex=false",
    # Output that a program can parse.
    "core.quotePath=false",
    "diff.submodule=short",
    "advice.detachedHead=false",
    # What a ref names must be on the disk before the log relies on it, also after a power cut.
    "core.fsync=committed",
    "core.fsyncMethod=batch",
    # Refs of runs need no reflogs, and no clean-up starts beside our own writes.
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
)
"""Settings for every call; on the command line they override those of any file."""


class GitAnswer(msgspec.Struct, frozen=True):
    """The exit code and output of a git command."""

    code: int
    out: bytes
    stderr: str

    @property
    def text(self) -> str:
        return os.fsdecode(self.out).strip()


def git_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with no variable that redirects git, no prompts and English messages.

    An empty value in `extra` removes a variable.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    fixed = {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",  # reading must not lock the user's index, as `git status` would to refresh it
        "GIT_NO_REPLACE_OBJECTS": "1",  # a ref below refs/replace/ would show other contents under an object's id
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
    }
    return {name: value for name, value in (kept | fixed | dict(extra)).items() if value}


def hardened_command(arguments: Sequence[str]) -> list[str]:
    """Return a command line on which no setting of a repository makes git run a program."""
    return ["git", *(word for setting in _SETTINGS for word in ("-c", setting)), *arguments]


async def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
) -> GitAnswer:
    """Run git to its end; raise a `PortError` if it cannot start, times out, or prints too much."""
    shown = shorten(f"git {' '.join(arguments)}")
    try:
        process = await _start_git(arguments, cwd, env, stdin=PIPE if stdin else DEVNULL, stderr=PIPE)
    except FileNotFoundError:
        if cwd.is_dir():
            what, code = "git is not installed; install git 2.38 or newer", "git.missing"
        else:
            what, code = f"{cwd} is gone", "file.missing"
        raise PortError(f"`{shown}` cannot be run: {what}", code=code) from None
    except OSError as error:
        raise PortError(f"`{shown}` cannot be run: {error.strerror}", retryable=True, code="git.failed") from None
    try:
        async with asyncio.timeout(TIMEOUT):
            assert process.stdout is not None
            assert process.stderr is not None

            async def feed() -> None:
                if process.stdin is not None:
                    with suppress(BrokenPipeError, ConnectionResetError):
                        process.stdin.write(stdin)
                        await process.stdin.drain()
                    process.stdin.close()

            # All three at once: git blocks when a pipe is full, and would then never read or write the other one.
            async with asyncio.TaskGroup() as group:
                group.create_task(feed())
                out = group.create_task(_read_output(process.stdout, OUTPUT_LIMIT, strict=True))
                stderr = group.create_task(_read_output(process.stderr, _STDERR_LIMIT, strict=False))
            return GitAnswer(await process.wait(), out.result(), stderr.result().decode(errors="replace").strip())
    except TimeoutError:
        raise PortError(
            f"`{shown}` took longer than {TIMEOUT:g} s and was ended", retryable=True, code="git.timeout"
        ) from None
    except ExceptionGroup as failures:
        if failures.subgroup(_OutputLimitError) is None:
            raise
        raise PortError(
            f"`{shown}` printed more than {OUTPUT_LIMIT} bytes and was ended", code="git.too_large"
        ) from None
    finally:
        await end_process(process)


async def _start_git(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], *, stdin: int, stderr: int
) -> Process:
    return await asyncio.create_subprocess_exec(
        *hardened_command(arguments),
        stdin=stdin,
        stdout=PIPE,
        stderr=stderr,
        cwd=cwd,
        env=git_environment(env),
        start_new_session=True,  # a process group of its own, which `end_process` ends
    )


async def end_process(process: Process) -> None:
    """Terminate a process group, then kill it; on SIGTERM git removes its lock files."""
    try:
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _GRACE)
    finally:  # also if this is cancelled: the loop may be about to end, and nothing would wait for the process
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def shorten(text: str, length: int = 300) -> str:
    """Shorten a text for a message to one line of printable characters."""
    line = "".join(char if char.isprintable() else "?" for char in text)
    return line if len(line) <= length else f"{line[:length]}…"


class _OutputLimitError(Exception):
    """Output beyond the limit."""


async def _read_output(stream: asyncio.StreamReader, limit: int, *, strict: bool) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := await stream.read(65_536):
        if size + len(chunk) > limit and strict:
            raise _OutputLimitError
        parts.append(chunk[: max(0, limit - size)])
        size += len(chunk)
    return b"".join(parts)


# A git process that answers many requests and ends after an idle timeout.

T = TypeVar("T")
_IDLE: Final = 2.0
_MOST_REQUESTS: Final = 1000
"""The number of requests after which a new process replaces the old one, because git keeps state between them."""


class BrokenError(Exception):
    """The process has ended, or its answer cannot be parsed."""


class GitService:
    """A git process that starts with the first request, and again if it is gone."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._command, self._cwd, self._env = command, cwd, env
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._requests = 0

    async def ask(self, request: bytes, answer: Callable[[asyncio.StreamReader], Awaitable[T]], tries: int = 2) -> T:
        """Send a request and return the parsed answer; raise `BrokenError` if the process ends on every try.

        Raise a `PortError` if git cannot start or times out.
        """
        async with self._lock:
            self._requests += 1
            for _ in range(tries - 1):  # another program may have ended it; if the request did, it ends again
                with suppress(BrokenError):
                    return await self._ask_once(request, answer)
            return await self._ask_once(request, answer)

    async def _ask_once(self, request: bytes, answer: Callable[[asyncio.StreamReader], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(TIMEOUT):
                if (
                    self._process is None
                    or self._process.returncode is not None
                    or self._requests % _MOST_REQUESTS == 0
                ):
                    await self._start()
                assert self._process is not None
                assert self._process.stdin is not None
                assert self._process.stdout is not None
                self._process.stdin.write(request)
                return await answer(self._process.stdout)
        except TimeoutError:
            await self._stop()
            what = f"`git {shorten(' '.join(self._command))}` took longer than {TIMEOUT:g} s"
            raise PortError(what, retryable=True, code="git.failed") from None
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            await self._stop()
            raise BrokenError from None
        except BaseException:  # the next caller must not get the rest of this answer
            await self._stop()
            raise

    async def _start(self) -> None:
        await self._stop()
        try:
            process = self._process = await _start_git(self._command, self._cwd, self._env, stdin=PIPE, stderr=DEVNULL)
        except OSError as error:
            raise PortError(f"git cannot be run: {error}", retryable=True, code="git.failed") from None

        async def keep() -> None:
            """End the process after an idle timeout, and at the latest with its event loop."""
            try:
                asked = -1
                while asked != self._requests or self._lock.locked():
                    asked = self._requests
                    await asyncio.sleep(_IDLE)
            finally:
                if self._process is process:
                    self._process = None
                assert process.stdin is not None
                process.stdin.close()
                await end_process(process)
                with suppress(BrokenPipeError, ConnectionResetError):
                    await process.stdin.wait_closed()

        self._keeper = asyncio.create_task(keep())

    async def _stop(self) -> None:
        if self._keeper is not None and self._process is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        self._keeper, self._process = None, None


# Read and write objects through long-lived git processes: starting one costs more than the request itself.

_READING: Final = ("cat-file", "--batch", "-z")
_WRITING: Final = ("hash-object", "-w", "--no-filters", "--stdin-paths", "-t")

Kind = Literal["blob", "tree", "commit"]


class Object(msgspec.Struct, frozen=True):
    """An object as git keeps it."""

    id: str
    kind: str
    data: bytes


class Objects:
    """The objects of a repository, resolved by the refs of one of its git folders (`own`)."""

    def __init__(self, own: Path, objects: Path) -> None:
        env = {"GIT_DIR": str(own), "GIT_OBJECT_DIRECTORY": str(objects)}
        self._reading = GitService(_READING, own, env)
        self._writing = {kind: GitService((*_WRITING, kind), own, env) for kind in get_args(Kind)}

    async def read(self, names: Sequence[str]) -> list[Object | None]:
        """Return objects by name (id, ref, `commit:path`), None for those that do not exist.

        Raise a `PortError` if they are too large in all, or git does not answer.
        """
        if invalid := [name for name in names if "\0" in name or "\n" in name]:
            raise PortError(f"git has no object {shorten(invalid[0])!r}", code="git.no_object")

        async def read_objects(stream: asyncio.StreamReader) -> list[Object | None]:
            found: list[Object | None] = []
            left = OUTPUT_LIMIT
            for _ in names:
                match (await stream.readuntil(b"\n")).split():
                    case [*_, b"missing" | b"ambiguous"]:
                        found.append(None)
                    case [id_, kind, size]:
                        left -= int(size)
                        if left < 0:
                            raise PortError(
                                f"the object {id_.decode()} has {int(size)} bytes, which is too much",
                                code="git.too_large",
                            )
                        data = await stream.readexactly(int(size) + 1)
                        found.append(Object(id_.decode(), kind.decode(), data[:-1]))
                    case _:
                        raise BrokenError
            return found

        request = b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names)
        try:
            return await self._reading.ask(request, read_objects)
        except BrokenError:
            named = shorten(", ".join(names))
            raise PortError(f"git could not read {named}; `git fsck` shows the damage", code="git.damaged") from None

    async def write(self, kind: Kind, contents: Sequence[bytes]) -> list[str]:
        """Store objects in git's own format and return their ids; raise `BrokenError` if git rejects one."""

        async def ids(stream: asyncio.StreamReader) -> list[str]:
            return [(await stream.readuntil(b"\n")).decode().strip() for _ in contents]

        with temporary_folder("objects") as folder:
            paths = [Path(folder, str(number)) for number in range(len(contents))]

            def write_files() -> None:
                for path, data in zip(paths, contents, strict=True):
                    path.write_bytes(data)

            await asyncio.to_thread(write_files)
            return await self._writing[kind].ask("".join(f"{path}\n" for path in paths).encode(), ids)
