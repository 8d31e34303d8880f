"""What `treadle gc` removes by default: nothing that a person could still want, whatever became of the runs.

Results that no branch of the user's has, evidence, and the work of unfinished runs stay. Work that an agent left in a
lane is saved as a commit before the lane goes, and each ref that goes is packed into one that stays (`git/packed.py`).
"""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.processes import look
from treadle.config.project import Project
from treadle.engines.containers import remove_containers
from treadle.engines.older_branches import is_driven, move_older_branches
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.errors import PortError
from treadle.git.cleanup import Spare, remove_spare, weight
from treadle.git.lanes import Rules
from treadle.git.leases import Leases
from treadle.git.opened import Opened, open_git
from treadle.git.packed import pack
from treadle.git.slots import remove
from treadle.kernel.commands import RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.store.records import Run
from treadle.store.sqlite import Store

CACHE_AGE: Final = 30 * 86400
CACHE_BYTES: Final = 256_000_000
_DAY: Final = 86400
_HOUR: Final = 3600
_DRAFT: Final = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}")
"""A file that a process was writing, beside the one that it is for."""
_SCRATCH: Final = ("treadle-index-", "treadle-objects-", "treadle-box-")
_CONVERSATIONS: Final = "conversations"


class Heap(msgspec.Struct, frozen=True):
    """Things of one kind that were, or would be, removed."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: "Heap") -> "Heap":
        return Heap(self.count + other.count, self.bytes + other.bytes)


class Tidied(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, removed although every run stays."""

    moved: int = 0
    """Branches of older versions that are below `refs/treadle/` now."""
    refs: int = 0
    """How many refs there are fewer because those of finished runs were packed."""
    branches: tuple[str, ...] = ()
    """Result branches that went, because a branch of the user's has the result."""
    undelivered: tuple[str, ...] = ()
    """Result branches that stay, because no other branch has the result."""
    lanes: int = 0
    """Lanes of ended runs; what was in them is saved."""
    worktrees: Heap = Heap()
    """Lanes and checkouts that no run has."""
    conversations: Heap = Heap()
    """Homes of agents' conversations in ended runs."""
    cache: Heap = Heap()
    """Measurements that are old, or too many."""
    leftovers: Heap = Heap()
    """Files that processes left when they were killed, and folders of runs that the store does not know."""
    containers: int = 0
    is_busy: bool = False
    """Another process drives a run, so worktrees and leftovers stay."""
    problem: str = ""
    """Why nothing in the repository was touched."""

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in (self.worktrees, self.conversations, self.cache, self.leftovers))


async def tidy(project: Project, store: Store, *, dry: bool) -> Tidied:
    """Remove what no person and no run can want any more; unfinished runs keep all they have."""
    runs = store.runs()
    ended = [run for run in runs if run.outcome and not is_driven(run)]
    busy = any(is_driven(run) for run in runs)
    try:
        found = await _tidy_repository(project, store, ended, dry=dry)
    except PortError as error:
        found = Tidied(problem=str(error))
    spare = Spare() if busy or found.problem else await remove_spare(project.worktrees, dry=dry)
    return msgspec.structs.replace(
        found,
        worktrees=Heap(len(spare.paths), spare.bytes),
        conversations=await asyncio.to_thread(_remove_all, _conversations(project, ended), dry=dry),
        cache=await asyncio.to_thread(_remove_all, _outworn(project.local / "measured", time.time()), dry=dry),
        leftovers=Heap() if busy else await asyncio.to_thread(_remove_all, _leftovers(project, runs), dry=dry),
        containers=await remove_containers(project, ended, dry=dry),
        is_busy=busy,
    )


async def _tidy_repository(project: Project, store: Store, ended: Sequence[Run], *, dry: bool) -> Tidied:
    known = {run.id for run in store.runs()}
    held = [lease for _, lease in Leases(project.worktrees).all()]
    lost = {lease.run for lease in held} - known
    count = sum(lease.run in lost or lease.run in {run.id for run in ended} for lease in held)
    opened = await open_git(project, _no_rules)
    moved = await move_older_branches(opened.repository, opened.refs, store, dry=dry)
    if not dry:
        for stranger in lost:
            await opened.lanes.close(stranger)
    refs, branches, stay = 0, list[str](), list[str]()
    for run in ended:
        with suppress(PortError):  # a run of another version is left to that one
            opened = await open_git(project, _no_rules, pinned(run).config.git.branch_prefix)
            if not dry and any(lease.run == run.id for lease in held):
                await opened.lanes.close(run.id)
            fewer, gone, kept = await _pack_run(opened, project, run, dry=dry)
            refs, branches, stay = refs + fewer, branches + gone, stay + kept
    return Tidied(moved=len(moved), refs=refs, branches=tuple(branches), undelivered=tuple(stay), lanes=count)


async def _pack_run(opened: Opened, project: Project, run: Run, *, dry: bool) -> tuple[int, list[str], list[str]]:
    """Pack the refs of a run: how many fewer, the result branch if it goes, and if it stays."""
    names = opened.integration.names(run.id)
    there = await opened.refs.below(*names.spaces)
    found = await result_of(project, run)
    is_wanted = found is not None and not found.taken
    holder = next((ref for ref in (names.result, names.integration(ROOT)) if ref in there), "")
    stays = {names.packed} | ({holder} if is_wanted else set())
    if names.result in await opened.refs.checked_out():
        stays.add(names.result)
    chosen = {ref: value for ref, value in there.items() if ref not in stays}
    if dry:
        fewer = max(len(chosen) - (names.packed not in there), 0)
    else:
        fewer = await pack(opened.repository, opened.refs, names, chosen)
    gone = [names.result.removeprefix("refs/heads/")] if names.result in chosen else []
    return fewer, gone, [found.branch] if found and is_wanted else []


def _conversations(project: Project, ended: Sequence[Run]) -> Iterator[Path]:
    """Homes that agents had, with their logins and transcripts: no agent goes on with one when the run has ended."""
    folders = {path.name: path for path in _inside(project.runs) if not path.is_symlink()}
    for run in ended:
        inside = _inside(folders[run.id] / "acts") if run.id in folders else []
        yield from (path for path in inside if path.name == _CONVERSATIONS)


def _outworn(folder: Path, now: float) -> Iterator[Path]:
    """Measurements of trees that are long gone: those older than a month, and the oldest beyond a size in all."""
    states = [(path.lstat(), path) for part in _inside(folder) for path in _inside(part)]
    room = CACHE_BYTES
    for state, path in sorted(states, key=lambda one: one[0].st_mtime, reverse=True):
        room -= state.st_size
        if room < 0 or now - state.st_mtime > CACHE_AGE:
            yield path


def _leftovers(project: Project, runs: Sequence[Run]) -> Iterator[Path]:
    known, now = {run.id for run in runs}, time.time()
    for folder in (project.worktrees, project.local, project.local / "git", *_inside(project.local / "measured")):
        for path in _inside(folder):
            draft = _DRAFT.fullmatch(path.name)
            if draft and path.is_file() and look(int(draft[1])) is None:
                yield path
    yield from (path for path in _inside(project.runs) if path.name not in known and _is_older(path, now, _HOUR))
    for path in _inside(Path(tempfile.gettempdir())):
        if path.name.startswith(_SCRATCH) and path.lstat().st_uid == os.getuid() and _is_older(path, now, _DAY):
            yield path


def _is_older(path: Path, now: float, age: int) -> bool:
    try:
        return now - path.lstat().st_mtime > age
    except OSError:
        return False


def _inside(folder: Path) -> list[Path]:
    """What lies in a folder; nothing if it is a link, or none."""
    try:
        return [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:
        return []


def _remove_all(paths: Iterator[Path], *, dry: bool) -> Heap:
    heap = Heap()
    for path in list(paths):
        heap += Heap(1, weight(path))
        if not dry:
            with suppress(OSError):
                remove(path)
    return heap


def _no_rules(_state: State, _job: RunAgent) -> Rules:
    """No lane is opened here."""
    return Rules()
