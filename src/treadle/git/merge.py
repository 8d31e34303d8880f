"""The merge, as a rule a squash: tried on the side, verified there, and only then published by a compare-and-swap."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.git.checkout import Checkouts
from treadle.git.delivery import Delivered, Policy, deliver
from treadle.git.integration import Head, conflict_text, instance
from treadle.git.lanes import Lanes
from treadle.git.replay import replayed
from treadle.git.three_way import three_way
from treadle.git.trees import Trees
from treadle.git.verifier import Tried, Verifier
from treadle.kernel.state import State

Reason = Literal["ContractViolation", "BuildFailure", "IntegrationFailure"]
_TRIES: Final = 5


class Refused(msgspec.Struct, frozen=True):
    """The merge did not hold; the parent's branch has not moved."""

    reason: Reason
    details: str
    failing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    commit: str = ""
    """The merge that was tried, if it came to one."""


class Wanted(msgspec.Struct, frozen=True):
    """How the merge is to look: one commit with this message, or the instance's own, each for itself."""

    message: str
    keep_commits: bool = False
    papers: tuple[str, ...] = ()
    """Files of the run that its result does not carry: there they are as they were before the run, if they were."""


class Completed(msgspec.Struct, frozen=True):
    """The merge is published."""

    commit: str
    before: str
    """The parent's head before it."""
    delivered: Delivered | None = None
    """Where the result is, if it is that of the whole run."""


Verify = Callable[[Path], Awaitable[Refused | None]]


def verify_by(verifier: Verifier) -> Verify:
    """Build, then the contract suite, then all tests, each with the reason that its failure is."""

    async def verify(path: Path) -> Refused | None:
        checks: tuple[tuple[Reason, Callable[[Path], Awaitable[Tried]]], ...] = (
            ("BuildFailure", verifier.build),
            ("ContractViolation", verifier.contract),
            ("IntegrationFailure", verifier.suite),
        )
        for reason, check in checks:
            tried = await check(path)
            if not tried.ok:
                return Refused(reason, tried.details, tried.failing)
        return None

    return verify


class Merging:
    """Merges finished instances into their parents."""

    def __init__(self, lanes: Lanes, checkouts: Checkouts, policy: Policy = "branch") -> None:
        self._lanes, self._checkouts, self._policy = lanes, checkouts, policy
        self._integration, self._repository = lanes.integration, lanes.integration.repository

    async def merge(self, state: State, inst: str, act: str, wanted: Wanted, verify: Verify) -> Completed | Refused:
        """Merge an instance's accepted work into its parent's branch. Asked again, it finds out what is done."""
        done = await self._done_before(state, inst, act)
        for _ in range(_TRIES):
            if done is None:
                tried = await self._try(state, inst, wanted, verify)
                if isinstance(tried, Refused):
                    return tried
                done = tried
                await self._note(state.run, act, done)
            if await self._publish(state, inst, done):
                return await self._finish(state, inst, done)
            done = None  # the parent's branch was moved meanwhile: once more, on its new head
        raise PortError(f"the branch that {inst} is merged into does not hold still", retryable=True, code="git.moved")

    async def _try(self, state: State, inst: str, wanted: Wanted, verify: Verify) -> Completed | Refused:
        head = await self._integration.head(state, inst)
        if head.drift:
            drift = await self._integration.drift(head)
            details = f"not resolved yet: {', '.join(drift.files + drift.tests)}"
            return Refused("IntegrationFailure", details, drift.tests, drift.files)
        parent = await self._parent(state, inst, head)
        merged = await three_way(self._repository, head.base, parent, head.commit)
        if not merged.is_clean:
            details = f"{merged.words}\n\n{conflict_text(merged.conflicts)}".strip()
            return Refused("IntegrationFailure", details, files=merged.files)
        tree = merged.tree
        if wanted.papers and not instance(state, inst).parent:
            tree = await self._without(tree, wanted.papers, parent)
        commit = await self._made(head, parent, tree, wanted)
        async with self._checkouts.clean(commit) as path:
            refused = await verify(path)
        return msgspec.structs.replace(refused, commit=commit) if refused else Completed(commit, parent)

    async def _made(self, head: Head, parent: str, tree: str, wanted: Wanted) -> str:
        if tree == await self._repository.tree(parent):
            return parent
        kept = await replayed(self._repository, head, parent) if wanted.keep_commits else ""
        if kept and await self._repository.tree(kept) == tree:
            return kept
        at = await self._repository.time(head.commit)
        return await self._repository.commit(tree, (parent,), wanted.message, at)

    async def _without(self, tree: str, papers: tuple[str, ...], base: str) -> str:
        """A tree in which some files are as they are in a commit, or are not there at all."""
        trees = Trees(self._repository)
        now, before = (await trees.listing(tree)).by_path, (await trees.listing(base)).by_path
        files = {path: before.get(path) for path in papers if now.get(path) != before.get(path)}
        return await trees.changed(tree, files) if files else tree

    async def _parent(self, state: State, inst: str, head: Head) -> str:
        """What is merged into. A result that waits for a person stands where its run started."""
        if not instance(state, inst).parent and self._policy != "auto":
            return head.base
        return await self._integration.parent_head(state, inst)

    async def _publish(self, state: State, inst: str, done: Completed) -> bool:
        parent = instance(state, inst).parent
        if not parent:
            return True
        if await self._integration.publish(state.run, parent, done.commit, done.before):
            return True
        now = await self._integration.refs.get(self._integration.names(state.run).integration(parent))
        return await self._repository.is_ancestor(done.commit, now)

    async def _finish(self, state: State, inst: str, done: Completed) -> Completed:
        """A squash forgets ancestry: the child goes on from the merge, so that nothing is ever merged twice."""
        delivered = None
        if not instance(state, inst).parent:
            delivered = await deliver(self._integration, state.run, done.commit, self._policy)
        await self._integration.move(state.run, inst, done.commit, done.commit)
        await self._lanes.leave(state.run, inst)
        return msgspec.structs.replace(done, delivered=delivered)

    async def _done_before(self, state: State, inst: str, act: str) -> Completed | None:
        """What an earlier try of the same activity had verified, if it can still be published or has been."""
        names, refs = self._integration.names(state.run), self._integration.refs
        commit = await refs.get(names.of_activity(act, "accepted"))
        if not commit:
            return None
        before = await refs.get(names.of_activity(act, "before")) or next(iter(await self._repository.parents(commit)))
        parent = instance(state, inst).parent
        now = await refs.get(names.integration(parent)) if parent else ""
        fits = not parent or now == before or await self._repository.is_ancestor(commit, now)
        return Completed(commit, before) if fits else None

    async def _note(self, run: str, act: str, done: Completed) -> None:
        names = self._integration.names(run)
        noted = {names.of_activity(act, "accepted"): done.commit, names.of_activity(act, "before"): done.before}
        await self._integration.refs.put_all(noted)
