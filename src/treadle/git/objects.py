"""One git process that answers many questions about objects; ended when nobody has asked for a while."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.process import OUTPUT, PATIENCE, end, environment, hardened, shorten

_IDLE: Final = 2.0
_LONGEST_LINE: Final = 1 << 16
_COMMAND: Final = ("cat-file", "--batch", "-z")


class Object(msgspec.Struct, frozen=True):
    """An object as git keeps it."""

    id: str
    kind: str
    data: bytes


class _Broken(Exception):
    """The process has ended, or says what nobody can read."""


class Objects:
    """Reads objects, one question after the other."""

    def __init__(self, own: Path, objects: Path) -> None:
        self._own = own
        self._env = {"GIT_DIR": str(own), "GIT_OBJECT_DIRECTORY": str(objects)}
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._asked = 0

    async def read(self, names: Sequence[str], most: int = OUTPUT) -> list[Object | None]:
        """Objects by their names (ids, `commit:path`), None for those that do not exist.

        A `PortError` if they are too large in all, or git does not answer.
        """
        if unfit := [name for name in names if "\0" in name or "\n" in name]:
            raise PortError(f"git has no object {shorten(unfit[0])!r}")
        async with self._lock:
            self._asked += 1
            try:
                return await self._answered(names, most)
            except _Broken:  # somebody ended it; if it was the question, it ends again
                pass
            try:
                return await self._answered(names, most)
            except _Broken:
                named = shorten(", ".join(names))
                raise PortError(f"git could not read {named}; `git fsck` tells what is damaged") from None

    async def _answered(self, names: Sequence[str], most: int) -> list[Object | None]:
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._ask(await self._running(), names, most)
        except TimeoutError:
            await self._drop()
            raise PortError(f"git took longer than {PATIENCE:g} s to read objects", retryable=True) from None
        except BaseException:  # whoever asks next must not get the rest of this answer
            await self._drop()
            raise

    async def _ask(self, process: asyncio.subprocess.Process, names: Sequence[str], most: int) -> list[Object | None]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names))
        found: list[Object | None] = []
        for _ in names:
            one = await _answer(process.stdout, most)
            most -= len(one.data) if one else 0
            found.append(one)
        return found

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            await self._drop()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *hardened(_COMMAND),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    cwd=self._own,
                    env=environment(self._env),
                    start_new_session=True,
                    limit=_LONGEST_LINE,
                )
            except OSError as error:
                raise PortError(f"git cannot be run: {error}", retryable=True) from None
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


async def _answer(stream: asyncio.StreamReader, most: int) -> Object | None:
    try:
        match (await stream.readuntil(b"\n")).split():
            case [*_, b"missing" | b"ambiguous"]:
                return None
            case [id_, kind, size]:
                if int(size) > most:
                    raise PortError(f"the object {id_.decode()} has {int(size)} bytes, which is too much")
                data = await stream.readexactly(int(size) + 1)
                return Object(id_.decode(), kind.decode(), data[:-1])
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        raise _Broken from None
    raise _Broken


async def _close(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await end(process)
    with suppress(BrokenPipeError, ConnectionResetError):
        await process.stdin.wait_closed()
