"""Puts an instance on its parent's new head: by itself where that goes, else prepared for an agent."""

import msgspec

from treadle.git.integration import Drift, Head, Integration
from treadle.git.replay import replayed
from treadle.git.three_way import Conflict, three_way
from treadle.git.trees import Trees
from treadle.git.verifier import Verifier
from treadle.kernel.state import State


class Rebased(msgspec.Struct, frozen=True):
    """Where an instance stands now; conflicts or changed tests mean that an agent has to adapt it."""

    base: str
    files: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    changed_tests: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.files and not self.changed_tests


class Rebasing:
    """Rebases instances. Their lanes follow when they are opened next."""

    def __init__(self, integration: Integration) -> None:
        self._integration, self._repository = integration, integration.repository

    async def rebase(self, state: State, inst: str, verifier: Verifier | None = None) -> Rebased:
        """Put an instance on its parent's head; done already, it says so."""
        head = await self._integration.head(state, inst)
        onto = await self._integration.parent_head(state, inst)
        if head.drift and head.onto == onto:
            drift = await self._integration.drift(head)
            return Rebased(onto, drift.files, changed_tests=drift.tests)
        if head.base == onto:
            return Rebased(onto)
        moved = await replayed(self._repository, head, onto)
        if not moved:
            return await self._conflict(state.run, inst, head, onto)
        changed = await self._changed_tests(head.commit, moved, verifier)
        if changed:
            tree = await self._repository.tree(moved)
            await self._integration.set_drift(state.run, inst, tree, onto, Drift(tests=changed), head.commit)
            return Rebased(onto, changed_tests=changed)
        await self._integration.move(state.run, inst, moved, onto, head.commit)
        return Rebased(onto)

    async def _conflict(self, run: str, inst: str, head: Head, onto: str) -> Rebased:
        """One merge of everything tells all conflicts at once; none there, the end fits though a part did not."""
        merged = await three_way(self._repository, head.base, onto, head.commit)
        if merged.is_clean:
            at = await self._repository.time(head.commit)
            commit = await self._repository.commit(merged.tree, (onto,), f"{inst} on its parent's new head\n", at)
            await self._integration.move(run, inst, commit, onto, head.commit)
            return Rebased(onto)
        files = merged.files or await self._touched(head)
        await self._integration.set_drift(run, inst, merged.tree, onto, Drift(files), head.commit)
        return Rebased(onto, files, merged.conflicts)

    async def _touched(self, head: Head) -> tuple[str, ...]:
        """Where a conflict may be that git cannot pin to a file: folders that were renamed."""
        changes = await Trees(self._repository).changes(head.base, head.commit)
        return tuple(change.path for change in changes)

    async def _changed_tests(self, before: str, after: str, verifier: Verifier | None) -> tuple[str, ...]:
        if verifier is None:
            return ()
        tried = await verifier.same_colour(before, after)
        return () if tried.ok else tried.failing or (tried.details or "the tests could not be compared",)
