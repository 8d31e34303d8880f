"""The result of a run in the repository: where it is, and whether the user's branch has it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from treadle.config.project import Project
from treadle.engines.pinned import pinned
from treadle.errors import PortError
from treadle.git.delivery import undelivered, verified_on
from treadle.git.integration import Integration, Trunk
from treadle.git.names import Names, shown
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
            return await find_result(await integration_of(project, run), run)
    return None


async def integration_of(project: Project, run: Run) -> Integration:
    """The integration branches of a project, under the names that a run has for them."""
    repository = await open_repository(project)
    return Integration(repository, Refs(repository), pinned(run).config.git.branch_prefix)


async def find_result(integration: Integration, run: Run) -> Result | None:
    """Where the result of a run is; None if it has changed nothing."""
    names = integration.names(run.id)
    refs = await integration.every_ref(run.id)
    if names.start not in refs:  # nothing was ever begun, and looking must not begin it
        return None
    trunk = await integration.begin(run.id)
    ref = await _holder(integration, names, trunk, refs)
    if not ref:
        return None
    commit, there = refs[ref], await integration.refs.below(*names.spaces, names.older)
    branch = next((shown(one) for one in there if ref in (one, names.moved(one))), commit)
    merge = pinned(run).config.git.merge
    taken = bool(trunk.branch) and await _has(integration, trunk, commit)
    unmerged = _NO_MERGE if merge == "auto" and commit == refs.get(names.integration(ROOT)) else ""
    return Result(
        branch=branch,
        commit=commit,
        into=trunk.branch.removeprefix(_HEADS),
        taken=taken,
        merge=merge,
        why="" if taken else await undelivered(integration, run.id) or unmerged,
        verified_on=await verified_on(integration, refs.get(names.of_instance(ROOT, "verified"), ""), commit),
        moved=bool(trunk.branch) and not taken and await _has_moved(integration, trunk, commit),
    )


async def _holder(integration: Integration, names: Names, trunk: Trunk, refs: Mapping[str, str]) -> str:
    """The ref with the result: the run's own branch for it, else where accepted work of the root came together.

    What an activity recorded may have been refused, and is no result.
    """
    for ref in (names.result, names.integration(ROOT)):
        if ref in refs and await _changes(integration, refs, ref, trunk):
            return ref
    return ""


async def _changes(integration: Integration, refs: Mapping[str, str], ref: str, trunk: Trunk) -> bool:
    return await integration.repository.tree(refs[ref]) != await integration.repository.tree(trunk.commit)


async def _has_moved(integration: Integration, trunk: Trunk, commit: str) -> bool:
    now = await integration.refs.get(trunk.branch)
    return bool(now) and not await integration.repository.is_ancestor(now, commit)


async def _has(integration: Integration, trunk: Trunk, commit: str) -> bool:
    """Whether the user's branch has a result: its commits, or all that they change."""
    now, repository = await integration.refs.get(trunk.branch), integration.repository
    if not now or await repository.is_ancestor(commit, now):
        return bool(now)
    return (await three_way(repository, trunk.commit, now, commit)).tree == await repository.tree(now)
