"""The one place that moves refs: compare-and-swap, one writer at a time, with retries while other programs lock them.

The other parts pack the refs of a finished run into one, move refs of older versions to `refs/treadle/`, and refuse to
start a run whose branches would collide with the user's.
"""

import asyncio
import time
from collections.abc import Collection, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from treadle.errors import PortError
from treadle.git.process import BrokenError, GitService
from treadle.git.ref_names import RefNames, short_ref
from treadle.git.repository import Repository

NOTHING: Final = ""
"""The value of a ref that does not exist."""
_MOVING: Final = ("update-ref", "--stdin", "-z", "--no-deref")
_TRIES: Final = 40
_PAUSE: Final = 0.05
_OLD: Final = 60.0
"""Seconds after which a lock on one of our refs is stale."""
LOOSE: Final = 400
"""The number of new refs after which git packs them: one file for each makes listing slow."""


class Refs:
    """The refs of one repository. It remembers the values that this process wrote or read, and detects foreign
    moves.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = asyncio.Lock()
        self._moving = GitService((f"--git-dir={repository.folder}", *_MOVING), repository.own, {})
        self._written: dict[str, str] = {}
        self._packed = 0

    async def get(self, ref: str) -> str:
        """Return the commit of a ref; empty if it does not exist."""
        [found] = await self._repository.named.read([f"{ref}^0"])
        return found.id if found else NOTHING

    async def all_of(self, refs: Sequence[str]) -> dict[str, str]:
        """Return the existing ones of some refs, with their commits."""
        objects = await self._repository.named.read(refs)
        found = {ref: one.id for ref, one in zip(refs, objects, strict=True) if one}
        # If a ref does not exist, git looks for its name among tags and branches, where any program may have put it.
        is_known = all(self._written.get(ref) == value for ref, value in found.items())
        return found if is_known else await self.below(*refs)

    async def below(self, *spaces: str) -> dict[str, str]:
        """Return all refs below some prefixes (`refs/treadle/x/`), with their commits."""
        wanted = [space.rstrip("/") for space in spaces]
        answer = await self._repository.refs("for-each-ref", "--format=%(objectname) %(refname)", *wanted)
        lines = (line.split(" ", 1) for line in answer.text.splitlines())
        return {ref: value for value, ref in lines}

    async def checked_out(self) -> set[str]:
        """Return the branches that the user's worktrees have checked out."""
        answer = await self._repository.refs("for-each-ref", "--format=%(refname) %(worktreepath)", "refs/heads")
        lines = (line.partition(" ") for line in answer.text.splitlines())
        return {ref for ref, _, path in lines if path}

    async def swap(self, ref: str, new: str, old: str) -> bool:
        """Move a ref if it still is at `old`; return True as well if it is at `new` already."""
        async with self._lock:
            now = await self.get(ref)
            if now not in (new, old):
                return False
            if now != new:
                try:
                    await self._change(_change_line(ref, new, old), {})
                except PortError as error:
                    # Another process moved it between our look and our change; maybe to where we want it.
                    lost = "but expected" in str(error) or "reference already exists" in str(error)
                    if not lost:
                        raise
                    if await self.get(ref) != new:
                        return False
            self._written[ref] = new
            return True

    async def put(self, ref: str, new: str) -> None:
        """Move a ref of ours unconditionally."""
        await self.put_all({ref: new})

    async def put_all(self, values: Mapping[str, str], expected: Mapping[str, str] | None = None) -> None:
        """Move several refs of ours together; an empty value deletes. If one is not at its expected value, none
        moves.
        """
        if not values:
            return
        lines = [_change_line(ref, new, (expected or {}).get(ref)) for ref, new in values.items()]
        async with self._lock:
            await self._change("".join(lines), values)
            self._written |= values
            if len(self._written) - self._packed >= LOOSE:
                self._packed = len(self._written)
                with suppress(PortError):  # harmless, for example when another program has them locked
                    await self._repository.refs("pack-refs", "--all")

    async def delete(self, *refs: str) -> None:
        """Delete refs; harmless if they are gone."""
        await self.put_all(dict.fromkeys(refs, NOTHING))

    async def know(self, *spaces: str) -> None:
        """Trust the current values of our refs, except where this process has written them itself."""
        async with self._lock:
            self._written = await self.below(*spaces) | self._written

    async def restore_moved(self, *spaces: str) -> list[str]:
        """Restore the refs of ours that other programs moved, and return their names."""
        async with self._lock:
            ours = {ref: value for ref, value in self._written.items() if ref.startswith(spaces)}
            found = await self.below(*spaces)
            strays = [ref for ref, value in ours.items() if found.get(ref, "") != value]
            if strays:
                await self._change("".join(_change_line(ref, ours[ref]) for ref in strays), {})
            return strays

    async def _change(self, change: str, values: Mapping[str, str]) -> None:
        """Move refs, all or none; `values` are their expected values afterwards."""

        async def read_verdict(stream: asyncio.StreamReader) -> None:
            for word in (b"start", b"prepare", b"commit"):
                if await stream.readuntil(b"\n") != word + b": ok\n":
                    raise BrokenError

        # One try: a second one would refuse a change that the first has committed before its process ended.
        with suppress(BrokenError):
            await self._moving.ask(f"start\0{change}prepare\0commit\0".encode(), read_verdict, tries=1)
            return

        # The process was ended, or git refuses the change; asked alone, git says why. While another program holds a
        # lock, ask again.
        for left in reversed(range(_TRIES)):
            try:
                await self._repository.refs(*_MOVING, stdin=change.encode())
                return
            except PortError as error:
                if not error.retryable or not left:
                    if values and {ref: await self.get(ref) for ref in values} == values:
                        return  # the process had done it before it ended
                    raise
                await asyncio.to_thread(_break_old_locks, self._repository.folder, change)
                await asyncio.sleep(_PAUSE)


def _break_old_locks(folder: Path, change: str) -> None:
    """Remove stale locks on our refs, left by a machine that went down; no live process keeps one that long."""
    for word in change.split("\0"):
        ref = word.rpartition(" ")[2]
        if ref.startswith("refs/"):
            lock = folder / f"{ref}.lock"
            with suppress(OSError):
                if time.time() - lock.lstat().st_mtime > _OLD:
                    lock.unlink()


def _change_line(ref: str, new: str, old: str | None = None) -> str:
    """Format one change for `git update-ref --stdin -z`; `old` is the required value, empty: the ref must not exist."""
    if not new:
        return f"delete {ref}\0{old or ''}\0"
    must = "" if old is None else old or "0" * len(new)
    return f"update {ref}\0{new}\0{must}\0"


# The refs of a finished run, packed into one: a commit with all their commits as parents, and their names in its
# message.
#
# Git keeps every commit that a ref leads to, so a run of twenty activities would need eighty refs for ever. Packed,
# it needs one; no commit changes, and evidence and replays find each by its name.

_LINE: Final = "Treadle-Ref: "


async def refs_of_run(repository: Repository, refs: Refs, names: RefNames) -> dict[str, str]:
    """Return every ref of a run under its current name, including packed refs and those named by an older version."""
    found = await refs.below(*names.spaces, names.older)
    known = {new: value for old, value in found.items() if (new := names.name_after_move(old))}
    live = {ref: value for ref, value in found.items() if ref != names.packed and not names.name_after_move(ref)}
    return await _unpacked(repository, found.get(names.packed, "")) | known | live


async def pack_refs(repository: Repository, refs: Refs, names: RefNames, chosen: Mapping[str, str]) -> int:
    """Replace refs of a run by a single one, in one transaction; return by how many their number fell."""
    before = await refs.get(names.packed)
    if not chosen or names.packed in chosen:
        return 0
    every = await _unpacked(repository, before) | dict(chosen)
    start = every.get(names.start) or next(iter(every.values()))
    lines = "".join(f"{_LINE}{value} {ref}\n" for ref, value in sorted(every.items()))
    tree, at = await repository.tree(start), await repository.time(start)
    commit = await repository.commit(tree, tuple(sorted({*every.values()})), f"refs of {names.run}\n\n{lines}", at)
    gone = dict.fromkeys(chosen, "")
    await refs.put_all({names.packed: commit} | gone, {names.packed: before} | dict(chosen))
    return len(chosen) - (not before)


async def _unpacked(repository: Repository, commit: str) -> dict[str, str]:
    if not commit:
        return {}
    lines = (await repository.message(commit)).splitlines()
    pairs = (line.removeprefix(_LINE).partition(" ") for line in lines if line.startswith(_LINE))
    return {ref: value for value, _, ref in pairs}


# Move the branches of older versions (integration branches, lanes) to `refs/treadle/`.
#
# Git moves all refs of a run in one transaction, and writes new names before it removes old ones. After a crash, the
# next start finishes the move: a branch goes only when its commit is under the new name.


async def move_older_refs(
    repository: Repository, refs: Refs, names: RefNames, lanes: Container[str], *, dry: bool = False
) -> list[str]:
    """Move the branches of one run and return their old names; `lanes` are the slugs of its protocol's lanes.

    A branch that is checked out in a worktree is copied, and stays. Any other name below the run's place is the user's
    own.
    """
    there = await refs.below(names.older, names.spaces[1])
    if not any(names.name_after_move(ref) for ref in there):
        return []
    checked_out = await refs.checked_out()
    values: dict[str, str] = {}
    expected: dict[str, str] = {}
    for old, value in there.items():
        new = names.name_after_move(old)
        inst, _, name = old.removeprefix(names.older).partition("/")
        # An older version recorded the base of each instance before it made a branch.
        is_ours = f"{names.spaces[1]}inst/{inst}/base" in there and (name == "int" or name in lanes)
        if not new or not is_ours:
            continue
        now = there.get(new, "")
        if now in ("", value):
            values[new], expected[new] = value, now
        elif not await repository.is_ancestor(value, now):
            continue  # it contains commits that the new ref lacks: a person has to look at it
        if old not in checked_out:
            values[old], expected[old] = "", value
    moved = [ref for ref, value in values.items() if not value]
    if dry:
        return moved
    try:
        await refs.put_all(values, expected)
    except PortError:
        # Another process may have moved them between our look and our move; only refs that are left are a failure.
        if any(names.name_after_move(ref) in values for ref in await refs.below(names.older) if ref not in checked_out):
            raise
    return moved


# The user's branches that leave no room for those of runs: git allows no branch `x/y` beside a branch `x`.

_OWN: Final = "refs/treadle"


def blocking_refs(prefix: str) -> tuple[str, ...]:
    """Return the refs that must not exist for branches with this prefix."""
    parts = prefix.split("/")
    return (*(f"refs/heads/{'/'.join(parts[: end + 1])}" for end in range(len(parts))), _OWN)


def describe_blocking_ref(existing: Collection[str], prefix: str) -> tuple[str, str] | None:
    """Describe the first of the existing refs that blocks the prefix, with its remedy; None if none does."""
    ref = next((ref for ref in blocking_refs(prefix) if ref in existing), "")
    if ref == _OWN:
        return (
            f"the ref {ref} leaves no room for the refs of runs below it",
            f"`git update-ref -d {ref}` if you do not need it",
        )
    if ref:
        problem = f"the branch {short_ref(ref)} leaves no room for the branches of runs, {prefix}/…"
        return problem, "rename it, or set `git.branch_prefix` to a name that no branch has"
    return None


async def refuse_blocking_refs(refs: Refs, prefix: str) -> None:
    """Raise a `PortError` that names the user's branch that leaves no room for branches of runs."""
    if found := describe_blocking_ref(await refs.below(*blocking_refs(prefix)), prefix):
        problem, remedy = found
        raise PortError(f"{problem}: git keeps no branch below another; {remedy}", code="git.ref_taken")
