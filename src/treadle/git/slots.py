"""Folders to work in, used again and again: making one anew costs much more than changing what is in it."""

import asyncio
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.folders import held
from treadle.git.own_folder import own_config, put, write_git_folder
from treadle.git.repository import Repository
from treadle.git.scan import has_files
from treadle.git.trees import Listing, Trees

_USER: Final = "[user]\n\tname = Agent\n\temail = agent@localhost\n[gc]\n\tauto = 0\n"


class Slot(msgspec.Struct, frozen=True):
    """A folder, and beside it (out of its reach) our index of what we put there."""

    path: Path

    @property
    def index(self) -> Path:
        return self.path.with_name(f"{self.path.name}.index")

    @property
    def taken(self) -> Path:
        """The index with which its tree was taken last."""
        return self.path.with_name(f"{self.path.name}.taken")


class Contents(msgspec.Struct, frozen=True):
    """What is to lie in a slot: a tree, and the commit and branch that its own git folder shows."""

    tree: str
    commit: str
    branch: str = "refs/heads/work"
    alone: bool = False
    """Its git folder shares no objects: what is not in the tree cannot be had from it."""


class Slots:
    """Fills slots. Nothing that lies in one is believed: not its git folder, not its links, not its attributes."""

    def __init__(self, repository: Repository, trees: Trees) -> None:
        self._repository, self._trees = repository, trees

    async def fill(self, slot: Slot, contents: Contents) -> None:
        """Make a slot hold exactly a tree, with a git folder of its own in which no ref of the user's exists."""
        listing = await self._trees.listing(contents.tree)
        with writing(slot.path):
            await asyncio.to_thread(_tidy, slot, listing)
        await self._check_out(slot, contents.tree)
        await self.refresh(slot, contents)

    async def refresh(self, slot: Slot, contents: Contents) -> None:
        """Give a slot a new git folder; its files stay."""
        config = own_config(self._repository.form) + _USER
        with writing(slot.path):
            await asyncio.to_thread(_make_git_folder, slot, contents, config, self._repository)
        if contents.alone:
            await self._pack(slot, contents.commit)

    async def _check_out(self, slot: Slot, tree: str) -> None:
        words = ("read-tree", "--reset", "-u", tree)
        try:
            await self._repository.git(*words, index=slot.index, files=slot.path)
        except PortError:  # an index that was cut off in the middle of being written; it only saves time
            slot.index.unlink(missing_ok=True)
            await self._repository.git(*words, index=slot.index, files=slot.path)

    async def _pack(self, slot: Slot, commit: str) -> None:
        said = await self._repository.git("rev-list", "--objects", "--no-object-names", "-n", "1", commit)
        target = slot.path / ".git" / "objects" / "pack" / "pack"
        with writing(target.parent):
            await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
        await self._repository.git("pack-objects", "-q", str(target), stdin=said.out)


def _tidy(slot: Slot, listing: Listing) -> None:
    """Remove all that is not in a tree. What is, git itself puts right, for it looks at every file's state."""
    _make_plain_folder(slot.path)
    slot.index.with_name(f"{slot.index.name}.lock").unlink(missing_ok=True)  # of a process that was killed
    _sweep(str(slot.path), "", listing.files, listing.folders)


def _sweep(folder: str, prefix: str, files: frozenset[str], folders: frozenset[str]) -> None:
    """What lies in a submodule's place is in no tree either; git makes the empty folder again."""
    mode = stat.S_IRWXU | 0o055
    if stat.S_IMODE(os.lstat(folder).st_mode) != mode:
        os.chmod(folder, mode)  # noqa: PTH101 - strings: this is done for every folder of a large tree
    found = held(folder, prefix)
    for path in found.files - files - {".git"}:
        remove(Path(folder, path.removeprefix(prefix)))
    for name in found.folders:
        if prefix + name in folders:
            _sweep(f"{folder}/{name}", f"{prefix}{name}/", files, folders)
        elif prefix + name != ".git":
            remove(Path(folder, name))


def remove(path: Path) -> None:
    """Delete whatever it is; links are not followed, and what was made unwritable is made writable first."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for folder, names, _ in os.walk(path):
        for name in (".", *names):
            inner = Path(folder, name)
            if not inner.is_symlink():
                with suppress(OSError):
                    inner.chmod(stat.S_IRWXU)
    shutil.rmtree(path)


def _make_plain_folder(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        path.unlink()
    path.mkdir(parents=True, exist_ok=True)


def _make_git_folder(slot: Slot, contents: Contents, config: str, repository: Repository) -> None:
    folder = slot.path / ".git"
    remove(folder)
    write_git_folder(folder, config, f"ref: {contents.branch}\n")
    branch = folder / contents.branch
    branch.parent.mkdir(parents=True, exist_ok=True)
    put(branch, f"{contents.commit}\n")
    if not contents.alone:
        put(folder / "objects" / "info" / "alternates", f"{repository.objects}\n")
        if (repository.own / "shallow").is_file():
            shutil.copyfile(repository.own / "shallow", folder / "shallow")
    (folder / "info").mkdir(exist_ok=True)
    shutil.copyfile(repository.own / "info" / "exclude", folder / "info" / "exclude")
    # With its time: git compares it with the files' to see which of them it has to read.
    shutil.copy2(slot.index, folder / "index")


def is_as_left(slot: Slot) -> bool:
    """Whether a slot is a plain folder with anything in it."""
    return not slot.path.is_symlink() and slot.path.is_dir() and has_files(slot.path)
