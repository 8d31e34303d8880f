"""A git process that answers one question after the other; ended when nobody has asked for a while."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from treadle.errors import PortError
from treadle.git.process import PATIENCE, end, environment, hardened, shorten

T = TypeVar("T")
_IDLE: Final = 2.0
_LONGEST_LINE: Final = 1 << 16
_ANSWERS: Final = 1000
"""After so many, another one takes its place: git remembers what it has seen."""


class BrokenError(Exception):
    """The process has ended, or says what nobody can read."""


class Servant:
    """Starts its process when it is asked, and another one if that is gone."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._command, self._cwd, self._env = command, cwd, env
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._asked = 0

    async def ask(self, question: bytes, answer: Callable[[asyncio.StreamReader], Awaitable[T]], tries: int = 2) -> T:
        """What it says to a question; a `BrokenError` if it ends over it, each time that it is tried.

        A `PortError` if git cannot be started, or takes too long.
        """
        async with self._lock:
            self._asked += 1
            for _ in range(tries - 1):  # somebody may have ended it; if it was the question, it ends again
                with suppress(BrokenError):
                    return await self._answered(question, answer)
            return await self._answered(question, answer)

    async def _answered(self, question: bytes, answer: Callable[[asyncio.StreamReader], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(PATIENCE):
                process = await self._running()
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(question)
                return await answer(process.stdout)
        except TimeoutError:
            await self._drop()
            what = f"`git {shorten(' '.join(self._command))}` took longer than {PATIENCE:g} s"
            raise PortError(what, retryable=True, code="git.failed") from None
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            await self._drop()
            raise BrokenError from None
        except BaseException:  # whoever asks next must not get the rest of this answer
            await self._drop()
            raise

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None or self._asked % _ANSWERS == 0:
            await self._drop()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *hardened(self._command),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    cwd=self._cwd,
                    env=environment(self._env),
                    start_new_session=True,
                    limit=_LONGEST_LINE,
                )
            except OSError as error:
                raise PortError(f"git cannot be run: {error}", retryable=True, code="git.failed") from None
            self._keeper = asyncio.create_task(self._keep(self._process))
        return self._process

    async def _keep(self, process: asyncio.subprocess.Process) -> None:
        """End it after a quiet while, and at the latest with the loop that it was started in."""
        try:
            asked = -1
            while asked != self._asked or self._lock.locked():
                asked = self._asked
                await asyncio.sleep(_IDLE)
        finally:
            if self._process is process:
                self._process = None
            await _close(process)

    async def _drop(self) -> None:
        if self._keeper is not None and self._process is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        self._keeper, self._process = None, None


async def _close(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await end(process)
    with suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()
