"""Slots: reusable work folders, because creating one costs much more than changing one.

A lease is a file beside a slot that names its lane; while it exists, no other lane gets the slot.
"""

import asyncio
import fcntl
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Final

import msgspec

from treadle.errors import PortError, writing
from treadle.git.files import has_files, list_folder
from treadle.git.generated import generated_entries, write_copies
from treadle.git.globs import naming
from treadle.git.repository import Repository, own_config, write_at_once, write_git_folder
from treadle.git.trees import Trees

_USER: Final = "[user]\n\tname = Agent\n\temail = agent@localhost\n[gc]\n\tauto = 0\n"


class WorkSlot(msgspec.Struct, frozen=True):
    """A folder, and beside it (out of its reach) the index of the files that Treadle put there."""

    path: Path

    @property
    def index(self) -> Path:
        return self._beside("index")

    @property
    def taken(self) -> Path:
        """The index from which the slot's last tree was written."""
        return self._beside("taken")

    @property
    def note(self) -> Path:
        """The file with its lease."""
        return self._beside("json")

    @property
    def lock(self) -> Path:
        """The file that a check locks while it uses the slot."""
        return self._beside("lock")

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{ending}")


class SlotContents(msgspec.Struct, frozen=True):
    """The contents for a slot: a tree, and the commit and branch that its own git folder shows."""

    tree: str
    commit: str
    branch: str = "refs/heads/work"
    alone: bool = False
    """Its git folder shares no objects, so files outside the tree cannot be read from it."""
    generated: str = ""
    """The tree of the generated files to copy in; git does not know them there."""
    hidden: tuple[str, ...] = ()
    """Globs of the generated files to leave out."""


class Slots:
    """Fills slots, and trusts nothing in them: not the git folder, not links, not attributes."""

    def __init__(self, repository: Repository, trees: Trees) -> None:
        self._repository, self._trees = repository, trees

    async def fill(self, slot: WorkSlot, contents: SlotContents) -> None:
        """Make a slot contain exactly a tree and generated files; its git folder has none of the user's refs."""
        listing = await self._trees.listing(contents.tree)

        def tidy() -> None:
            if slot.path.is_symlink() or (slot.path.exists() and not slot.path.is_dir()):
                slot.path.unlink()
            slot.path.mkdir(parents=True, exist_ok=True)
            slot.index.with_name(f"{slot.index.name}.lock").unlink(missing_ok=True)  # of a process that was killed
            _sweep(str(slot.path), "", listing.files, listing.folders)

        with writing(slot.path):
            await asyncio.to_thread(tidy)
        # Git restores the tracked files: it compares the state of every file with the index, so it writes few of them.
        words = ("read-tree", "--reset", "-u", contents.tree)
        try:
            await self._repository.git(*words, index=slot.index, files=slot.path)
        except PortError:  # a crash cut off the index while it was being written; it only saves time
            slot.index.unlink(missing_ok=True)
            await self._repository.git(*words, index=slot.index, files=slot.path)
        if contents.generated:
            is_hidden = naming(contents.hidden)
            entries = await generated_entries(self._repository, contents.generated)
            others = [one for one in entries if one.path not in listing.files and not is_hidden(one.path)]
            await write_copies(self._repository, slot.path, others)
        await self.refresh(slot, contents)

    async def refresh(self, slot: WorkSlot, contents: SlotContents) -> None:
        """Give a slot a new git folder, and keep its files."""
        own, objects = self._repository.own, self._repository.objects
        folder = slot.path / ".git"

        def make_git_folder() -> None:
            remove_path(folder)
            write_git_folder(folder, own_config(self._repository.form) + _USER, f"ref: {contents.branch}\n")
            branch = folder / contents.branch
            branch.parent.mkdir(parents=True, exist_ok=True)
            write_at_once(branch, f"{contents.commit}\n")
            if not contents.alone:
                write_at_once(folder / "objects" / "info" / "alternates", f"{objects}\n")
                if (own / "shallow").is_file():
                    shutil.copyfile(own / "shallow", folder / "shallow")
            (folder / "info").mkdir(exist_ok=True)
            shutil.copyfile(own / "info" / "exclude", folder / "info" / "exclude")
            # With its time: git compares it with the files' to see which of them it has to read.
            shutil.copy2(slot.index, folder / "index")

        with writing(slot.path):
            await asyncio.to_thread(make_git_folder)
        if contents.alone:  # it shares no objects, so it gets a pack with those of its one commit
            words = ("rev-list", "--objects", "--no-object-names", "-n", "1", contents.commit)
            listed = await self._repository.git(*words)
            target = folder / "objects" / "pack" / "pack"
            with writing(target.parent):
                await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
            await self._repository.git("pack-objects", "-q", str(target), stdin=listed.out)


def _sweep(folder: str, prefix: str, files: frozenset[str], folders: frozenset[str]) -> None:
    """Remove untracked files and folders, also inside a submodule; git recreates its empty folder."""
    mode = stat.S_IRWXU | 0o055
    if stat.S_IMODE(os.lstat(folder).st_mode) != mode:
        os.chmod(folder, mode)  # noqa: PTH101 - strings: this is done for every folder of a large tree
    found = list_folder(folder, prefix)
    for path in found.files - files - {".git"}:
        remove_path(Path(folder, path.removeprefix(prefix)))
    for name in found.folders:
        if prefix + name in folders:
            _sweep(f"{folder}/{name}", f"{prefix}{name}/", files, folders)
        elif prefix + name != ".git":
            remove_path(Path(folder, name))


def remove_path(path: Path) -> None:
    """Delete a file, link or folder; do not follow links, and make unwritable folders writable first."""
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


def holds_files(slot: WorkSlot) -> bool:
    """Whether a slot is a plain folder that contains files."""
    return not slot.path.is_symlink() and slot.path.is_dir() and has_files(slot.path)


# Clean checkouts of a commit for checks: they contain only the commit's files and generated files.

_MOST_CHECKS: Final = 256


class Overlay(msgspec.Struct, frozen=True):
    """Files to lay over a checkout from another commit: frozen tests, their configuration."""

    commit: str
    globs: tuple[str, ...]


class Checkouts:
    """Slots for checks; a lock reserves each one and ends with its process, so a crash leaves none behind."""

    def __init__(self, repository: Repository, folder: Path, generated: str = "") -> None:
        """`generated`: the tree of the user's generated files, which every checkout gets."""
        self._repository, self._folder, self._generated = repository, folder, generated
        self._trees = Trees(repository)
        self._slots = Slots(repository, self._trees)

    def bringing(self, generated: str) -> "Checkouts":
        """Return the same slots, with generated files in the checkouts."""
        return Checkouts(self._repository, self._folder, generated) if generated else self

    @asynccontextmanager
    async def clean(self, commit: str, *overlays: Overlay) -> AsyncIterator[Path]:
        """Yield a folder with exactly a commit's files, overlaid with files of other commits, for this caller alone."""
        tree = await self._repository.tree(commit)
        for overlay in overlays:
            tree = await self._trees.overlaid(tree, overlay.commit, overlay.globs)
        slot, lock = await asyncio.to_thread(self._take)
        try:
            await self._slots.fill(slot, SlotContents(tree, commit, generated=self._generated))
            yield slot.path
        finally:
            os.close(lock)

    def _take(self) -> tuple[WorkSlot, int]:
        """Lock a free slot. The kernel drops the lock with its process, so no crash can leave a slot taken."""
        for n in range(1, _MOST_CHECKS):
            slot = WorkSlot(self._folder / f"check-{n}")
            with writing(slot.lock):
                self._folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(slot.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
            else:
                return slot, handle
        raise PortError(
            f"{_MOST_CHECKS} checks run at once in {self._folder}; wait for some to end",
            retryable=True,
            code="git.no_room",
        )


# Leases: a file beside each slot in use, which no other process can create while it exists.

MOST_LANES: Final = 4096


class SlotLease(msgspec.Struct, frozen=True, kw_only=True):
    """A slot's lease: its lane, and the activity that last got it. Without an activity, the contents are no
    activity's work.
    """

    run: str
    inst: str
    lane: str
    act: str = ""
    step: str = ""
    base: str = ""
    """The lane's commit at the start of the activity."""
    onto: str = ""
    """The parent commit of the activity's work; not the base while a conflict is being resolved."""
    hidden: tuple[str, ...] = ()
    alone: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        return self.run, self.inst, self.lane


_Note = tuple[tuple[int, ...], tuple[WorkSlot, SlotLease]]
"""A cached lease, with the stamp of its file."""


class SlotLeases:
    """The leases of a project's slots."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, _Note] = {}

    def all(self) -> list[tuple[WorkSlot, SlotLease]]:
        """Return every leased slot; read only the leases that were written since the last call."""
        try:
            with os.scandir(self._folder) as entries:
                notes = [entry for entry in entries if entry.name.startswith("lane-") and entry.name.endswith(".json")]
        except FileNotFoundError:
            return []
        read: dict[str, _Note] = {}
        for entry in sorted(notes, key=attrgetter("name")):
            with suppress(OSError, msgspec.DecodeError):
                stamp, known = _stamp(entry.stat(follow_symlinks=False)), self._read.get(entry.name)
                read[entry.name] = known if known and known[0] == stamp else (stamp, _read_note(Path(entry.path)))
        self._read = read
        return [leased for _, leased in read.values()]

    def find(self, run: str, act: str) -> tuple[WorkSlot, SlotLease] | None:
        """Return the slot that is leased to an activity."""
        return self._find(lambda one: one.run == run and one.act == act)

    def take(self, run: str, inst: str, lane: str) -> tuple[WorkSlot, SlotLease]:
        """Return the slot of a lane, or lease it a free one."""
        if found := self._find(lambda one: one.key == (run, inst, lane)):
            return found
        lease = SlotLease(run=run, inst=inst, lane=lane)
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            for n in range(1, MOST_LANES):
                slot = WorkSlot(self._folder / f"lane-{n}")
                note = slot.note
                if note.name in self._read or note.exists():
                    continue
                # A complete file appears under the note's name, or none: a link fails if another process was faster.
                draft = note.with_name(f".{note.name}.{os.getpid()}.{os.urandom(4).hex()}")
                try:
                    draft.write_bytes(msgspec.json.encode(lease))
                    os.link(draft, note)
                except FileExistsError:
                    continue
                finally:
                    draft.unlink(missing_ok=True)
                return slot, lease
        raise PortError(f"{self._folder} has no room for another lane; end some runs", code="git.no_room")

    def _find(self, is_wanted: Callable[[SlotLease], bool]) -> tuple[WorkSlot, SlotLease] | None:
        """Return the slot with a matching lease: a cached one if its file is unchanged, else any."""
        for name, (stamp, leased) in list(self._read.items()):
            if is_wanted(leased[1]):
                with suppress(OSError):
                    if _stamp((self._folder / name).lstat()) == stamp:
                        return leased
        return next((leased for leased in self.all() if is_wanted(leased[1])), None)

    def write(self, slot: WorkSlot, lease: SlotLease) -> None:
        """Write the lease of a slot."""
        note = slot.note
        with writing(note):
            write_at_once(note, msgspec.json.encode(lease).decode())
        with suppress(OSError, msgspec.DecodeError):
            self._read[note.name] = _stamp(note.lstat()), _read_note(note)

    def give_back(self, slot: WorkSlot) -> None:
        """Free a slot by removing its lease."""
        with writing(slot.note):
            slot.note.unlink(missing_ok=True)


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    """Return a stamp of a lease file; each write creates a new file."""
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read_note(note: Path) -> tuple[WorkSlot, SlotLease]:
    return WorkSlot(note.with_suffix("")), msgspec.json.decode(note.read_bytes(), type=SlotLease)
