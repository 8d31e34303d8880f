"""The integration branches: where the accepted work of each instance comes together, one commit at a time.

A lane's work is recorded while its claim is verified, and noted as *pending*. Whether the kernel accepted the claim is
seen in the state of the next command that needs the instance: the slot of the exit is newer than the claim. Only then
the work is folded in. So a crash at any moment loses
nothing and folds nothing twice.
"""

import asyncio
from collections import defaultdict
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.names import DEFAULT_PREFIX, Names
from treadle.git.packed import refs_of
from treadle.git.record import ACTIVITY
from treadle.git.refs import Refs
from treadle.git.repository import Repository
from treadle.git.three_way import Conflict, three_way
from treadle.kernel.commands import RunChecks
from treadle.kernel.state import Instance, State
from treadle.protocol.model import tag_of

_TRUNK: Final = "Treadle-Trunk"
_STEP: Final = "Treadle-Step"
_EXIT: Final = "Treadle-Exit"
_SEQ: Final = "Treadle-Seq"
_DRIFT: Final = "Treadle-Drift"
_SINCE: Final = "Treadle-Since"
"""The head that a drift was made from: children may be merged into the branch before it is resolved."""


class Head(msgspec.Struct, frozen=True):
    """Where an instance stands."""

    commit: str
    """The head of its integration branch."""
    base: str
    """The commit of its parent (the root: of the user's branch) that it stands on."""
    drift: str = ""
    """A commit with conflict markers that has to be resolved first; it stands on `onto`."""
    onto: str = ""

    @property
    def start(self) -> str:
        """What the next agent gets."""
        return self.drift or self.commit

    @property
    def footing(self) -> str:
        """What the next agent's work will stand on."""
        return self.onto or self.commit


class Drift(msgspec.Struct, frozen=True):
    """Why an agent has to look at an instance: files in conflict, or tests that have another verdict now."""

    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


class Trunk(msgspec.Struct, frozen=True):
    """The user's branch when the run started; no branch if the head was detached."""

    branch: str
    commit: str


class Integration:
    """The integration branches of all runs of a repository."""

    def __init__(self, repository: Repository, refs: Refs, prefix: str = DEFAULT_PREFIX) -> None:
        self.repository, self.refs = repository, refs
        self.prefix = prefix
        self._trunks: dict[str, Trunk] = {}
        self._older: set[str] = set()
        """Runs that had branches of an older version when they were begun here."""
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    def names(self, run: str) -> Names:
        """The refs of a run."""
        return Names(run, self.prefix)

    async def begin(self, run: str, at: int = 0) -> Trunk:
        """Note where a run starts: the user's branch and its commit. Asked again, it tells what was noted."""
        if run not in self._trunks:
            self._trunks[run] = await self._noted_trunk(run, at)
            await self.refs.know(*self.names(run).spaces)
            if any(map(self.names(run).moved, await self.refs.below(self.names(run).older))):
                self._older.add(run)
        return self._trunks[run]

    async def _noted_trunk(self, run: str, at: int) -> Trunk:
        names = self.names(run)
        noted = await self.refs.get(names.start) or (await self.every_ref(run)).get(names.start, "")
        if not noted:
            head = await self.repository.users("rev-parse", "--verify", "HEAD^{commit}")
            branch = (await self.repository.users("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))).text
            tree = await self.repository.tree(head.text)
            note = await self.repository.commit(tree, (head.text,), f"start\n\n{_TRUNK}: {branch}\n", at)
            await self.refs.swap(names.start, note, "")
            noted = await self.refs.get(names.start)
        branch = trailer(await self.repository.message(noted), _TRUNK)
        return Trunk(branch, (await self.repository.parents(noted))[0])

    async def every_ref(self, run: str) -> dict[str, str]:
        """All refs of a run, whether they are packed or not."""
        return await refs_of(self.repository, self.refs, self.names(run))

    async def offer(self, run: str, commit: str) -> None:
        """Give accepted work that no step has merged a result branch, where people look for it."""
        trunk, ref = await self.begin(run), self.names(run).result
        if await self.repository.tree(commit) != await self.repository.tree(trunk.commit):
            await self.refs.swap(ref, commit, "")

    async def head(self, state: State, inst: str, current: str = "") -> Head:
        """Where an instance stands, after everything that was accepted has been folded in.

        `current` is the activity that asks: its own work is not folded in, even if it was recorded before a crash.
        """
        async with self._locks[state.run, inst]:
            found, pending = await self._read(state, inst)
            return await self._settled(state, inst, current, found, pending) if pending else found

    async def accept(self, state: State, job: RunChecks, commit: str) -> None:
        """All checks of a claim have passed on its recorded commit; the kernel has the last word."""
        names = self.names(state.run)
        tree, at = await self.repository.tree(commit), await self.repository.time(commit)
        lines = {ACTIVITY: job.id, _STEP: job.step, _EXIT: tag_of(job.exit), _SEQ: state.seq}
        text = "pending\n\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())
        note = await self.repository.commit(tree, (commit,), text, at)
        await self.refs.put(names.of_instance(job.inst, "pending"), note)

    async def move(self, run: str, inst: str, commit: str, base: str, old: str | None = None) -> Head:
        """Put an instance somewhere else (if it still is at `old`), with nothing left to resolve."""
        names = self.names(run)
        values = {names.integration(inst): commit, names.of_instance(inst, "base"): base}
        expected = {} if old is None else {names.integration(inst): old}
        await self.refs.put_all(values | {names.of_instance(inst, "drift"): ""}, expected)
        return Head(commit, base)

    async def publish(self, run: str, inst: str, new: str, old: str) -> bool:
        """Move an integration branch from one commit to the next; False if it is elsewhere by now."""
        async with self._locks[run, inst]:
            return await self.refs.swap(self.names(run).integration(inst), new, old)

    async def set_drift(self, run: str, inst: str, tree: str, onto: str, drift: Drift, since: str) -> str:
        """An agent has to adapt this tree, made from the head `since`, before the instance can go on, on `onto`."""
        commit = await self._drift(inst, tree, onto, drift, since)
        await self.refs.put(self.names(run).of_instance(inst, "drift"), commit)
        return commit

    async def _drift(self, inst: str, tree: str, onto: str, drift: Drift, since: str) -> str:
        noted = msgspec.json.encode(drift).decode()
        text = f"{inst} on top of another head\n\n{_DRIFT}: {noted}\n{_SINCE}: {since}\n"
        return await self.repository.commit(tree, (onto,), text, await self.repository.time(onto))

    async def drift(self, head: Head) -> Drift:
        """What has to be adapted."""
        noted = trailer(await self.repository.message(head.drift), _DRIFT)
        return msgspec.json.decode(noted, type=Drift)

    async def parent_head(self, state: State, inst: str) -> str:
        """The commit that an instance will be merged into: its parent's head, or the user's branch as it is now."""
        parent = instance(state, inst).parent
        if parent:
            return (await self.head(state, parent)).commit
        trunk = await self.begin(state.run)
        return (await self.refs.get(trunk.branch) if trunk.branch else "") or trunk.commit

    async def _read(self, state: State, inst: str) -> tuple[Head, str]:
        """Where an instance stands, and what is recorded and not folded in yet."""
        names = self.names(state.run)
        wanted = (names.integration(inst), *(names.of_instance(inst, what) for what in ("base", "drift", "pending")))
        found = await self.refs.all_of(wanted)
        commit, base, drift, pending = (found.get(ref, "") for ref in wanted)
        if not commit and state.run in self._older:
            # Another process may have driven the run with an older version while its branches were to be moved.
            commit = (await self.every_ref(state.run)).get(wanted[0], "")
            await self.refs.put_all({wanted[0]: commit} if commit else {})
        if not commit:
            return await self._found(state, inst), pending
        onto = (await self.repository.parents(drift))[0] if drift else ""
        return Head(commit, base or commit, drift, onto), pending

    async def _found(self, state: State, inst: str) -> Head:
        """The first time that an instance needs a place: its parent's head, or where the run started."""
        parent = instance(state, inst).parent
        if parent:
            start = (await self.head(state, parent)).commit
        else:
            start = (await self.begin(state.run, state.started)).commit
        return await self.move(state.run, inst, start, start, "")

    async def _settled(self, state: State, inst: str, current: str, head: Head, pending: str) -> Head:
        names = self.names(state.run)
        note = await self.repository.message(pending)
        work = (await self.repository.parents(pending))[0]
        act, seq = trailer(note, ACTIVITY), int(trailer(note, _SEQ))
        if act in (current, *state.acts) or state.seq <= seq:
            return head  # not decided yet, or a state that is older than the claim
        slot = instance(state, inst).slots.get(f"{trailer(note, _STEP)}.{trailer(note, _EXIT)}")
        if slot is None or slot.seq <= seq:
            await self.refs.delete(names.of_instance(inst, "pending"))
            return head
        folded = await self._fold(state.run, inst, head, work)
        await self.refs.put_all({names.of_activity(act, "accepted"): work, names.of_instance(inst, "pending"): ""})
        return folded

    async def _fold(self, run: str, inst: str, head: Head, work: str) -> Head:
        """Take recorded work in; children may have been merged since it was begun."""
        below = (await self.repository.parents(work))[0]
        if head.drift and below == head.onto:
            return await self._resolved(run, inst, head, work)
        if head.commit in (below, work):
            return await self.move(run, inst, work, head.base, head.commit)
        if await self.repository.is_ancestor(work, head.commit):
            return head
        merged = await three_way(self.repository, below, head.commit, work)
        if not merged.is_clean:
            drift = await self.set_drift(run, inst, merged.tree, head.commit, Drift(merged.files), head.commit)
            return Head(head.commit, head.base, drift, head.commit)
        message, at = await self.repository.message(work), await self.repository.time(work)
        commit = await self.repository.commit(merged.tree, (head.commit,), message, at)
        return await self.move(run, inst, commit, head.base, head.commit)

    async def _resolved(self, run: str, inst: str, head: Head, work: str) -> Head:
        """Put an instance on its adapted work, with what children have merged since that was begun."""
        since = trailer(await self.repository.message(head.drift), _SINCE) or head.commit
        base = head.base if head.onto == since else head.onto
        if since == head.commit:
            return await self.move(run, inst, work, base, head.commit)
        merged = await three_way(self.repository, since, work, head.commit)
        if merged.is_clean:
            message, at = await self.repository.message(head.commit), await self.repository.time(head.commit)
            commit = await self.repository.commit(merged.tree, (work,), message, at)
            return await self.move(run, inst, commit, base, head.commit)
        drift = await self._drift(inst, merged.tree, work, Drift(merged.files), work)
        names = self.names(run)
        values = {names.integration(inst): work, names.of_instance(inst, "base"): base}
        await self.refs.put_all(
            values | {names.of_instance(inst, "drift"): drift}, {names.integration(inst): head.commit}
        )
        return Head(work, base, drift, work)


def instance(state: State, inst: str) -> Instance:
    """An instance of a run, or a `PortError`: nothing is done for one that the run does not know."""
    found = state.insts.get(inst)
    if found is None:
        raise PortError(f"the run {state.run!r} has no instance {inst!r}", code="run.no_instance")
    return found


def trailer(message: str, name: str) -> str:
    """The value of a line `Name: value` at the end of a commit's message."""
    lines = [line for line in message.splitlines() if line.startswith(f"{name}:")]
    return lines[-1].partition(":")[2].strip() if lines else ""


def conflict_text(conflicts: tuple[Conflict, ...]) -> str:
    """Conflicts as an agent or a person reads them."""
    parts = [f"{one.path}\n--- ours\n{one.ours}\n--- theirs\n{one.theirs}" for one in conflicts]
    return "\n\n".join(parts)
