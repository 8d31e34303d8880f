"""The results of runs in the repository: the location of each, and whether the user's branch has it.

Branches of older versions of Treadle are moved to their current names first.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from treadle.config.project import Project
from treadle.engines.run_settings import settings_of
from treadle.errors import PortError, TreadleError
from treadle.git.delivery import verified_again, why_undelivered
from treadle.git.integration import Integration, Trunk
from treadle.git.lanes import LaneRules
from treadle.git.ref_names import RefNames, short_ref, slug
from treadle.git.refs import Refs, move_older_refs
from treadle.git.repository import Repository, open_repository
from treadle.git.trees import three_way
from treadle.kernel.commands import RunAgent
from treadle.kernel.instances import ROOT
from treadle.kernel.state import State
from treadle.store.leases import driver_of
from treadle.store.records import Run
from treadle.store.sqlite import Store
from treadle.views.result import Result

_HEADS: Final = "refs/heads/"
_NO_MERGE: Final = "the protocol itself merges nothing into it"


async def result_of(project: Project, run: Run) -> Result | None:
    """Return the result of an ended run; None if it changed nothing, or the repository cannot be read."""
    with suppress(PortError):
        if run.outcome:
            return await find_result(await integration_of(project, run), run)
    return None


def no_lanes(_state: State, _job: RunAgent) -> LaneRules:
    """Return the rules of lanes for a repository that is opened without a run: there are no agents."""
    raise PortError("no agent works outside of a run", code="agent.start")


async def integration_of(project: Project, run: Run) -> Integration:
    """Return the integration branches of a project, under the names of a run."""
    repository = await open_repository(project)
    return Integration(repository, Refs(repository), settings_of(run).config.git.branch_prefix)


async def find_result(integration: Integration, run: Run) -> Result | None:
    """Return the result of a run; None if it changed nothing."""
    names = integration.names(run.id)
    refs = await integration.every_ref(run.id)
    if names.start not in refs:  # nothing was ever begun, and looking must not begin it
        return None
    trunk = await integration.trunk(run.id)
    verified, integrated = await _verified_commit(integration, names, refs), refs.get(names.integration(ROOT), "")
    # A commit recorded by an activity may have been refused and is no result; work accepted by the root is one.
    repository, base = integration.repository, await integration.repository.tree(trunk.commit)
    changed = [one for one in (verified, integrated) if one and await repository.tree(one) != base]
    if not changed:
        return None
    commit, tip, merge = changed[0], refs.get(names.result, ""), settings_of(run).config.git.merge
    taken = bool(trunk.branch) and await _branch_has(integration, trunk, commit)
    has_branch = commit == verified and bool(tip or (names.verified_result in refs and merge != "never"))
    altered = has_branch and tip != commit and not (taken and not tip)  # people delete a branch that they have merged
    unmerged = _NO_MERGE if merge == "auto" and commit == integrated else ""
    note = refs.get(names.of_instance(ROOT, "verified"), "")
    head = await integration.refs.get(trunk.branch) if trunk.branch and not taken else ""
    verified_on, replaces, excused = await verified_again(integration, note, commit)
    return Result(
        branch=short_ref(names.result) if altered else await _branch_name(integration, names, refs, commit),
        commit=commit,
        into=trunk.branch.removeprefix(_HEADS),
        taken=taken,
        merge=merge,
        why="" if taken else await why_undelivered(integration, run.id) or unmerged,
        verified_on=verified_on,
        replaces=replaces,
        excused=excused,
        moved=bool(head) and not await repository.is_ancestor(head, commit),
        on_branch=has_branch,
        altered=altered,
        tip=tip if altered else "",
    )


async def _verified_commit(integration: Integration, names: RefNames, refs: Mapping[str, str]) -> str:
    """Return the commit that Treadle verified as the result of a run. The branch proves nothing: people may move it.

    Older versions did not record it: then it is the last rebased commit, else a merge of the root that the branch is
    at, else the root's integration of accepted work.
    """
    if recorded := refs.get(names.verified_result):
        return recorded
    tip, integrated = refs.get(names.result, ""), refs.get(names.integration(ROOT), "")
    note = refs.get(names.of_instance(ROOT, "verified"))
    rebased = (await integration.repository.parents(note))[0] if note else ""
    merges = [
        value
        for ref, value in refs.items()
        if ref.startswith(names.of_root_activities) and f"{ref.removesuffix('/accepted')}/before" in refs
    ]
    return tip if tip in (rebased, integrated, *merges) else rebased or integrated


async def _branch_name(integration: Integration, names: RefNames, refs: Mapping[str, str], commit: str) -> str:
    """Return the short name of the ref of a result; the commit itself if its ref was packed."""
    ref = next((one for one in (names.result, names.integration(ROOT)) if refs.get(one) == commit), "")
    there = await integration.refs.below(*names.spaces, names.older)
    return next((short_ref(one) for one in there if ref and ref in (one, names.name_after_move(one))), commit)


async def _branch_has(integration: Integration, trunk: Trunk, commit: str) -> bool:
    """Whether the user's branch has a result: its commits, or all their changes."""
    now, repository = await integration.refs.get(trunk.branch), integration.repository
    if not now or await repository.is_ancestor(commit, now):
        return bool(now)
    return (await three_way(repository, trunk.commit, now, commit)).tree == await repository.tree(now)


# Renames the branches of older versions, for every run that no other process drives.


async def move_older_branches(repository: Repository, refs: Refs, store: Store, *, dry: bool = False) -> list[str]:
    """Move branches of a store's runs below `refs/treadle/`; return their old names. Other branches stay."""
    there, moved = await refs.below("refs/heads/"), list[str]()
    for run in store.runs():
        if driver_of(run):  # a driver of an older version needs the refs under their old names
            continue
        # A run of another version stays with that version. A failed move is repeated by the next start; until then
        # runs find their refs under the old names.
        with suppress(PortError):
            names = RefNames(run.id, settings_of(run).config.git.branch_prefix)
            if any(names.name_after_move(ref) for ref in there):
                moved += await move_older_refs(repository, refs, names, _lane_slugs(store, run), dry=dry)
    return moved


def _lane_slugs(store: Store, run: Run) -> frozenset[str]:
    """Return the slugs of the lanes in a run's protocol."""
    try:
        protocol = store.protocol(run.protocol)
    except TreadleError:
        return frozenset({"main"})
    steps = (step for graph in protocol.graphs.values() for step in graph.steps.values())
    return frozenset("int,lane" if slug(step.lane) == "int" else slug(step.lane) for step in steps)
