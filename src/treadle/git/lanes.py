"""Where agents work: a folder for each lane of each instance, with a git folder of its own.

An agent may do what it likes with the git folder of its lane: no ref of the user's is in it. Nothing that lies in a
lane is deleted before it is saved under a ref.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from treadle.errors import PortError
from treadle.git.bystanders import Bystanders, Seen, changed
from treadle.git.integration import Head, Integration
from treadle.git.leases import Lease, Leases
from treadle.git.record import Recorded, Recorder, Taken
from treadle.git.slots import Contents, Slot, Slots, is_as_left
from treadle.git.three_way import three_way
from treadle.kernel.commands import RunAgent
from treadle.kernel.state import State
from treadle.ports import Lane


class Rules(msgspec.Struct, frozen=True):
    """What a step says about its lane."""

    keep_work: bool = False
    hidden: tuple[str, ...] = ()
    """Globs of what the role does not get to see."""
    alone: bool = False
    """Whether nothing outside of the lane can be reached from it, not even the user's objects."""


RulesOf = Callable[[State, RunAgent], Rules]


class Lanes:
    """The lanes of a project: `ports.Workspace`, and what checks and effects need of lanes."""

    def __init__(self, integration: Integration, folder: Path, rules_of: RulesOf, recorder: Recorder) -> None:
        self.integration = integration
        self._leases = Leases(folder)
        self._slots = Slots(integration.repository, recorder.trees)
        self._rules_of = rules_of
        self._recorder = recorder
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._bystanders = Bystanders(integration.repository, integration.refs, integration.prefix)
        self._handed: dict[tuple[str, str], tuple[Lease, Seen]] = {}
        """What this process has handed out, and what stood around then; the notes beside the slots may be forged."""

    def makes(self, globs: Iterable[str]) -> None:
        """Runs write these files of the user's tree themselves, so that their changes are no news."""
        self._bystanders.made.update(globs)

    async def open(self, state: State, job: RunAgent) -> Lane:
        """The lane of an activity, at the head of its instance, or with the work of the step's last attempt."""
        head = await self.integration.head(state, job.inst, job.id)
        rules = self._rules_of(state, job)
        async with self._locks[f"{state.run} {job.inst} {job.lane}"]:
            slot, before = await asyncio.to_thread(self._leases.take, state.run, job.inst, job.lane)
            left = await self._save(slot, before)
            lease = Lease(
                run=state.run,
                inst=job.inst,
                lane=job.lane,
                act=job.id,
                step=job.step,
                base=head.start,
                onto=head.footing,
                hidden=rules.hidden,
                alone=rules.alone,
            )
            kept = left if left and (rules.keep_work or job.goes_on) and await self._is_own(before, job) else ""
            around, _, _ = await asyncio.gather(
                self._bystanders.look(), self._lay_out(slot, lease, before, head, kept), self._note(lease)
            )
            await asyncio.to_thread(self._leases.write, slot, lease)
            self._forget(lease)
            self._handed[lease.run, lease.act] = lease, around
        return Lane(path=slot.path, base=head.start)

    async def save(self, run: str, act: str) -> str:
        """Save what an activity has left in its lane under a ref; the commit, empty if nothing was changed."""
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            return ""
        async with self._locks[" ".join(found[1].key)]:
            return await self._save(*found)

    async def changed(self, run: str, act: str) -> tuple[str, ...]:
        """The files that an activity has changed in its lane, whether it has answered or not."""
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            return ()
        slot, lease = found
        async with self._locks[" ".join(lease.key)]:
            taken = await self._take(slot, lease)
        changes = await self._recorder.trees.changes(lease.base, taken.tree)
        return tuple(dict.fromkeys(path for change in changes for path in change.touched))

    async def close(self, run: str) -> None:
        """The run has ended: save what is in its lanes, and give them back."""
        for slot, lease in await asyncio.to_thread(self._leases.all):
            if lease.run == run:
                await self._give_back(slot, lease)

    async def leave(self, run: str, inst: str) -> None:
        """An instance may be done: its lanes go to whoever needs some."""
        for slot, lease in await asyncio.to_thread(self._leases.all):
            if (lease.run, lease.inst) == (run, inst):
                await self._give_back(slot, lease)

    async def record(self, run: str, act: str, at: int, message: str = "") -> Recorded:
        """What an activity has left in its lane as one commit; the same however often it is asked."""
        slot, lease = await self._of(run, act)
        async with self._locks[" ".join(lease.key)]:
            taken = await self._take(slot, lease)
            recorded = await self._recorder.commit(taken, act, lease.base, lease.onto, at, message)
        names = self.integration.names(run)
        moved = await self.integration.refs.moved(*names.spaces)
        await self.integration.refs.put(names.of_activity(act, "recorded"), recorded.commit)
        return msgspec.structs.replace(recorded, moved=tuple(moved), around=await self._around(run, act))

    async def _around(self, run: str, act: str) -> tuple[str, ...]:
        """What of the user's repository is not as it was when an activity got its lane from this process."""
        handed = self._handed.get((run, act))
        return changed(handed[1], await self._bystanders.look()) if handed else ()

    async def reset(self, run: str, inst: str, commit: str) -> None:
        """Put all lanes of an instance to a commit; what was in them is saved first."""
        for slot, lease in await asyncio.to_thread(self._leases.all):
            if (lease.run, lease.inst) == (run, inst):
                async with self._locks[" ".join(lease.key)]:
                    await self._save(slot, lease)
                    empty = Lease(run=run, inst=inst, lane=lease.lane, base=commit, onto=commit, hidden=lease.hidden)
                    await self._prepare(slot, empty, commit)
                    await asyncio.to_thread(self._leases.write, slot, empty)

    async def _give_back(self, slot: Slot, lease: Lease) -> None:
        async with self._locks[" ".join(lease.key)]:
            await self._save(slot, lease)
            await asyncio.to_thread(self._leases.give_back, slot)
            self._forget(lease)

    def _forget(self, lease: Lease) -> None:
        """What was handed out in a lane before is no more."""
        self._handed = {key: handed for key, handed in self._handed.items() if handed[0].key != lease.key}

    async def _of(self, run: str, act: str) -> tuple[Slot, Lease]:
        found = await asyncio.to_thread(self._leases.find, run, act)
        if found is None:
            raise PortError(
                f"the activity {act!r} of the run {run!r} has no lane; it was given to another one since",
                code="git.no_lane",
            )
        handed = self._handed.get((run, act))
        return (found[0], handed[0]) if handed else found

    async def _take(self, slot: Slot, lease: Lease) -> Taken:
        await self.integration.repository.mend()
        return await self._recorder.take(slot, lease.base, lease.hidden)

    async def _save(self, slot: Slot, lease: Lease) -> str:
        """What an activity has changed, as a commit under its ref; empty if there is nothing of its."""
        if not lease.act or not await asyncio.to_thread(is_as_left, slot):
            return ""
        repository, refs = self.integration.repository, self.integration.refs
        await repository.mend()
        tree = await self._recorder.left(slot, lease.base, lease.hidden)
        if tree == await repository.tree(lease.base):
            return ""
        commit = await repository.commit(tree, (lease.base,), f"left by {lease.act}\n", 0)
        await refs.put(self.integration.names(lease.run).of_activity(lease.act, "wip"), commit)
        return commit

    async def _is_own(self, before: Lease, job: RunAgent) -> bool:
        """Whether leftovers are those of the same step, and not yet part of the instance's accepted work."""
        accepted = self.integration.names(before.run).of_activity(before.act, "accepted")
        return before.step == job.step and (before.act == job.id or not await self.integration.refs.get(accepted))

    async def _carried(self, before: Lease, head: Head, kept: str) -> str:
        """What the lane starts with: the head, or the leftovers on top of it where they fit."""
        if not kept:
            return head.start
        merged = await three_way(self.integration.repository, before.base, head.start, kept)
        return merged.tree if merged.is_clean else head.start

    async def _lay_out(self, slot: Slot, lease: Lease, before: Lease, head: Head, kept: str) -> None:
        if kept and (before.base, before.onto, before.hidden) == (lease.base, lease.onto, lease.hidden):
            await self._slots.refresh(slot, await self._contents(lease, head.start))
        else:
            await self._prepare(slot, lease, await self._carried(before, head, kept))

    async def _prepare(self, slot: Slot, lease: Lease, start: str) -> None:
        """Fill a slot. Until that is done its contents are nobody's, so that a crash mixes nothing up."""
        nobody = Lease(run=lease.run, inst=lease.inst, lane=lease.lane)
        await asyncio.to_thread(self._leases.write, slot, nobody)
        await self._slots.fill(slot, await self._contents(lease, start))

    async def _contents(self, lease: Lease, start: str) -> Contents:
        repository = self.integration.repository
        branch = self.integration.names(lease.run).lane(lease.inst, lease.lane)
        tree = await repository.tree(start)
        if not lease.hidden and not lease.alone:
            return Contents(tree, lease.base, branch)
        tree = await self._recorder.without(tree, lease.hidden)
        shown = await self._recorder.without(lease.base, lease.hidden)
        return Contents(tree, await repository.commit(shown, (), "what this role may see\n", 0), branch, alone=True)

    async def _note(self, lease: Lease) -> None:
        """Where an activity starts from, as a ref."""
        await self.integration.refs.put(self.integration.names(lease.run).of_activity(lease.act, "base"), lease.base)
