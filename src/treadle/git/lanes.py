"""Lanes: a folder for each lane of each instance, where one agent works, with a git folder of its own.

While an agent works, `Bystanders` watches the things it has no reason to change: the user's branches, settings, hooks
and files. The last parts remove a run's leftovers, and open the repository for one project.
"""

import asyncio
import fcntl
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git.checkpoint import Checkpoint, LaneTree, Recorder
from treadle.git.globs import naming
from treadle.git.integration import Integration
from treadle.git.ref_names import DEFAULT_PREFIX
from treadle.git.refs import Refs
from treadle.git.repository import Repository, open_repository
from treadle.git.slots import Checkouts, SlotContents, SlotLease, SlotLeases, Slots, WorkSlot, holds_files, remove_path
from treadle.git.trees import Trees, three_way
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Lane, Workspace

# The parts of the user's repository that an agent has no reason to change: branches, settings, hooks, files.
#
# An agent without a container has the user's rights, and the user may work at the same time. So a change proves
# nothing against the agent, but the evidence mentions it.

_REFS: Final = ("refs/heads/", "refs/tags/", "refs/replace/")
_SETTINGS: Final = (
    "HEAD",
    "config",
    "config.worktree",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "objects/info/alternates",
)
_OWN: Final = "own "
"""The prefix for the names of the user's files."""
_DIRTY, _NAMED = 5000, 3
_MOST: Final = 1_000_000
_FILES: Final = 500

Seen = Mapping[str, str]


class Bystanders:
    """Watches the user's repository around the lanes."""

    def __init__(self, repository: Repository, refs: Refs, prefix: str) -> None:
        self._repository, self._refs = repository, refs
        self._ours = (f"refs/heads/{prefix}/", "refs/treadle/")
        self.made: set[str] = set()
        """Globs of files of the user's tree that runs write themselves; runs report changes of those themselves."""

    async def look(self) -> Seen:
        """Return a snapshot of the user's refs, git settings, project settings and changed files: name → value."""
        settings = asyncio.to_thread(self._digest_settings)
        refs, files, work = await asyncio.gather(self._refs.below(*_REFS), settings, self._stamp_work())
        return {ref: value for ref, value in refs.items() if not ref.startswith(self._ours)} | files | work

    def _digest_settings(self) -> dict[str, str]:
        """Return a digest of each settings file and hook of git, and of the project's own settings."""
        root, folder = self._repository.root, self._repository.folder
        settings = (*(folder / name for name in _SETTINGS), root / "treadle.toml")
        paths = [path for path in settings if path.is_file()]
        paths += [path for path in _below(folder / "hooks") if path.suffix != ".sample"]
        paths += _below(root / ".treadle", but="local")
        found: dict[str, str] = {}
        for path in paths:
            name = path.relative_to(root) if path.is_relative_to(root) else path
            try:
                with path.open("rb") as file:
                    found[str(name)] = hashlib.sha256(file.read(_MOST)).hexdigest()
            except OSError as error:
                found[str(name)] = f"cannot be read: {error.strerror}"
        return found

    async def _stamp_work(self) -> dict[str, str]:
        """Return the user's uncommitted files, each with a stamp that changes with every write."""
        index, root = self._repository.work_folder / "index", self._repository.root
        words = ("ls-files", "--modified", "--others", "--exclude-standard", "-z")
        # Through Treadle's own git folder: with the user's settings, git would start the user's filters.
        answer = await self._repository.git(*words, index=index, files=root, ok=(0, 128))
        is_made = naming(self.made)
        listed = set(os.fsdecode(answer.out).split("\0")[:-1]) if answer.code == 0 else set()
        names = sorted(name for name in listed if not is_made(name))

        def stamp() -> dict[str, str]:
            outputs: set[tuple[int, int]] = set()
            for stream in (1, 2):  # this process writes there itself: `treadle run > log.txt`
                with suppress(OSError):
                    state = os.fstat(stream)
                    outputs.add((state.st_dev, state.st_ino))
            found: dict[str, str] = {}
            for name in names[:_DIRTY]:
                found[f"{_OWN}{name}"] = "gone"
                with suppress(OSError):
                    state = os.lstat(root / name)
                    is_ours = (state.st_dev, state.st_ino) in outputs
                    found[f"{_OWN}{name}"] = "" if is_ours else f"{state.st_ino} {state.st_size} {state.st_ctime_ns}"
            return found

        return await asyncio.to_thread(stamp)


def describe_changes(before: Seen, after: Seen) -> tuple[str, ...]:
    """Describe the differences between two snapshots, one sentence each."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    sentences: list[str] = []
    for name in names:
        if not name.startswith(_OWN):
            verb = "added" if name not in before else "removed" if name not in after else "changed"
            sentences.append(f"{name} was {verb}")
    # A settings file may be among the user's changed files as well; it is mentioned once.
    own = [bare for name in names if name != (bare := name.removeprefix(_OWN)) and bare not in names]
    if own:
        more = f" and {len(own) - _NAMED} more" if len(own) > _NAMED else ""
        sentences.append(f"the files {', '.join(own[:_NAMED])}{more} were changed")
    return tuple(sentences)


def _below(folder: Path, but: str = "") -> list[Path]:
    """List the files of a folder, up to a limit; follow no link."""
    found: list[Path] = []
    waiting = [folder]
    while waiting and len(found) < _FILES:
        here = waiting.pop()
        if here.is_symlink() or not here.is_dir():
            continue
        entries = [path for path in sorted(here.iterdir()) if here != folder or path.name != but]
        found += [path for path in entries if path.is_file()]
        waiting += [path for path in entries if path.is_dir()]
    return found[:_FILES]


class LaneRules(msgspec.Struct, frozen=True):
    """A step's rules for its lane."""

    keep_work: bool = False
    hidden: tuple[str, ...] = ()
    """Globs of the files hidden from the role."""
    alone: bool = False
    """Whether the lane gives no access to anything outside it, not even the user's objects."""


RulesOf = Callable[[State, RunAgent], LaneRules]


class Lanes(Workspace):
    """The lanes of a project: `ports.Workspace`, and further operations for checks and effects."""

    def __init__(self, integration: Integration, folder: Path, rules_of: RulesOf, recorder: Recorder) -> None:
        self.integration = integration
        self._leases = SlotLeases(folder)
        self._slots = Slots(integration.repository, recorder.trees)
        self._rules_of = rules_of
        self._recorder = recorder
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._bystanders = Bystanders(integration.repository, integration.refs, integration.prefix)
        self._handed: dict[tuple[str, str], tuple[SlotLease, Seen]] = {}
        """The leases that this process handed out, with a snapshot of the surroundings; the files may be forged."""

    def ignore_changes_to(self, globs: Iterable[str]) -> None:
        """Ignore changes to these files of the user's tree, because runs write them."""
        self._bystanders.made.update(globs)

    async def open(self, state: State, job: RunAgent) -> Lane:
        """Open the lane of an activity at the head of its instance, or with the work of the step's last attempt."""
        head = await self.integration.integrate(state, job.inst, job.id)
        rules = self._rules_of(state, job)
        async with self._locks[f"{state.run} {job.inst} {job.lane}"]:
            slot, before = await asyncio.to_thread(self._leases.take, state.run, job.inst, job.lane)
            # The leftovers of the last activity go under a ref before anything in the slot changes.
            left = await self._save(slot, before)
            lease = SlotLease(
                run=state.run,
                inst=job.inst,
                lane=job.lane,
                act=job.id,
                step=job.step,
                base=head.start,
                onto=head.parent_of_next_work,
                hidden=rules.hidden,
                alone=rules.alone,
            )
            keeps = bool(left) and (rules.keep_work or job.goes_on) and await self._is_own(before, job)
            around, _, _ = await asyncio.gather(
                self._bystanders.look(),
                self._fill_slot(slot, lease, before, left if keeps else ""),
                self.integration.refs.put(self.integration.names(state.run).of_activity(job.id, "base"), head.start),
            )
            # Last: while the slot was being filled, its lease named no activity (`_prepare`).
            await asyncio.to_thread(self._leases.write, slot, lease)
            self._forget(lease)
            self._handed[lease.run, lease.act] = lease, around
        return Lane(path=slot.path, base=head.start)

    async def _fill_slot(self, slot: WorkSlot, lease: SlotLease, before: SlotLease, kept: str) -> None:
        """Fill the slot of a lane: with its base, and with the leftovers in `kept` unless they conflict with it."""
        start = lease.base
        if kept:
            if (before.base, before.onto, before.hidden) == (lease.base, lease.onto, lease.hidden):
                await self._slots.refresh(slot, await self._contents(lease, start))  # the files are there already
                return
            merged = await three_way(self.integration.repository, before.base, start, kept)
            start = merged.tree if merged.is_clean else start
        await self._prepare(slot, lease, start)

    async def save(self, run: str, act: str) -> str:
        """Save an activity's work in its lane under a ref; return the commit, empty if nothing changed."""
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            return ""
        async with self._locks[" ".join(found[1].key)]:
            return await self._save(*found)

    async def changed(self, run: str, act: str) -> tuple[str, ...]:
        """Return the files that an activity has changed in its lane, whether it has answered or not."""
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            return ()
        slot, lease = found
        async with self._locks[" ".join(lease.key)]:
            taken = await self._take(slot, lease)
        changes = await self._recorder.trees.changes(lease.base, taken.tree)
        return tuple(dict.fromkeys(path for change in changes for path in change.touched))

    async def close(self, run: str) -> None:
        """Save the work in the lanes of a finished run, and free them."""
        await self._give_back(lambda lease: lease.run == run)

    async def free_lanes(self, run: str, inst: str) -> None:
        """Save the work in the lanes of a merged instance, and free them; a later step opens new ones."""
        await self._give_back(lambda lease: (lease.run, lease.inst) == (run, inst))

    async def _give_back(self, is_wanted: Callable[[SlotLease], bool]) -> None:
        for slot, lease in await asyncio.to_thread(self._leases.all):
            if is_wanted(lease):
                async with self._locks[" ".join(lease.key)]:
                    await self._save(slot, lease)  # first: without its lease, another lane may get the slot
                    await asyncio.to_thread(self._leases.give_back, slot)
                    self._forget(lease)

    async def record(self, run: str, act: str, at: int, message: str = "") -> Checkpoint:
        """Record an activity's work in its lane as one commit; repeated calls give the same commit."""
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            raise PortError(
                f"the activity {act!r} of the run {run!r} has no lane any more: another activity has it",
                code="git.no_lane",
            )
        slot, lease = found
        handed = self._handed.get((run, act))
        if handed:
            lease = handed[0]
        async with self._locks[" ".join(lease.key)]:
            taken = await self._take(slot, lease)
            recorded = await self._recorder.commit(taken, act, lease.base, lease.onto, at, message)
        names = self.integration.names(run)
        # Put back the refs that the agent moved, before this checkpoint adds one of ours.
        moved = await self.integration.refs.restore_moved(*names.spaces)
        await self.integration.refs.put(names.of_activity(act, "recorded"), recorded.commit)
        around = describe_changes(handed[1], await self._bystanders.look()) if handed else ()
        return msgspec.structs.replace(recorded, moved=tuple(moved), around=around)

    async def reset(self, run: str, inst: str, commit: str) -> None:
        """Reset all lanes of an instance to a commit, after saving their contents."""
        for slot, lease in await asyncio.to_thread(self._leases.all):
            if (lease.run, lease.inst) == (run, inst):
                async with self._locks[" ".join(lease.key)]:
                    await self._save(slot, lease)
                    empty = SlotLease(
                        run=run, inst=inst, lane=lease.lane, base=commit, onto=commit, hidden=lease.hidden
                    )
                    await self._prepare(slot, empty, commit)
                    await asyncio.to_thread(self._leases.write, slot, empty)

    def _forget(self, lease: SlotLease) -> None:
        """Drop the record of earlier activities in a lane."""
        self._handed = {key: handed for key, handed in self._handed.items() if handed[0].key != lease.key}

    async def _take(self, slot: WorkSlot, lease: SlotLease) -> LaneTree:
        await self.integration.repository.mend()
        return await self._recorder.take(slot, lease.base, lease.hidden, await self.integration.generated(lease.run))

    async def _save(self, slot: WorkSlot, lease: SlotLease) -> str:
        """Commit an activity's changes under its `wip` ref; return an empty string if there are none."""
        if not lease.act or not await asyncio.to_thread(holds_files, slot):
            return ""
        repository, refs = self.integration.repository, self.integration.refs
        await repository.mend()
        tree = await self._recorder.current_tree(
            slot, lease.base, lease.hidden, await self.integration.generated(lease.run)
        )
        if tree == await repository.tree(lease.base):
            return ""
        commit = await repository.commit(tree, (lease.base,), f"left by {lease.act}\n", 0)
        await refs.put(self.integration.names(lease.run).of_activity(lease.act, "wip"), commit)
        return commit

    async def _is_own(self, before: SlotLease, job: RunAgent) -> bool:
        """Whether leftovers belong to the same step, and are not yet part of the instance's accepted work."""
        accepted = self.integration.names(before.run).of_activity(before.act, "accepted")
        return before.step == job.step and (before.act == job.id or not await self.integration.refs.get(accepted))

    async def _prepare(self, slot: WorkSlot, lease: SlotLease, start: str) -> None:
        """Fill a slot; until that is done, its lease names no activity, so a crash cannot mix up work."""
        unused = SlotLease(run=lease.run, inst=lease.inst, lane=lease.lane)
        await asyncio.to_thread(self._leases.write, slot, unused)
        await self._slots.fill(slot, await self._contents(lease, start))

    async def _contents(self, lease: SlotLease, start: str) -> SlotContents:
        repository = self.integration.repository
        branch = self.integration.names(lease.run).lane(lease.inst, lease.lane)
        tree = await repository.tree(start)
        generated = await self.integration.generated(lease.run)
        if not lease.hidden and not lease.alone:
            return SlotContents(tree, lease.base, branch, generated=generated)
        # A commit without the hidden files and without a history: neither leads to what the role may not see.
        tree = await self._recorder.trees.without(tree, lease.hidden)
        shown = await self._recorder.trees.without(lease.base, lease.hidden)
        commit = await repository.commit(shown, (), "what this role may see\n", 0)
        return SlotContents(tree, commit, branch, alone=True, generated=generated, hidden=lease.hidden)


# Remove a run's leftovers from the repository.


async def forget_run(lanes: Lanes, run: str, *, keep: Collection[str] = ()) -> list[str]:
    """Free the lanes of a run and delete its refs, except for those in `keep`."""
    await lanes.close(run)
    names, refs = lanes.integration.names(run), lanes.integration.refs
    found = [ref for ref in await refs.below(*names.spaces) if ref not in keep]
    await refs.delete(*found)
    return found


class SpareSlots(msgspec.Struct, frozen=True):
    """Slots without a lease, and their size in bytes."""

    paths: tuple[Path, ...] = ()
    bytes: int = 0


async def remove_spare(folder: Path, *, dry: bool = False) -> SpareSlots:
    """Delete the slots without a lease and their files; the next lane has to be created anew."""

    def is_idle(slot: WorkSlot) -> bool:
        if not slot.lock.exists():
            return True
        handle = os.open(slot.lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
        return True

    def remove() -> SpareSlots:
        removed: list[Path] = []
        size = 0
        for path in sorted(folder.glob("lane-*")) + sorted(folder.glob("check-*")):
            slot = WorkSlot(path)
            is_slot = path.is_dir() and not path.is_symlink() and "." not in path.name
            if is_slot and not slot.note.exists() and is_idle(slot):
                parts = (path, slot.index, slot.taken)
                size += sum(disk_size(one) for one in parts)
                removed.append(path)
                for one in () if dry else parts:
                    remove_path(one)
        return SpareSlots(tuple(removed), size)

    return await asyncio.to_thread(remove)


def disk_size(path: Path) -> int:
    """Return the size of a file or a folder in bytes; follow no link."""
    with suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_size
        return sum(disk_size(inner) for inner in path.iterdir())
    return 0


# Everything in this package, opened for one project.


class ProjectRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A project's repository, ready for runs."""

    repository: Repository
    refs: Refs
    trees: Trees
    integration: Integration
    lanes: Lanes
    checkouts: Checkouts


async def open_git(project: Project, rules_of: RulesOf, prefix: str = DEFAULT_PREFIX) -> ProjectRepository:
    """Open the repository of a project; raise a `PortError` with the reason if no run can work with it."""
    make_local(project)
    repository = await open_repository(project)
    refs = Refs(repository)
    integration = Integration(repository, refs, prefix)
    recorder = Recorder(repository)
    return ProjectRepository(
        repository=repository,
        refs=refs,
        trees=recorder.trees,
        integration=integration,
        lanes=Lanes(integration, project.worktrees, rules_of, recorder),
        checkouts=Checkouts(repository, project.worktrees),
    )
