"""Turn an agent's lane into a commit of Treadle's own, byte for byte, trusting nothing in the lane."""

import asyncio
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.files import LARGE, LaneContents, LaneFinding, scan, temporary_folder
from treadle.git.generated import generated_entries
from treadle.git.globs import naming
from treadle.git.repository import NOT_RECORDED, Repository
from treadle.git.slots import WorkSlot
from treadle.git.trees import PathChange, TreeListing, Trees

ACTIVITY: Final = "Treadle-Activity"
"""The trailer of a commit message that names the activity."""


class LaneTree(msgspec.Struct, frozen=True):
    """A lane's tree, and findings about files that could not be part of it."""

    tree: str
    findings: tuple[LaneFinding, ...]


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """An activity's work as a commit."""

    commit: str
    tree: str
    base: str
    """The commit at which the agent got the lane."""
    changed: tuple[PathChange, ...]
    findings: tuple[LaneFinding, ...] = ()
    moved: tuple[str, ...] = ()
    """Refs of the run that another program moved; Treadle has put them back."""
    around: tuple[str, ...] = ()
    """Changes in the user's repository meanwhile, by any program or person."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All touched paths, including both ends of a rename."""
        return tuple(dict.fromkeys(path for change in self.changed for path in change.touched))


class Recorder:
    """Writes the contents of slots as trees."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.trees = Trees(repository)
        self._last: dict[Path, tuple[tuple[object, ...], str]] = {}
        """The last tree of each slot, after its inputs: base, hidden, generated, and the stamp of its index."""

    async def take(self, slot: WorkSlot, base: str, hidden: Iterable[str] = (), generated: str = "") -> LaneTree:
        """Return the tree of a slot that was filled from `base` without the hidden files, and with generated files.

        Generated files are never part of it, even if the agent has removed them from `.gitignore`.
        """
        if slot.path.is_symlink() or not slot.path.is_dir():
            raise PortError(
                f"the lane {slot.path} is gone, or something else stands in its place",
                retryable=True,
                code="git.no_lane",
            )
        listing, globs = await self.trees.listing(base), tuple(hidden)
        copied = await generated_entries(self._repository, generated) if generated else ()
        not_taken = {entry.path for entry in copied} - listing.files
        try:
            contents = await asyncio.to_thread(scan, slot.path, listing.files)
            taken = await self._write(slot, listing, globs, contents, not_taken)
        except PortError as error:
            if error.retryable:
                raise
            # Git stumbled over a file, maybe an unreadable one that the quick scan counted as known: look at all.
            contents = await asyncio.to_thread(scan, slot.path)
            taken = await self._write(slot, listing, globs, contents, not_taken)
        self._last[slot.path] = (base, globs, generated, _stamp(slot.taken)), taken.tree
        return taken

    async def current_tree(self, slot: WorkSlot, base: str, hidden: Iterable[str] = (), generated: str = "") -> str:
        """Return the same tree without findings; cheap if the slot has not changed since the last `take`."""
        globs = tuple(hidden)
        inputs, tree = self._last.get(slot.path, ((), ""))
        if inputs == (base, globs, generated, _stamp(slot.taken)):
            words = ("ls-files", "--modified", "--others", "--exclude-standard", "-z")
            if not (await self._repository.git(*words, index=slot.taken, files=slot.path)).out:
                return tree
        return (await self.take(slot, base, globs, generated)).tree

    async def _write(
        self,
        slot: WorkSlot,
        listing: TreeListing,
        hidden: tuple[str, ...],
        contents: LaneContents,
        not_taken: Collection[str],
    ) -> LaneTree:
        """Write a slot's contents as a tree: without irregular files, with hidden files and submodules of its base."""
        modules = [entry.path for entry in listing.submodules]
        findings = [*contents.findings]
        for path, size in contents.files.items():
            if size > LARGE and path not in listing.files:
                findings.append(LaneFinding("large", path, f"{size} bytes; the limit is {LARGE}"))
        used = [one for one in modules if any(file.startswith(f"{one}/") or file == one for file in contents.files)]
        findings += [LaneFinding("submodule", one, "the contents of a submodule are not taken") for one in used]

        left_out = [*NOT_RECORDED, *modules]
        for finding in findings:
            # `git add` refuses a path inside a submodule, and a link out of the lane is recorded as the link it is.
            inside = any(finding.path.startswith(f"{module}/") for module in modules)
            if finding.kind not in ("link", "submodule") and not inside:
                folder = finding.path.rpartition("/")[0]
                is_nested = finding.kind == "repository" and folder and folder not in listing.folders
                left_out.append(folder if is_nested else finding.path)  # all of a repository that the agent put here
        # Only those that are there: git refuses a path that leads over a link.
        left_out += [path for path in not_taken if path in contents.files]

        is_hidden = naming(hidden)
        entries = listing.entries if hidden else ()
        absent = [one for one in entries if is_hidden(one.path) and one.path not in contents.files]

        def keep_index() -> None:
            # To a new file: its inode tells `current_tree` that no other program has rewritten it since.
            slot.taken.unlink(missing_ok=True)
            shutil.copy2(index, slot.taken)

        with temporary_folder("index") as folder_of_index:
            # A copy of the index that filled the slot knows which files are untouched since. It needs the time of the
            # original, too: git reads every file again that may have changed since the index was written.
            index = Path(folder_of_index, "index")
            with writing(index):
                await asyncio.to_thread(shutil.copy2, slot.index, index)
            paths = [".", *(f":(exclude,top,literal){path}" for path in dict.fromkeys(left_out))]
            stdin = b"".join(path.encode(errors="surrogateescape") + b"\0" for path in paths)
            words = ("add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul")
            # 1: git has added everything, but warns that a path to leave out is ignored as well
            await self._repository.git(*words, stdin=stdin, index=index, files=slot.path, ok=(0, 1))
            with writing(slot.taken):
                await asyncio.to_thread(keep_index)
            await self.trees.add_to_index(index, [*absent, *listing.submodules])
            tree = (await self._repository.git("write-tree", index=index)).text
        return LaneTree(tree, tuple(findings))

    async def commit(self, taken: LaneTree, act: str, base: str, onto: str, at: int, message: str = "") -> Checkpoint:
        """Create a commit with a tree; the same arguments give the same commit."""
        text = f"{message.strip() or f'work of {act}'}\n\n{ACTIVITY}: {act}\n"
        commit = await self._repository.commit(taken.tree, (onto,), text, at)
        changed = tuple(await self.trees.changes(base, commit))
        return Checkpoint(commit=commit, tree=taken.tree, base=base, changed=changed, findings=taken.findings)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a stamp that no program can restore after a file is rewritten; empty if the file is missing."""
    try:
        state = path.lstat()
    except OSError:
        return ()
    return state.st_ino, state.st_size, state.st_ctime_ns
