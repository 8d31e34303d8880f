"""Turns what an agent left in a lane into a commit of the orchestrator's own, byte for byte, believing nothing."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.globs import naming
from treadle.git.own_folder import NOT_RECORDED
from treadle.git.refs import Moved
from treadle.git.repository import Repository
from treadle.git.scan import LARGE, Finding, Found, scan
from treadle.git.slots import Slot
from treadle.git.trees import Change, Entry, Listing, Trees

ACTIVITY: Final = "Treadle-Activity"
"""The line of a commit's message that names whose work it is."""


class Taken(msgspec.Struct, frozen=True):
    """A lane's tree, and what in the lane could not be part of it."""

    tree: str
    findings: tuple[Finding, ...]


class _Last(msgspec.Struct, frozen=True):
    """What came of a slot last, from what, and what tells whether the index of it is still the same file."""

    base: str
    hidden: tuple[str, ...]
    tree: str
    stamp: tuple[int, ...]


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """An activity's work as a commit."""

    commit: str
    tree: str
    base: str
    """What the lane was at when the agent got it."""
    changed: tuple[Change, ...]
    findings: tuple[Finding, ...] = ()
    moved: tuple[Moved, ...] = ()
    """Refs of the run that somebody had moved; they are back where they were."""
    around: tuple[str, ...] = ()
    """What of the user's repository was changed meanwhile, by whomever."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that was touched, both ends of a renaming."""
        return tuple(dict.fromkeys(path for change in self.changed for path in change.touched))


class Recorder:
    """Takes trees out of slots."""

    def __init__(self, repository: Repository, large: int = LARGE) -> None:
        self._repository, self._large = repository, large
        self.trees = Trees(repository)
        self._last: dict[Path, _Last] = {}

    async def take(self, slot: Slot, base: str, hidden: Iterable[str] = ()) -> Taken:
        """The tree of a slot that was filled from `base` without what is hidden."""
        if slot.path.is_symlink() or not slot.path.is_dir():
            raise PortError(
                f"the lane {slot.path} is gone, or something else stands in its place",
                retryable=True,
                code="git.no_lane",
            )
        listing, globs = await self.trees.listing(base), tuple(hidden)
        try:
            found = await asyncio.to_thread(scan, slot.path, listing.files)
            taken = await self._taken(slot, listing, globs, found)
        except PortError as error:
            if error.retryable:
                raise
            # git stumbled over a file, maybe one that may not be read: look at all of them
            found = await asyncio.to_thread(scan, slot.path)
            taken = await self._taken(slot, listing, globs, found)
        self._last[slot.path] = _Last(base, globs, taken.tree, _stamp(slot.taken))
        return taken

    async def left(self, slot: Slot, base: str, hidden: Iterable[str] = ()) -> str:
        """The same tree without findings, at little cost if nothing was touched since it was taken."""
        globs, last = tuple(hidden), self._last.get(slot.path)
        if last and (last.base, last.hidden, last.stamp) == (base, globs, _stamp(slot.taken)):
            words = ("ls-files", "--modified", "--others", "--exclude-standard", "-z")
            if not (await self._repository.git(*words, index=slot.taken, files=slot.path)).out:
                return last.tree
        return (await self.take(slot, base, globs)).tree

    async def _taken(self, slot: Slot, listing: Listing, hidden: tuple[str, ...], found: Found) -> Taken:
        findings = [*found.odd, *self._large_ones(found, listing), *_inside_submodules(found, listing)]
        left_out = [*NOT_RECORDED, *_left_out(findings, listing)]
        absent = [one for one in _named(listing, hidden) if one.path not in found.files]
        async with self._index(slot) as index:
            await self._add(index, slot.path, left_out)
            with writing(slot.taken):
                await asyncio.to_thread(_copied, index, slot.taken)
            await self._put_back(index, [*absent, *listing.submodules])
            tree = (await self._repository.git("write-tree", index=index)).text
        return Taken(tree, tuple(findings))

    async def commit(self, taken: Taken, act: str, base: str, onto: str, at: int, message: str = "") -> Recorded:
        """One commit with a tree; the same for the same arguments."""
        text = f"{message.strip() or f'work of {act}'}\n\n{ACTIVITY}: {act}\n"
        commit = await self._repository.commit(taken.tree, (onto,), text, at)
        changed = tuple(await self.trees.changes(base, commit))
        return Recorded(commit=commit, tree=taken.tree, base=base, changed=changed, findings=taken.findings)

    async def without(self, commit: str, globs: Iterable[str]) -> str:
        """The tree of a commit without the files that globs name."""
        is_left_out = naming(globs)
        return await self._tree_of([one for one in await self.trees.entries(commit) if not is_left_out(one.path)])

    async def overlaid(self, commit: str, other: str, globs: Iterable[str]) -> str:
        """The tree of a commit, in which what globs name is as another commit has it."""
        is_wanted = naming(globs)
        below = [entry for entry in await self.trees.entries(commit) if not is_wanted(entry.path)]
        above = [entry for entry in await self.trees.entries(other) if is_wanted(entry.path)]
        return await self._tree_of([*below, *above])

    async def _tree_of(self, entries: list[Entry]) -> str:
        with tempfile.TemporaryDirectory(prefix="treadle-index-") as folder:
            index = Path(folder, "index")
            await self._put_back(index, entries)
            return (await self._repository.git("write-tree", index=index)).text

    @asynccontextmanager
    async def _index(self, slot: Slot) -> AsyncIterator[Path]:
        """A copy of the index that we filled the slot with: it knows which files have not been touched since."""
        with tempfile.TemporaryDirectory(prefix="treadle-index-") as folder:
            index = Path(folder, "index")
            with writing(index):
                # With its time: git reads every file again that may have changed since the index was written.
                await asyncio.to_thread(shutil.copy2, slot.index, index)
            yield index

    async def _add(self, index: Path, files: Path, left_out: list[str]) -> None:
        paths = [".", *(f":(exclude,top,literal){path}" for path in dict.fromkeys(left_out))]
        stdin = b"".join(path.encode(errors="surrogateescape") + b"\0" for path in paths)
        words = ("add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul")
        # 1: all is added, but one of the paths to leave out is ignored as well, which git thinks worth a complaint
        await self._repository.git(*words, stdin=stdin, index=index, files=files, ok=(0, 1))

    async def _put_back(self, index: Path, entries: list[Entry]) -> None:
        if entries:
            lines = "".join(f"{entry.mode} {entry.id}\t{entry.path}\0" for entry in entries)
            stdin = lines.encode(errors="surrogateescape")
            await self._repository.git("update-index", "-z", "--index-info", stdin=stdin, index=index)

    def _large_ones(self, found: Found, listing: Listing) -> list[Finding]:
        sizes = {path: size for path, size in found.files.items() if size > self._large and path not in listing.files}
        return [Finding("large", path, f"{size} bytes; the limit is {self._large}") for path, size in sizes.items()]


def _named(listing: Listing, globs: tuple[str, ...]) -> list[Entry]:
    is_named = naming(globs)
    return [entry for entry in listing.entries if is_named(entry.path)] if globs else []


def _copied(index: Path, to: Path) -> None:
    """A new file each time, with the index's own time."""
    to.unlink(missing_ok=True)
    shutil.copy2(index, to)


def _stamp(path: Path) -> tuple[int, ...]:
    """What nobody can set back once a file was written anew; nothing if there is none."""
    try:
        state = path.lstat()
    except OSError:
        return ()
    return state.st_ino, state.st_size, state.st_ctime_ns


def _inside_submodules(found: Found, listing: Listing) -> list[Finding]:
    modules = [entry.path for entry in listing.submodules]
    used = [path for path in modules if any(file.startswith(f"{path}/") or file == path for file in found.files)]
    return [Finding("submodule", path, "the contents of a submodule are not taken") for path in used]


def _left_out(findings: list[Finding], listing: Listing) -> list[str]:
    """The paths that git is not to look at; it refuses to be told about anything inside of a submodule."""
    modules = [entry.path for entry in listing.submodules]
    paths = [_whole(one, listing.folders) for one in findings if one.kind not in ("link", "submodule")]
    return [*modules, *(path for path in paths if not any(path.startswith(f"{module}/") for module in modules))]


def _whole(finding: Finding, tracked: Collection[str]) -> str:
    """A repository that somebody put into the lane is left out as a whole, folders of our own are not."""
    around = finding.path.rpartition("/")[0]
    return around if finding.kind == "repository" and around and around not in tracked else finding.path
