"""The result of a run in the repository: looked up, and taken over into the user's branch."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.errors import PortError, TreadleError
from treadle.git.delivery import Obstacle, fast_forward, undelivered
from treadle.git.integration import Integration, Trunk
from treadle.git.names import Names
from treadle.git.refs import Refs
from treadle.git.repository import open_repository
from treadle.git.three_way import three_way
from treadle.kernel.lifecycle import ROOT
from treadle.store.records import Run
from treadle.views.result import Result

_HEADS: Final = "refs/heads/"
_NO_MERGE: Final = "the protocol itself merges nothing into it"


async def result_of(project: Project, run: Run) -> Result | None:
    """Where the result of a run that has ended is; None if it has changed nothing, or nothing can be looked up."""
    with suppress(PortError):
        if run.outcome:
            return await _found(await _integration(project, run), run)
    return None


async def take_over(project: Project, run: Run) -> Result:
    """Move the user's branch forward to a result, by the rules of `git.merge = "auto"`; an error says why not."""
    integration = await _integration(project, run)
    found = await _found(integration, run)
    if found is None:
        raise TreadleError(f"{run.id} has changed nothing; there is nothing to take over", code="deliver.nothing")
    if not found.taken:
        trunk = await integration.begin(run.id)
        if obstacle := await fast_forward(integration, trunk, found.commit):
            hint = _way(run.id, found, obstacle, trunk)
            raise TreadleError(
                f"{found.into or 'your branch'} was not moved: {obstacle.why}; {hint}", code="deliver.blocked"
            )
        found = await _found(integration, run) or found
    return found


def _way(run: str, found: Result, obstacle: Obstacle, trunk: Trunk) -> str:
    """What gets the user the result in spite of an obstacle."""
    by_hand = f"`git merge --squash {shlex.quote(found.branch)}`"
    if not trunk.branch:
        return f"on any branch, {by_hand} takes it over, and `git branch NAME {shlex.quote(found.branch)}` makes it one"
    if obstacle.lasts:
        return f"{by_hand} takes it over by hand"
    return f"mend that, then `treadle deliver {shlex.quote(run)}`"


async def _integration(project: Project, run: Run) -> Integration:
    repository = await open_repository(project)
    return Integration(repository, Refs(repository), pinned(run).config.git.branch_prefix)


async def _found(integration: Integration, run: Run) -> Result | None:
    names = integration.names(run.id)
    if not await integration.refs.get(names.start):  # nothing was ever begun, and looking must not begin it
        return None
    trunk = await integration.begin(run.id)
    branch, commit = await _holder(integration, names, trunk)
    if not commit:
        return None
    merge = pinned(run).config.git.merge
    taken = bool(trunk.branch) and await _has(integration, trunk, commit)
    unmerged = _NO_MERGE if merge == "auto" and branch != names.result else ""
    return Result(
        branch=branch.removeprefix(_HEADS),
        commit=commit,
        into=trunk.branch.removeprefix(_HEADS),
        taken=taken,
        merge=merge,
        why="" if taken else await undelivered(integration, run.id) or unmerged,
    )


async def _holder(integration: Integration, names: Names, trunk: Trunk) -> tuple[str, str]:
    """The branch with the result and its commit: the run's own for it, else where accepted work of the root came
    together. What lies on a lane's branch may have been refused, and is no result.
    """
    refs = await integration.refs.below(names.spaces[0])
    for ref in (names.result, names.integration(ROOT)):
        if ref in refs and await _changes(integration, refs, ref, trunk):
            return ref, refs[ref]
    return "", ""


async def _changes(integration: Integration, refs: Mapping[str, str], ref: str, trunk: Trunk) -> bool:
    return await integration.repository.tree(refs[ref]) != await integration.repository.tree(trunk.commit)


async def _has(integration: Integration, trunk: Trunk, commit: str) -> bool:
    """Whether the user's branch has a result: its commits, or all that they change."""
    now, repository = await integration.refs.get(trunk.branch), integration.repository
    if not now or await repository.is_ancestor(commit, now):
        return bool(now)
    return (await three_way(repository, trunk.commit, now, commit)).tree == await repository.tree(now)
