"""Merge, fold and rebase: how the work of instances reaches their parents, and their parents' work reaches them.

Theory of operation. Every instance has an integration branch (`integration.py`): a ref below `refs/treadle/` that no
agent ever gets. A **merge** puts the work of a finished instance onto its parent's head in five steps:

1. *Build.* `git merge-tree` makes the merged tree from the objects alone, and Treadle commits it: usually one squashed
   commit. No ref and no working tree is involved, so a failure up to step 4 leaves nothing to clean up.
2. *Verify.* That very commit has to pass build, contract suite and all tests, in a clean checkout.
3. *Note.* The refs `accepted` and `before` of the activity record what was verified, and on which head. (Here
   `accepted` does not mean acceptance by the kernel: that comes later, with the exit of the effect. For an agent's
   work it does: `Integration` writes that ref only after the kernel has accepted the claim.)
4. *Publish.* The parent's branch moves by a compare-and-swap from `before` to the new commit. If it has moved
   meanwhile, by the parent's own work, the swap fails, and everything starts again at step 1: nothing unverified is
   ever published. The root has no parent; its result is delivered (`delivery.py`). The effect `publish` is
   something else: it writes documents to the user's tree.
5. *Move.* The child's branch goes to the merge commit, and its lanes are freed.

A crash before step 3 repeats the merge, which gives the same commit. A crash after it finds the notes: if the parent
still is at `before`, or contains the commit already, the rest is done without a second merge.

A **fold** brings in the work of children that do not merge by themselves (the barrier of a team), all of them or none.
A **rebase** puts an instance on its parent's new head. Where git finds conflicts, or the tests change their verdicts,
it records a *drift* instead: a commit with the conflict markers, which an agent has to adapt.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.git.delivery import DeliveryResult, Policy, deliver
from treadle.git.integration import Drift, Integration, get_instance, replay_commits
from treadle.git.lanes import Lanes
from treadle.git.trees import Trees, three_way
from treadle.kernel.events import CheckResult
from treadle.kernel.state import State
from treadle.ports import Payloads
from treadle.protocol.items import Json

# The verification that a merge or a rebase has to pass; `evidence.merge_verifier` implements it.


class TrialResult(msgspec.Struct, frozen=True):
    """The result of a check on a checkout; a check that could not run has not passed."""

    ok: bool
    details: str = ""
    failing: tuple[str, ...] = ()
    """Ids of the tests that failed, or with a changed verdict."""
    ran: dict[str, Json] = {}
    """The command behind the result, as stored: `command`, `exit`, `duration`, `output`."""
    findings: tuple[dict[str, Json], ...] = ()
    """Findings as data, each with `code`, `what` and its place."""


Reason = Literal["ContractViolation", "BuildFailure", "IntegrationFailure"]


class MergeRefusal(msgspec.Struct, frozen=True):
    """A failed merge; the parent's branch has not moved."""

    reason: Reason
    details: str
    failing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    commit: str = ""
    """The merge commit that failed, if there was one."""


class CommitVerifier(ABC):
    """Verifies the commits that one merge or one rebase has made, and keeps the last results of its checks.

    `evidence.merge_verifier.MergeVerifier` is one. So a merge leaves evidence like a claim.
    """

    def __init__(self) -> None:
        self.seen: dict[str, TrialResult] = {}
        """The last results, by check."""

    @abstractmethod
    async def build(self, commit: str) -> TrialResult:
        """Whether it builds."""

    @abstractmethod
    async def contract(self, commit: str) -> TrialResult:
        """Whether the contract suite passes."""

    @abstractmethod
    async def suite(self, commit: str) -> TrialResult:
        """Whether all tests pass."""

    @abstractmethod
    async def same_colour(self, before: str, after: str) -> TrialResult:
        """Whether every test has the same verdict in both commits."""

    async def verify_merge(self, commit: str) -> MergeRefusal | None:
        """Check build, contract suite and all tests, in this order; return why the commit must not be published."""
        self.seen.clear()  # a new attempt: results on another tree say nothing about this one
        checks: tuple[tuple[str, Reason, Callable[[str], Awaitable[TrialResult]]], ...] = (
            ("build", "BuildFailure", self.build),
            ("contract", "ContractViolation", self.contract),
            ("suite", "IntegrationFailure", self.suite),
        )
        for name, reason, check in checks:
            tried = self.seen[name] = await check(commit)
            if not tried.ok:
                return MergeRefusal(reason, tried.details, tried.failing)
        return None

    async def verify_rebase(self, before: str, after: str) -> TrialResult:
        """Compare the verdicts of all tests before and after a rebase."""
        self.seen["same_colour"] = await self.same_colour(before, after)
        return self.seen["same_colour"]

    def results(self, payloads: Payloads, commit: str, tree: str) -> tuple[CheckResult, ...]:
        """Return the check results for that commit, with their evidence in the payload store."""
        no_command: dict[str, Json] = {"command": [], "exit": None, "duration": 0.0, "output": ""}
        found: list[CheckResult] = []
        for check, tried in self.seen.items():
            head: dict[str, Json] = {"check": check, "ok": tried.ok, "commit": commit, "tree": tree}
            report: dict[str, Json] = {"report": tried.details, "findings": list(tried.findings)}
            found.append(CheckResult(check, tried.ok, payloads.put({**head, **no_command, **tried.ran, **report})))
        return tuple(found)


_TRIES: Final = 5
"""How often a merge is tried while the parent's own work moves its branch."""


class MergeRequest(msgspec.Struct, frozen=True):
    """The form of the merge: one commit with this message, or the instance's own commits."""

    message: str
    keep_commits: bool = False
    papers: tuple[str, ...] = ()
    """Files of the run that its result does not carry; the result restores them to their state before the run."""
    policy: Policy = "branch"
    """The destination of a root's result."""


class MergeResult(msgspec.Struct, frozen=True):
    """A published merge."""

    commit: str
    before: str
    """The parent's head before it."""
    delivered: DeliveryResult | None = None
    """The delivery, if this is the result of the whole run."""


async def merge_instance(
    lanes: Lanes, state: State, inst: str, act: str, request: MergeRequest, verifier: CommitVerifier
) -> MergeResult | MergeRefusal:
    """Merge an instance's accepted work into its parent's branch; a repeated call detects work already done."""
    integration, names = lanes.integration, lanes.integration.names(state.run)
    parent = get_instance(state, inst).parent
    done = await _find_earlier(integration, state.run, act, parent)
    for _ in range(_TRIES):
        if done is None:
            attempt = await _try_merge(integration, state, inst, request, verifier)
            if isinstance(attempt, MergeRefusal):
                return attempt
            done = attempt
            # Both notes precede the swap: a crash after it finds them, and does not merge the same work again.
            noted = {names.of_activity(act, "accepted"): done.commit, names.of_activity(act, "before"): done.before}
            await integration.refs.put_all(noted)

        if not parent:
            delivered = await deliver(integration, state.run, done.commit, request.policy)
            done = msgspec.structs.replace(done, delivered=delivered)
        elif not await integration.swap_head(state.run, parent, done.commit, done.before):
            head = await integration.refs.get(names.integration(parent))
            if not await integration.repository.is_ancestor(done.commit, head):
                done = None  # the parent's branch has moved meanwhile: merge and verify once more, on the new head
                continue

        # A squash loses ancestry, so without this move the same work could be merged twice.
        await integration.move(state.run, inst, done.commit, done.commit)
        await lanes.free_lanes(state.run, inst)
        return done
    raise PortError(
        f"the parent's branch of {inst} has moved {_TRIES} times during the merge", retryable=True, code="git.moved"
    )


async def _find_earlier(integration: Integration, run: str, act: str, parent: str) -> MergeResult | None:
    """Return the merge that an earlier attempt of the activity verified, if it is published or still can be."""
    names, refs, repository = integration.names(run), integration.refs, integration.repository
    commit = await refs.get(names.of_activity(act, "accepted"))
    if not commit:
        return None
    before = await refs.get(names.of_activity(act, "before")) or (await repository.parents(commit))[0]
    if parent:
        head = await refs.get(names.integration(parent))
        if head != before and not await repository.is_ancestor(commit, head):
            return None
    return MergeResult(commit, before)


async def _try_merge(
    integration: Integration, state: State, inst: str, request: MergeRequest, verifier: CommitVerifier
) -> MergeResult | MergeRefusal:
    """Build the merge commit among the objects, and verify it; no ref moves."""
    repository, is_root = integration.repository, not get_instance(state, inst).parent
    head = await integration.integrate(state, inst)
    if head.drift:
        drift = await integration.drift(head)
        details = f"not resolved yet: {', '.join(drift.files + drift.tests)}"
        return MergeRefusal("IntegrationFailure", details, drift.tests, drift.files)
    # A result that waits for a person stays on the base of its run; `treadle deliver` rebases it later.
    stays = is_root and request.policy != "auto"
    onto = head.base if stays else await integration.parent_head(state, inst)
    merged = await three_way(repository, head.base, onto, head.commit)
    if not merged.is_clean:
        parts = [f"{one.path}\n--- ours\n{one.ours}\n--- theirs\n{one.theirs}" for one in merged.conflicts]
        details = "\n\n".join((merged.words, *parts)).strip()
        return MergeRefusal("IntegrationFailure", details, files=merged.files)

    tree = merged.tree
    if is_root and request.papers:
        trees = Trees(repository)
        before = (await trees.listing(onto)).by_path
        tree = await trees.changed(tree, {path: before.get(path) for path in request.papers})
    if tree == await repository.tree(onto):
        commit = onto  # nothing to merge: an empty commit would only be noise
    else:
        commit = await replay_commits(repository, head, onto) if request.keep_commits else ""
        if not commit or await repository.tree(commit) != tree:
            commit = await repository.commit(tree, (onto,), request.message, await repository.time(head.commit))

    refused = await verifier.verify_merge(commit)
    return msgspec.structs.replace(refused, commit=commit) if refused else MergeResult(commit, onto)


# Fold the work of children that do not merge by themselves into their parent's branch: the barrier of a team.


class FoldResult(msgspec.Struct, frozen=True):
    """The parent's head with the work of its children; with conflicts, no branch has moved."""

    commit: str
    files: tuple[str, ...] = ()
    """The files that the children changed, or the files in conflict."""
    is_clean: bool = True


async def fold_children(lanes: Lanes, state: State, inst: str, groups: tuple[str, ...] = ()) -> FoldResult:
    """Fold in all children of some groups (default: all), in the order of their creation; all of them or none."""
    integration, repository = lanes.integration, lanes.integration.repository
    parent = get_instance(state, inst)
    wanted = [parent.groups[name] for name in groups or tuple(parent.groups) if name in parent.groups]
    ids = {id_ for group in wanted for id_ in group.members.values() if id_ in state.insts}
    children = sorted((state.insts[id_] for id_ in ids), key=lambda child: child.n)

    start = await integration.integrate(state, inst)
    commit = start.commit
    for child in children:
        head = await integration.integrate(state, child.id)
        if await repository.is_ancestor(head.commit, commit):
            continue
        merged = await three_way(repository, head.base, commit, head.commit)
        if not merged.is_clean:
            return FoldResult(commit, merged.files, is_clean=False)
        if merged.tree != await repository.tree(commit):
            message, at = f"{child.key or child.id}: fold\n", await repository.time(head.commit)
            commit = await repository.commit(merged.tree, (commit,), message, at)

    # The parent first: if a crash comes in between, a repeated fold finds the children's work in the parent's branch.
    await integration.move(state.run, inst, commit, start.base, start.commit)
    for child in children:
        await integration.move(state.run, child.id, commit, commit)
        await lanes.free_lanes(state.run, child.id)
    changes = await Trees(repository).changes(start.base, commit)
    return FoldResult(commit, tuple(change.path for change in changes))


# Rebase an instance onto its parent's new head: by itself where possible, else prepared for an agent.


class RebaseResult(msgspec.Struct, frozen=True):
    """An instance's new base; with conflicts or changed tests, an agent has to adapt the instance."""

    base: str
    files: tuple[str, ...] = ()
    changed_tests: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.files and not self.changed_tests


async def rebase_instance(
    integration: Integration, state: State, inst: str, verifier: CommitVerifier | None = None
) -> RebaseResult:
    """Rebase an instance onto its parent's head; return the existing result if that is done.

    Its lanes get the change when they are opened next.
    """
    run, repository = state.run, integration.repository
    head, onto = await integration.integrate(state, inst), await integration.parent_head(state, inst)
    if head.drift and head.onto == onto:
        drift = await integration.drift(head)
        return RebaseResult(onto, drift.files, changed_tests=drift.tests)
    if head.base == onto:
        return RebaseResult(onto)

    if rebased := await replay_commits(repository, head, onto):
        # Git found no conflict, but the tests decide: the parent may have changed what this work relies on.
        tried = await verifier.verify_rebase(head.commit, rebased) if verifier else TrialResult(ok=True)
        if tried.ok:
            await integration.move(run, inst, rebased, onto, head.commit)
            return RebaseResult(onto)
        changed = tried.failing or (tried.details or "the tests could not be compared",)
        tree = await repository.tree(rebased)
        await integration.set_drift(run, inst, tree, onto, Drift(tests=changed), head.commit)
        return RebaseResult(onto, changed_tests=changed)

    # One commit conflicts. Merge everything at once: that shows all conflicts together, and the total may fit
    # although a single commit did not.
    merged = await three_way(repository, head.base, onto, head.commit)
    if merged.is_clean:
        at = await repository.time(head.commit)
        commit = await repository.commit(merged.tree, (onto,), f"{inst} on its parent's new head\n", at)
        await integration.move(run, inst, commit, onto, head.commit)
        return RebaseResult(onto)
    files = merged.files
    if not files:  # git cannot pin a conflict of renamed folders to a file
        files = tuple(change.path for change in await Trees(repository).changes(head.base, head.commit))
    await integration.set_drift(run, inst, merged.tree, onto, Drift(files), head.commit)
    return RebaseResult(onto, files)
