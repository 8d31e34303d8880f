"""What runs that have ended have left in the repository: branches and refs."""

from collections.abc import Container, Sequence

import msgspec

from treadle.config.project import Project
from treadle.engines.older_branches import move_older_branches
from treadle.engines.pinned import pinned
from treadle.engines.result import result_of
from treadle.errors import PortError
from treadle.git.cleanup import forget
from treadle.git.lanes import Rules
from treadle.git.names import shown
from treadle.git.opened import Opened, open_git
from treadle.kernel.commands import RunAgent
from treadle.kernel.lifecycle import ROOT
from treadle.kernel.state import State
from treadle.store.records import Run
from treadle.store.sqlite import Store


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was, or would be, removed from the repository."""

    refs: int = 0
    kept: tuple[str, ...] = ()
    """Branches with results, or with what was accepted, which were not to be removed."""
    problem: str = ""
    """Why nothing was removed."""


async def forget_runs(project: Project, store: Store, runs: Sequence[Run], *, branches: bool, dry: bool) -> Forgotten:
    """Remove the refs of runs; a branch with a result stays, unless `branches` says that it goes too."""
    if not runs:
        return Forgotten()
    try:
        opened = await open_git(project, _no_rules)
        await move_older_branches(opened.repository, opened.refs, store, dry=dry)
        found = [await _forget(project, run, branches=branches, dry=dry) for run in runs]
    except PortError as error:
        return Forgotten(problem=str(error))
    kept = tuple(branch for _, branch in found if branch)
    return Forgotten(refs=sum(count for count, _ in found), kept=kept)


async def _forget(project: Project, run: Run, *, branches: bool, dry: bool) -> tuple[int, str]:
    """How many refs go, and the branch that stays: under its name, for people may have been told to merge it."""
    opened = await open_git(project, _no_rules, pinned(run).config.git.branch_prefix)
    there = await opened.refs.below(*opened.integration.names(run.id).spaces)
    held = await _held(opened, project, run, there)
    is_used = opened.integration.names(run.id).result in await opened.refs.checked_out()
    kept = held if held and (not branches or is_used) else ""
    if not dry:
        await forget(opened.lanes, run.id, keep=kept)
    return len(there) - bool(kept), shown(kept)


async def _held(opened: Opened, project: Project, run: Run, there: Container[str]) -> str:
    """The ref with the result, or with what was accepted, unless the user's own branch has it; empty: there is none."""
    names = opened.integration.names(run.id)
    found = await result_of(project, run)
    if found is None or (found.taken and names.result not in await opened.refs.checked_out()):
        return ""
    return next((ref for ref in (names.result, names.integration(ROOT)) if ref in there), "")


def _no_rules(_state: State, _job: RunAgent) -> Rules:
    """No lane is opened here."""
    return Rules()
