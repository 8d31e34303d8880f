"""What runs that have ended have left in the repository: branches, refs, spare worktrees."""

from collections.abc import Container, Sequence
from typing import Final

import msgspec

from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.errors import PortError
from treadle.git.cleanup import forget, remove_spare
from treadle.git.lanes import Rules
from treadle.git.opened import Opened, open_git
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.store.records import Run

_HEADS: Final = "refs/heads/"


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, removed from the repository."""

    refs: int = 0
    kept: tuple[str, ...] = ()
    """Branches with results, or with what was accepted, which were not to be removed."""
    worktrees: int = 0
    problem: str = ""
    """Why nothing was removed."""


async def forget_runs(project: Project, runs: Sequence[Run], *, branches: bool, dry: bool) -> Forgotten:
    """Remove the refs of runs; a branch with a result stays, unless `branches` says that it goes too."""
    try:
        found = [await _forget(project, run, branches=branches, dry=dry) for run in runs]
    except PortError as error:
        return Forgotten(problem=str(error))
    spare = [] if dry or not runs else await remove_spare(project.worktrees)
    kept = tuple(branch for _, branch in found if branch)
    return Forgotten(refs=sum(count for count, _ in found), kept=kept, worktrees=len(spare))


async def _forget(project: Project, run: Run, *, branches: bool, dry: bool) -> tuple[int, str]:
    """How many refs go, and the branch that stays: under its name, for people may have been told to merge it."""
    opened = await open_git(project, _no_rules, pinned(run).config.git.branch_prefix)
    there = await opened.refs.below(*opened.integration.names(run.id).spaces)
    held = await _held(opened, project, run, there)
    kept = held if held and (not branches or await _is_checked_out(opened, held)) else ""
    if not dry:
        await forget(opened.lanes, run.id, keep=kept)
    return len(there) - bool(kept), kept.removeprefix(_HEADS)


async def _held(opened: Opened, project: Project, run: Run, there: Container[str]) -> str:
    """The branch with the result, or with what was accepted, unless the user's own has it; empty: there is none."""
    result = opened.integration.names(run.id).result
    if result in there:
        return result
    found = await result_of(project, run)
    return f"{_HEADS}{found.branch}" if found and not found.taken else ""


async def _is_checked_out(opened: Opened, branch: str) -> bool:
    return (await opened.repository.users("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))).text == branch


def _no_rules(_state: State, _job: RunAgent) -> Rules:
    """No lane is opened here."""
    return Rules()
