"""The one place that moves refs: compare-and-swap, one writer at a time, patient with other programs' locks."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.repository import Repository
from treadle.git.servant import BrokenError, Servant

NOTHING: Final = ""
"""The value of a ref that does not exist."""
_MOVING: Final = ("update-ref", "--stdin", "-z", "--no-deref")
_TRIES: Final = 40
_PAUSE: Final = 0.05
_OLD: Final = 60.0
"""Seconds after which a lock on one of our refs is nobody's."""
LOOSE: Final = 400
"""New refs after which git packs them: a file for each makes looking through all of them slow."""


class Moved(msgspec.Struct, frozen=True):
    """A ref of ours that somebody else has moved."""

    ref: str
    ours: str
    found: str


class Refs:
    """The refs of one repository. What this process wrote or found is remembered: a stranger's move is noticed."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = asyncio.Lock()
        self._moving = Servant((f"--git-dir={repository.folder}", *_MOVING), repository.own, {})
        self._written: dict[str, str] = {}
        self._packed = 0

    async def get(self, ref: str) -> str:
        """The commit of a ref; empty if there is none."""
        [found] = await self._repository.named.read([f"{ref}^0"])
        return found.id if found else NOTHING

    async def all_of(self, refs: Sequence[str]) -> dict[str, str]:
        """Those of some refs that exist, and their commits."""
        objects = await self._repository.named.read(refs)
        found = {ref: one.id for ref, one in zip(refs, objects, strict=True) if one}
        # If a ref does not exist, git looks for its name among the tags and branches, where anybody may have put it.
        is_known = all(self._written.get(ref) == value for ref, value in found.items())
        return found if is_known else await self.below(*refs)

    async def below(self, *spaces: str) -> dict[str, str]:
        """All refs below some places (`refs/treadle/x/`), and their commits."""
        wanted = [space.rstrip("/") for space in spaces]
        said = await self._repository.refs("for-each-ref", "--format=%(objectname) %(refname)", *wanted)
        lines = (line.split(" ", 1) for line in said.text.splitlines())
        return {ref: value for value, ref in lines}

    async def checked_out(self) -> set[str]:
        """The branches that some worktree of the user's is on."""
        said = await self._repository.refs("for-each-ref", "--format=%(refname) %(worktreepath)", "refs/heads")
        lines = (line.partition(" ") for line in said.text.splitlines())
        return {ref for ref, _, path in lines if path}

    async def swap(self, ref: str, new: str, old: str) -> bool:
        """Move a ref if it still is at `old`; True as well if it is at `new` already."""
        async with self._lock:
            if await self._swap(ref, new, old):
                self._written[ref] = new
                return True
            return False

    async def put(self, ref: str, new: str) -> None:
        """Move a ref of ours, wherever it is."""
        await self.put_all({ref: new})

    async def put_all(self, values: Mapping[str, str], expected: Mapping[str, str] | None = None) -> None:
        """Move several refs of ours together; an empty value deletes. Nothing moves if one is not as expected."""
        if not values:
            return
        lines = [_line(ref, new, (expected or {}).get(ref)) for ref, new in values.items()]
        async with self._lock:
            await self._change("".join(lines), values)
            self._written |= values
            await self._pack()

    async def delete(self, *refs: str) -> None:
        """Refs that are no longer needed; harmless if they are gone."""
        await self.put_all(dict.fromkeys(refs, NOTHING))

    async def know(self, *spaces: str) -> None:
        """Take what refs of ours are at as written by us, where this process has not written them itself."""
        async with self._lock:
            self._written = await self.below(*spaces) | self._written

    async def moved(self, *spaces: str) -> list[Moved]:
        """Put back what strangers did to refs that this process wrote or knows, and tell."""
        async with self._lock:
            ours = {ref: value for ref, value in self._written.items() if ref.startswith(spaces)}
            found = await self.below(*spaces)
            strays = [
                Moved(ref, value, found.get(ref, "")) for ref, value in ours.items() if found.get(ref, "") != value
            ]
            if strays:
                await self._change("".join(_line(one.ref, one.ours) for one in strays), {})
            return strays

    async def _pack(self) -> None:
        """Let git pack what has come together; whoever else uses the repository is not in the way, or it waits."""
        if len(self._written) - self._packed >= LOOSE:
            self._packed = len(self._written)
            with suppress(PortError):
                await self._repository.refs("pack-refs", "--all")

    async def _swap(self, ref: str, new: str, old: str) -> bool:
        found = await self.get(ref)
        if found == new:
            return True
        if found != old:
            return False
        try:
            await self._change(_line(ref, new, old), {})
        except PortError as error:
            if "but expected" in str(error) or "reference already exists" in str(error):
                return await self.get(ref) == new
            raise
        return True

    async def _change(self, change: str, values: Mapping[str, str]) -> None:
        """Move refs, all or none; `values` are theirs afterwards."""
        try:
            await self._moving.ask(f"start\0{change}prepare\0commit\0".encode(), _committed, tries=1)
            return
        except BrokenError:
            pass  # it was ended, or the change is none; git tells why, asked alone
        try:
            await self._patiently(change)
        except PortError:
            if not values or {ref: await self.get(ref) for ref in values} != values:
                raise

    async def _patiently(self, change: str) -> None:
        for left in reversed(range(_TRIES)):
            try:
                await self._repository.refs(*_MOVING, stdin=change.encode())
                return
            except PortError as error:
                if not error.retryable or not left:
                    raise
                await asyncio.to_thread(_break_old_locks, self._repository.folder, change)
                await asyncio.sleep(_PAUSE)


async def _committed(stream: asyncio.StreamReader) -> None:
    for word in (b"start", b"prepare", b"commit"):
        if await stream.readuntil(b"\n") != word + b": ok\n":
            raise BrokenError


def _break_old_locks(folder: Path, change: str) -> None:
    """Locks on refs of ours that a machine left behind when it went down; nobody holds one that long."""
    for word in change.split("\0"):
        ref = word.rpartition(" ")[2]
        if ref.startswith("refs/"):
            lock = folder / f"{ref}.lock"
            with suppress(OSError):
                if time.time() - lock.lstat().st_mtime > _OLD:
                    lock.unlink()


def _line(ref: str, new: str, old: str | None = None) -> str:
    """One change as `git update-ref --stdin -z` takes it; `old` is what it must be at, empty: it must not exist."""
    if not new:
        return f"delete {ref}\0{old or ''}\0"
    must = "" if old is None else old or "0" * len(new)
    return f"update {ref}\0{new}\0{must}\0"
