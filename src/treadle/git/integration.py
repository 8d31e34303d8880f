"""The integration branches: where the accepted work of each instance comes together, one commit at a time.

While Treadle verifies a claim, it records the lane's work as a commit and notes that commit as *pending*. The state of
a later command shows whether the kernel accepted the claim: then the instance has a slot for the exit, written after
the claim, and Treadle integrates the work. Without such a slot it drops the note. So a crash at any moment loses
nothing and integrates nothing twice.
"""

import asyncio
from collections import defaultdict
from typing import Final

import msgspec

from treadle.errors import PortError
from treadle.git.checkpoint import ACTIVITY
from treadle.git.ref_names import DEFAULT_PREFIX, RefNames
from treadle.git.refs import Refs, refs_of_run
from treadle.git.repository import Repository
from treadle.git.trees import three_way
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
    """The position of an instance."""

    commit: str
    """The head of its integration branch."""
    base: str
    """The commit of its parent (for the root: of the user's branch) that it is based on."""
    drift: str = ""
    """A commit with conflict markers that has to be resolved first; its parent is `onto`."""
    onto: str = ""

    @property
    def start(self) -> str:
        """The commit that the next agent gets."""
        return self.drift or self.commit

    @property
    def parent_of_next_work(self) -> str:
        """The parent commit of the next agent's work."""
        return self.onto or self.commit


class Drift(msgspec.Struct, frozen=True):
    """The reasons why an agent has to adapt an instance: files in conflict, or tests with changed verdicts."""

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
        self._generated: dict[str, str] = {}
        self._older: set[str] = set()
        """Runs that had branches of an older version when `trunk` was first asked for them here."""
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    def names(self, run: str) -> RefNames:
        """Return the refs of a run."""
        return RefNames(run, self.prefix)

    async def trunk(self, run: str, at: int = 0) -> Trunk:
        """Return the user's branch and commit at the start of a run. The first call records them in a ref."""
        if run in self._trunks:
            return self._trunks[run]
        names = self.names(run)
        noted = await self.refs.get(names.start) or (await self.every_ref(run)).get(names.start, "")
        if not noted:
            head = await self.repository.users("rev-parse", "--verify", "HEAD^{commit}")
            branch = (await self.repository.users("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))).text
            tree = await self.repository.tree(head.text)
            note = await self.repository.commit(tree, (head.text,), f"start\n\n{_TRUNK}: {branch}\n", at)
            await self.refs.swap(names.start, note, "")
            noted = await self.refs.get(names.start)  # another process may have been faster; its note counts
        branch = read_trailer(await self.repository.message(noted), _TRUNK)
        self._trunks[run] = Trunk(branch, (await self.repository.parents(noted))[0])
        await self.refs.know(*names.spaces)
        if any(map(names.name_after_move, await self.refs.below(names.older))):
            self._older.add(run)
        return self._trunks[run]

    async def generated(self, run: str) -> str:
        """Return the tree of the run's generated files from the user's checkout; empty if it has none."""
        if run not in self._generated:
            ref = self.names(run).generated
            noted = await self.refs.get(ref) or (await self.every_ref(run)).get(ref, "")
            self._generated[run] = await self.repository.tree(noted) if noted else ""
        return self._generated[run]

    async def keep_generated(self, run: str, tree: str, at: int) -> str:
        """Record the generated files of a run; the first record wins and is returned."""
        note = await self.repository.commit(tree, (), "generated files\n", at)
        await self.refs.swap(self.names(run).generated, note, "")
        self._generated.pop(run, None)
        return await self.generated(run)

    async def every_ref(self, run: str) -> dict[str, str]:
        """Return all refs of a run, packed or not."""
        return await refs_of_run(self.repository, self.refs, self.names(run))

    async def offer(self, run: str, commit: str) -> None:
        """Put accepted work that no step has merged on a result branch, where people look for it."""
        trunk, names = await self.trunk(run), self.names(run)
        if await self.repository.tree(commit) == await self.repository.tree(trunk.commit):
            return
        if await self.refs.swap(names.result, commit, ""):  # else a merge has made a result
            await self.refs.put(names.verified_result, commit)

    async def integrate(self, state: State, inst: str, current: str = "") -> Head:
        """Integrate all accepted work of an instance into its branch; return where the instance stands then.

        `current` is the activity that asks: its own work is not integrated, even if it was recorded before a crash.
        """
        names = self.names(state.run)
        async with self._locks[state.run, inst]:
            wanted = (
                names.integration(inst),
                *(names.of_instance(inst, what) for what in ("base", "drift", "pending")),
            )
            found = await self.refs.all_of(wanted)
            commit, base, drift, pending = (found.get(ref, "") for ref in wanted)
            if not commit and state.run in self._older:
                # Another process may have driven the run with an older version while its branches were to be moved.
                commit = (await self.every_ref(state.run)).get(wanted[0], "")
                await self.refs.put_all({wanted[0]: commit} if commit else {})
            if commit:
                onto = (await self.repository.parents(drift))[0] if drift else ""
                head = Head(commit, base or commit, drift, onto)
            else:
                # A new instance starts at its parent's head, and the root at the commit where the run started.
                parent = get_instance(state, inst).parent
                if parent:
                    start = (await self.integrate(state, parent)).commit
                else:
                    start = (await self.trunk(state.run, state.started)).commit
                head = await self.move(state.run, inst, start, start, "")
            return await self._integrate_pending(state, inst, current, head, pending) if pending else head

    async def _integrate_pending(self, state: State, inst: str, current: str, head: Head, pending: str) -> Head:
        """Integrate pending work if the kernel has accepted its claim; drop the note if the kernel has refused it."""
        names = self.names(state.run)
        note = await self.repository.message(pending)
        work = (await self.repository.parents(pending))[0]
        act, seq = read_trailer(note, ACTIVITY), int(read_trailer(note, _SEQ))
        if act in (current, *state.acts) or state.seq <= seq:
            return head  # not decided yet, or the state is older than the claim
        slot = get_instance(state, inst).slots.get(f"{read_trailer(note, _STEP)}.{read_trailer(note, _EXIT)}")
        if slot is None or slot.seq <= seq:
            await self.refs.delete(names.of_instance(inst, "pending"))
            return head
        # The branch moves first, the note goes second: after a crash in between, the next call finds the work in it.
        # Here the ref `accepted` means acceptance by the kernel; that of a merge precedes it (`merge.py`, step 3).
        integrated = await self._bring_in(state.run, inst, head, work)
        await self.refs.put_all({names.of_activity(act, "accepted"): work, names.of_instance(inst, "pending"): ""})
        return integrated

    async def _bring_in(self, run: str, inst: str, head: Head, work: str) -> Head:
        """Bring accepted work into the instance's branch; children may have been merged into it since the work began.

        If the two conflict, the result is a drift.
        """
        repository = self.repository
        below = (await repository.parents(work))[0]
        if head.drift and below == head.onto:
            return await self._resolve_drift(run, inst, head, work)
        if head.commit in (below, work):
            return await self.move(run, inst, work, head.base, head.commit)
        if await repository.is_ancestor(work, head.commit):
            return head
        merged = await three_way(repository, below, head.commit, work)
        if not merged.is_clean:
            drift = await self.set_drift(run, inst, merged.tree, head.commit, Drift(merged.files), head.commit)
            return Head(head.commit, head.base, drift, head.commit)
        commit = await repository.recommit(work, merged.tree, head.commit)
        return await self.move(run, inst, commit, head.base, head.commit)

    async def _resolve_drift(self, run: str, inst: str, head: Head, work: str) -> Head:
        """Move an instance to its adapted work, and merge in the children's work since that began."""
        repository = self.repository
        since = read_trailer(await repository.message(head.drift), _SINCE) or head.commit
        base = head.base if head.onto == since else head.onto
        if since == head.commit:
            return await self.move(run, inst, work, base, head.commit)
        merged = await three_way(repository, since, work, head.commit)
        if merged.is_clean:
            commit = await repository.recommit(head.commit, merged.tree, work)
            return await self.move(run, inst, commit, base, head.commit)
        # The children's work conflicts with the adapted work: the next drift, in one transaction with the move.
        drift = await self._commit_drift(inst, merged.tree, work, Drift(merged.files), work)
        await self.move(run, inst, work, base, head.commit, drift)
        return Head(work, base, drift, work)

    async def note_pending(self, state: State, job: RunChecks, commit: str) -> None:
        """Record a commit as pending after its checks have passed; the kernel decides whether to accept it."""
        names = self.names(state.run)
        lines = {ACTIVITY: job.id, _STEP: job.step, _EXIT: tag_of(job.exit), _SEQ: state.seq}
        text = "pending\n\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())
        note = await self.repository.note(commit, text)
        await self.refs.put(names.of_instance(job.inst, "pending"), note)

    async def move(self, run: str, inst: str, commit: str, base: str, old: str | None = None, drift: str = "") -> Head:
        """Move an instance to another commit (if it still is at `old`), and replace or clear its drift."""
        names = self.names(run)
        values = {
            names.integration(inst): commit,
            names.of_instance(inst, "base"): base,
            names.of_instance(inst, "drift"): drift,
        }
        await self.refs.put_all(values, {} if old is None else {names.integration(inst): old})
        return Head(commit, base)

    async def swap_head(self, run: str, inst: str, new: str, old: str) -> bool:
        """Move an integration branch from one commit to the next; return False if it has moved meanwhile."""
        async with self._locks[run, inst]:
            return await self.refs.swap(self.names(run).integration(inst), new, old)

    async def set_drift(self, run: str, inst: str, tree: str, onto: str, drift: Drift, since: str) -> str:
        """Record a tree, made from the head `since`, that an agent has to adapt before the instance continues.

        The adapted work will stand on `onto`.
        """
        commit = await self._commit_drift(inst, tree, onto, drift, since)
        await self.refs.put(self.names(run).of_instance(inst, "drift"), commit)
        return commit

    async def _commit_drift(self, inst: str, tree: str, onto: str, drift: Drift, since: str) -> str:
        noted = msgspec.json.encode(drift).decode()
        text = f"{inst} on top of another head\n\n{_DRIFT}: {noted}\n{_SINCE}: {since}\n"
        return await self.repository.commit(tree, (onto,), text, await self.repository.time(onto))

    async def drift(self, head: Head) -> Drift:
        """Return the conflicts and tests to adapt."""
        noted = read_trailer(await self.repository.message(head.drift), _DRIFT)
        return msgspec.json.decode(noted, type=Drift)

    async def parent_head(self, state: State, inst: str) -> str:
        """Return the commit to merge into: the head of the instance's parent, or of the user's branch as it is now."""
        parent = get_instance(state, inst).parent
        if parent:
            return (await self.integrate(state, parent)).commit
        trunk = await self.trunk(state.run)
        return (await self.refs.get(trunk.branch) if trunk.branch else "") or trunk.commit


def get_instance(state: State, inst: str) -> Instance:
    """Return an instance of a run, or raise a `PortError` if the run does not know it."""
    found = state.insts.get(inst)
    if found is None:
        raise PortError(f"the run {state.run!r} has no instance {inst!r}", code="run.no_instance")
    return found


def read_trailer(message: str, name: str) -> str:
    """Return the value of the last trailer `Name: value` in a commit message."""
    lines = [line for line in message.splitlines() if line.startswith(f"{name}:")]
    return lines[-1].partition(":")[2].strip() if lines else ""


# Replay commits one by one onto another commit, as `git rebase` does.


async def replay_commits(repository: Repository, head: Head, onto: str) -> str:
    """Rebase an instance's commits onto another commit; return an empty string if one conflicts."""
    if onto == head.base:
        return head.commit
    listed = await repository.git("rev-list", "--reverse", "--first-parent", f"{head.base}..{head.commit}")
    for commit in listed.text.split():
        below = (await repository.parents(commit))[0]
        merged = await three_way(repository, below, onto, commit)
        if not merged.is_clean:
            return ""
        if merged.tree != await repository.tree(onto):
            onto = await repository.recommit(commit, merged.tree, onto)
    return onto
