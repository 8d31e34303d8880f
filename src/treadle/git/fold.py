"""Takes the work of children that do not merge by themselves into their parent's branch: the barrier of a team."""

import msgspec

from treadle.git.integration import Integration, instance
from treadle.git.lanes import Lanes
from treadle.git.three_way import Conflict, three_way
from treadle.git.trees import Trees
from treadle.kernel.state import Instance, State


class Folded(msgspec.Struct, frozen=True):
    """The parent's head with the work of its children; with conflicts, nothing has moved."""

    commit: str
    files: tuple[str, ...] = ()
    """What the children changed, or where they are in conflict."""
    conflicts: tuple[Conflict, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.conflicts


class Folding:
    """Folds children into their parents."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes, self._integration = lanes, lanes.integration
        self._repository = lanes.integration.repository

    async def fold(self, state: State, inst: str, groups: tuple[str, ...] = ()) -> Folded:
        """Take in all children of some groups (of all), in the order of their creation; all of them or none."""
        start = await self._integration.head(state, inst)
        commit = start.commit
        members = _members(state, instance(state, inst), groups)
        for child in members:
            folded = await self._with(state, self._integration, child, commit)
            if not folded.is_clean:
                return folded
            commit = folded.commit
        await self._integration.move(state.run, inst, commit, start.base, start.commit)
        for child in members:
            await self._integration.move(state.run, child.id, commit, commit)
            await self._lanes.leave(state.run, child.id)
        changes = await Trees(self._repository).changes(start.base, commit)
        return Folded(commit, tuple(change.path for change in changes))

    async def _with(self, state: State, integration: Integration, child: Instance, onto: str) -> Folded:
        head = await integration.head(state, child.id)
        if await self._repository.is_ancestor(head.commit, onto):
            return Folded(onto)
        merged = await three_way(self._repository, head.base, onto, head.commit)
        if not merged.is_clean:
            return Folded(onto, merged.files, merged.conflicts or (Conflict("", "", merged.words),))
        if merged.tree == await self._repository.tree(onto):
            return Folded(onto)
        at = await self._repository.time(head.commit)
        message = f"{child.key or child.id}: fold\n"
        return Folded(await self._repository.commit(merged.tree, (onto,), message, at))


def _members(state: State, inst: Instance, groups: tuple[str, ...]) -> list[Instance]:
    wanted = groups or tuple(inst.groups)
    ids = {id_ for name in wanted if (group := inst.groups.get(name)) for id_ in group.members.values()}
    return sorted((state.insts[id_] for id_ in ids if id_ in state.insts), key=lambda one: one.n)
