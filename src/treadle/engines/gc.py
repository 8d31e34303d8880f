"""Garbage collection (`treadle gc`): removes unneeded files and refs, and on request ended runs with their refs."""

import asyncio
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treadle.agents.processes import find_process
from treadle.config.project import Project
from treadle.engines.containers import remove_containers
from treadle.engines.result import move_older_branches, no_lanes, result_of
from treadle.engines.run_settings import settings_of
from treadle.errors import PortError, TreadleError
from treadle.git.files import abandoned_folders
from treadle.git.lanes import ProjectRepository, SpareSlots, disk_size, forget_run, open_git, remove_spare
from treadle.git.ref_names import short_ref
from treadle.git.refs import pack_refs
from treadle.git.slots import SlotLeases, remove_path
from treadle.kernel.instances import ROOT
from treadle.memory.dialogue import dialogues_in
from treadle.memory.store import FILE as MEMORY
from treadle.store.gc import Freed
from treadle.store.leases import driver_of
from treadle.store.records import Run
from treadle.store.sqlite import Store

CACHE_AGE: Final = 30 * 86400
CACHE_BYTES: Final = 256_000_000
_HOUR: Final = 3600
_DRAFT: Final = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}")
"""The name of a temporary file, beside its target, with the pid of its writer."""
_CONVERSATIONS: Final = "conversations"


class FreedSpace(msgspec.Struct, frozen=True):
    """The number and size of things of one kind that were, or would be, removed."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: "FreedSpace") -> "FreedSpace":
        return FreedSpace(self.count + other.count, self.bytes + other.bytes)


class TidyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The things that were, or would be, removed without removing any run."""

    moved: int = 0
    """Branches of older versions, moved below `refs/treadle/`."""
    refs: int = 0
    """The number of refs saved by packing those of finished runs."""
    branches: tuple[str, ...] = ()
    """Result branches that were removed, because a branch of the user's has the result."""
    undelivered: tuple[str, ...] = ()
    """Result branches that stay, because no other branch has the result."""
    lanes: int = 0
    """Lanes of ended runs; their content is saved."""
    worktrees: FreedSpace = FreedSpace()
    """Lanes and checkouts without a run."""
    conversations: FreedSpace = FreedSpace()
    """Homes of agents' conversations in ended runs."""
    cache: FreedSpace = FreedSpace()
    """Measurements that are old, or too many."""
    leftovers: FreedSpace = FreedSpace()
    """Files that processes left when they were killed, and folders of runs that the store does not know."""
    containers: int = 0
    is_busy: bool = False
    """Whether another process drives a run, so checkouts and leftovers stay."""
    problem: str = ""
    """Why nothing in the repository was touched."""

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in (self.worktrees, self.conversations, self.cache, self.leftovers))


async def tidy(project: Project, store: Store, *, dry: bool) -> TidyReport:
    """Remove everything that no person and no run needs any more; unfinished runs keep all their files."""
    runs = store.runs()
    ended = [run for run in runs if run.outcome and not driver_of(run)]
    busy = any(driver_of(run) for run in runs)
    try:
        report = await _tidy_repository(project, store, ended, dry=dry)
    except PortError as error:
        report = TidyReport(problem=str(error))
    spare = SpareSlots() if busy or report.problem else await remove_spare(project.worktrees, dry=dry)
    return msgspec.structs.replace(
        report,
        worktrees=FreedSpace(len(spare.paths), spare.bytes),
        conversations=await asyncio.to_thread(_remove_all, _conversations(project, ended), dry=dry),
        cache=await asyncio.to_thread(
            _remove_all, _stale_measurements(project.local / "measured", time.time()), dry=dry
        ),
        leftovers=FreedSpace() if busy else await asyncio.to_thread(_remove_all, _leftovers(project, runs), dry=dry),
        containers=await remove_containers(project, ended, dry=dry),
        is_busy=busy,
    )


async def _tidy_repository(project: Project, store: Store, ended: Sequence[Run], *, dry: bool) -> TidyReport:
    known = {run.id for run in store.runs()}
    leases = [lease for _, lease in SlotLeases(project.worktrees).all()]
    lost = {lease.run for lease in leases} - known
    count = sum(lease.run in lost or lease.run in {run.id for run in ended} for lease in leases)
    opened = await open_git(project, no_lanes)
    moved = await move_older_branches(opened.repository, opened.refs, store, dry=dry)
    if not dry:
        for stranger in lost:
            await opened.lanes.close(stranger)
    refs, branches, stay = 0, list[str](), list[str]()
    for run in ended:
        with suppress(PortError):  # a run of another version is left to that one
            opened = await open_git(project, no_lanes, settings_of(run).config.git.branch_prefix)
            if not dry and any(lease.run == run.id for lease in leases):
                await opened.lanes.close(run.id)
            fewer, gone, kept = await _pack_run(opened, project, run, dry=dry)
            refs, branches, stay = refs + fewer, branches + gone, stay + kept
    return TidyReport(moved=len(moved), refs=refs, branches=tuple(branches), undelivered=tuple(stay), lanes=count)


async def _pack_run(
    opened: ProjectRepository, project: Project, run: Run, *, dry: bool
) -> tuple[int, list[str], list[str]]:
    """Pack the refs of a run; return how many were saved, the removed result branch, and the kept one."""
    names = opened.integration.names(run.id)
    there = await opened.refs.below(*names.spaces)
    result = await result_of(project, run)
    is_wanted = result is not None and not result.taken
    holder = next((ref for ref in (names.result, names.integration(ROOT)) if ref in there), "")
    stays = {names.packed} | ({holder} if is_wanted else set())
    if names.result in await opened.refs.checked_out():
        stays.add(names.result)
    if result is not None and result.altered:  # commits that a person has put on the branch are not Treadle's to hide
        stays |= {names.result, names.verified_result}
    chosen = {ref: value for ref, value in there.items() if ref not in stays}
    if dry:
        fewer = max(len(chosen) - (names.packed not in there), 0)
    else:
        fewer = await pack_refs(opened.repository, opened.refs, names, chosen)
    gone = [names.result.removeprefix("refs/heads/")] if names.result in chosen else []
    return fewer, gone, [result.branch] if result and is_wanted else []


def _conversations(project: Project, ended: Sequence[Run]) -> Iterator[Path]:
    """Yield the agents' conversation homes (logins, transcripts): no agent needs one after its run has ended."""
    folders = {path.name: path for path in _entries(project.runs) if not path.is_symlink()}
    for run in ended:
        inside = _entries(folders[run.id] / "acts") if run.id in folders else []
        yield from (path for path in inside if path.name == _CONVERSATIONS)


def _stale_measurements(folder: Path, now: float) -> Iterator[Path]:
    """Yield stale measurements: those older than a month, and the oldest ones beyond the total size."""
    states = [(path.lstat(), path) for part in _entries(folder) for path in _entries(part)]
    room = CACHE_BYTES
    for state, path in sorted(states, key=lambda one: one[0].st_mtime, reverse=True):
        room -= state.st_size
        if room < 0 or now - state.st_mtime > CACHE_AGE:
            yield path


def _leftovers(project: Project, runs: Sequence[Run]) -> Iterator[Path]:
    known, now = {run.id for run in runs}, time.time()
    for folder in (project.worktrees, project.local, project.local / "git", *_entries(project.local / "measured")):
        for path in _entries(folder):
            draft = _DRAFT.fullmatch(path.name)
            if draft and path.is_file() and find_process(int(draft[1])) is None:
                yield path
    yield from (path for path in _entries(project.runs) if path.name not in known and _is_older(path, now, _HOUR))
    yield from abandoned_folders()


def _is_older(path: Path, now: float, age: int) -> bool:
    try:
        return now - path.lstat().st_mtime > age
    except OSError:
        return False


def _entries(folder: Path) -> list[Path]:
    """Return the entries of a folder; empty if it is a link or missing."""
    try:
        return [] if folder.is_symlink() else sorted(folder.iterdir())
    except OSError:
        return []


def _remove_all(paths: Iterator[Path], *, dry: bool) -> FreedSpace:
    freed_space = FreedSpace()
    for path in list(paths):
        freed_space += FreedSpace(1, disk_size(path))
        if not dry:
            with suppress(OSError):
                remove_path(path)
    return freed_space


# Branches and refs of ended runs in the repository.


class RemovedRefs(msgspec.Struct, frozen=True, kw_only=True):
    """The refs that were, or would be, removed from the repository."""

    refs: int = 0
    kept: tuple[str, ...] = ()
    """Kept branches, with a result or with accepted work."""
    problem: str = ""
    """Why nothing was removed."""


async def forget_runs(project: Project, store: Store, runs: Sequence[Run], *, branches: bool, dry: bool) -> RemovedRefs:
    """Remove the refs of runs; a branch with a result stays, unless `branches` is set."""
    if not runs:
        return RemovedRefs()
    try:
        opened = await open_git(project, no_lanes)
        await move_older_branches(opened.repository, opened.refs, store, dry=dry)
        removed = [await _forget_run(project, run, branches=branches, dry=dry) for run in runs]
    except PortError as error:
        return RemovedRefs(problem=str(error))
    kept = tuple(branch for _, branches_kept in removed for branch in branches_kept)
    return RemovedRefs(refs=sum(count for count, _ in removed), kept=kept)


async def _forget_run(project: Project, run: Run, *, branches: bool, dry: bool) -> tuple[int, tuple[str, ...]]:
    """Remove the refs of one run; return their number and the kept branches.

    The result branch keeps its name, because people may have been asked to merge it.
    """
    opened = await open_git(project, no_lanes, settings_of(run).config.git.branch_prefix)
    names = opened.integration.names(run.id)
    there = await opened.refs.below(*names.spaces)
    is_used = names.result in await opened.refs.checked_out()
    result = await result_of(project, run)
    # The ref with the result or the accepted work, unless the user's branch has it.
    held: list[str] = []
    if result is not None and result.tip:
        held.append(names.result)  # with commits of a person's, which may have left the verified one behind
        if not result.taken and not await opened.repository.is_ancestor(result.commit, result.tip):
            held += [ref for ref in (names.integration(ROOT),) if there.get(ref) == result.commit]
    elif result is not None and (is_used or not result.taken):
        held += [ref for ref in (names.result, names.integration(ROOT)) if ref in there][:1]
    kept = tuple(ref for ref in held if not branches or (is_used and ref == names.result))
    if not dry:
        await forget_run(opened.lanes, run.id, keep=kept)
    return len(there) - len(kept), tuple(map(short_ref, kept))


# Removing ended runs from a project: their files first, so that a removal that failed half-way can be repeated.


class RemovedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was, or would be, removed with the runs."""

    freed: Freed
    files: int
    """Bytes in files."""
    shrunk: int
    """Bytes by which the store shrank."""
    forgotten: RemovedRefs
    """Removed refs of the repository."""
    containers: int = 0
    """Leftover containers."""


def clean_runs(
    project: Project, store: Store, runs: Sequence[Run], *, dry: bool, branches: bool = False
) -> RemovedRuns:
    """Remove ended runs; unfinished runs among them are always left alone."""
    refuse_links(project)
    ended = store.clean([run.id for run in runs], dry=True).runs
    known = [run for run in runs if run.id in ended]
    forgotten = asyncio.run(forget_runs(project, store, known, branches=branches, dry=dry))
    containers = asyncio.run(remove_containers(project, known, dry=dry))
    files = sum(remove_activity_folders(project, run, dry) for run in ended)
    dialogues = project.local / MEMORY
    if not dry and dialogues.is_file():  # the database reuses the space and does not shrink
        with dialogues_in(dialogues) as opened:
            for run in ended:
                opened.forget(run)
    before = _size(project)
    freed = store.clean(ended, dry=dry)
    shrunk = before - _size(project)
    return RemovedRuns(freed=freed, files=files, shrunk=shrunk, forgotten=forgotten, containers=containers)


def refuse_links(project: Project) -> None:
    """Raise a `TreadleError` if Treadle's own folder is a link out of the project."""
    if project.own.is_symlink() or project.local.is_symlink():
        text = f"{project.local} is a link; Treadle removes only what is inside the project: remove the link"
        raise TreadleError(text, code="file.link")


def _size(project: Project) -> int:
    """Return the size of the store in bytes, including its journal."""
    files = (project.store, project.store.with_name(f"{project.store.name}-wal"))
    return sum(path.stat().st_size for path in files if path.exists())


def remove_activity_folders(project: Project, run: str, dry: bool) -> int:
    """Remove the folders of a run's activities: prompts, bundles, answers, output."""
    folder = project.runs / run
    is_odd = run in ("", ".", "..") or "/" in run or project.runs.is_symlink() or folder.is_symlink()
    if is_odd or not folder.is_dir():
        return 0
    count = 0
    for root, folders, names in os.walk(folder):
        if not dry:
            for inner in (Path(root) / one for one in folders):
                if not inner.is_symlink():
                    inner.chmod(0o700)  # an agent may have locked it
        count += sum((Path(root) / one).lstat().st_size for one in names)
    if not dry:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise PortError(
                f"{folder} cannot be removed: {error.strerror}; check the permissions", code="file.unwritable"
            ) from None
    return count
