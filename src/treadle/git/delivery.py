"""What becomes of a finished run: its branch, and (only if asked for) the user's own."""

import os
from typing import Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.git.integration import Head, Integration, Trunk, trailer
from treadle.git.process import shorten
from treadle.git.replay import replayed
from treadle.git.three_way import three_way
from treadle.kernel.lifecycle import ROOT

Policy = Literal["branch", "auto", "ask", "never"]
POLICIES: Final[tuple[Policy, ...]] = ("branch", "auto", "ask", "never")
_WHY: Final = "Treadle-Why"
_ONTO: Final = "Treadle-Onto"
_NAMED: Final = 5


MOVED: Final = "deliver.moved"


class Obstacle(msgspec.Struct, frozen=True):
    """Why the user's branch is not moved."""

    why: str
    code: str
    """As `codes.ERRORS` lists it."""


class Carried(msgspec.Struct, frozen=True):
    """A result on top of today's head of the user's branch; nothing has moved yet."""

    base: str
    """What the result stands on."""
    onto: str
    """The head of the user's branch."""
    commit: str = ""
    """The result on top of it; empty if there are conflicts."""
    conflicts: tuple[str, ...] = ()
    """Files that both have changed differently."""


class Delivered(msgspec.Struct, frozen=True):
    """Where a result is; `why` says why the user's branch was not moved, if that was wanted."""

    commit: str
    branch: str = ""
    moved: str = ""
    why: str = ""

    def __str__(self) -> str:
        if self.moved:
            return f"{self.moved.removeprefix('refs/heads/')} is at the result, {self.commit[:12]}"
        where = f"the result waits on the branch {self.branch.removeprefix('refs/heads/')}" if self.branch else ""
        return "; ".join(part for part in (where or f"the result is {self.commit[:12]}", self.why) if part)


async def deliver(integration: Integration, run: str, commit: str, policy: Policy) -> Delivered:
    """Put a run's result where its policy says; harmless if it is there."""
    if policy == "never":
        return Delivered(commit)
    branch = integration.names(run).result
    await integration.refs.put(branch, commit)
    if policy != "auto":
        return Delivered(commit, branch)
    trunk = await integration.begin(run)
    obstacle = await fast_forward(integration, trunk, commit)
    why = obstacle.why if obstacle else ""
    await _note(integration, run, commit, why)
    return Delivered(commit, branch, "" if why else trunk.branch, why)


async def put_verified(integration: Integration, run: str, carried: Carried) -> None:
    """Make a rebased result that holds the run's result, and note on which head it was verified."""
    repository, names = integration.repository, integration.names(run)
    tree, at = await repository.tree(carried.commit), await repository.time(carried.commit)
    note = await repository.commit(tree, (carried.commit,), f"verified again\n\n{_ONTO}: {carried.onto}\n", at)
    await integration.refs.put_all({names.result: carried.commit, names.of_instance(ROOT, "verified"): note})


async def verified_on(integration: Integration, note: str, commit: str) -> str:
    """The head of the user's branch on which a result was verified again, as its note says; empty if it was not."""
    if not note or (await integration.repository.parents(note))[:1] != [commit]:
        return ""
    return trailer(await integration.repository.message(note), _ONTO)


async def undelivered(integration: Integration, run: str) -> str:
    """Why the user's branch was not moved when the run ended; empty if it was, or was not to be."""
    noted = await integration.refs.get(integration.names(run).of_instance(ROOT, "undelivered"))
    return trailer(await integration.repository.message(noted), _WHY) if noted else ""


async def _note(integration: Integration, run: str, commit: str, why: str) -> None:
    """Keep the reason in the repository: people ask for it long after the run has ended."""
    repository, ref = integration.repository, integration.names(run).of_instance(ROOT, "undelivered")
    if not why:
        await integration.refs.delete(ref)
        return
    text = f"not delivered\n\n{_WHY}: {' '.join(why.split())}\n"
    note = await repository.commit(await repository.tree(commit), (commit,), text, await repository.time(commit))
    await integration.refs.put(ref, note)


async def fast_forward(integration: Integration, trunk: Trunk, commit: str) -> Obstacle | None:
    """Move the user's branch and files forward, as their own `git merge --ff-only` would; else why it was not done."""
    if obstacle := await find_obstacle(integration, trunk, commit):
        return obstacle
    words = ("merge", "--ff-only", "--no-autostash", "--no-stat", "--quiet", commit)
    try:
        await integration.repository.users(*words)
    except PortError as error:
        return Obstacle(str(error), "deliver.git")
    return None


async def carry(integration: Integration, trunk: Trunk, commit: str) -> Carried:
    """Rebase a result onto the user's branch as it is now, among the objects alone: no ref and no file changes.

    The same result on the same head gives the same commits, so that a delivery can be repeated after a crash.
    """
    repository, onto = integration.repository, await integration.refs.get(trunk.branch)
    base = await _base(integration, trunk, commit, onto)
    if moved := await replayed(repository, Head(commit, base), onto):
        return Carried(base, onto, moved)
    merged = await three_way(repository, base, onto, commit)
    if not merged.is_clean:
        return Carried(base, onto, conflicts=merged.files or (shorten(merged.words),))
    message, at = await repository.message(commit), await repository.time(commit)
    return Carried(base, onto, await repository.commit(merged.tree, (onto,), f"{message}\n", at))


async def _base(integration: Integration, trunk: Trunk, commit: str, onto: str) -> str:
    """What a result stands on: the last commit that it shares with the user's branch.

    If the user has rewritten the branch, that is older than where the run began, which then counts: what the user has
    dropped is no part of the result.
    """
    repository = integration.repository
    shared = (await repository.git("merge-base", commit, onto, ok=(0, 1))).text
    if shared and await repository.is_ancestor(trunk.commit, shared):
        return shared
    return trunk.commit if await repository.is_ancestor(trunk.commit, commit) else shared or trunk.commit


async def find_obstacle(integration: Integration, trunk: Trunk, commit: str) -> Obstacle | None:
    """What keeps the user's branch and files from being moved forward to a commit; None if nothing does."""
    repository = integration.repository
    if not trunk.branch:
        why = "your head was detached when the run started, so there is no branch to move"
        return Obstacle(why, "deliver.detached")
    name = trunk.branch.removeprefix("refs/heads/")
    if (await repository.users("rev-parse", "--is-bare-repository")).text == "true":
        return Obstacle("the repository is bare, and your files are elsewhere", "deliver.bare")
    if (await repository.users("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))).text != trunk.branch:
        return Obstacle(f"you are not on {name} any more", "deliver.elsewhere")
    if busy := repository.busy():
        return Obstacle(f"your checkout is in the middle of {busy}", "deliver.busy")
    users = await integration.refs.get(trunk.branch)
    if not await repository.is_ancestor(users, commit):
        return Obstacle(f"{name} has moved since", MOVED)
    if both := await _changed_by_both(integration, users, commit):
        more = f" and {len(both) - _NAMED} more" if len(both) > _NAMED else ""
        named = shorten(", ".join(both[:_NAMED])) + more
        why = f"your checkout has changes that are not committed in files that the result changes: {named}"
        return Obstacle(why, "deliver.dirty")
    return None


async def _changed_by_both(integration: Integration, users: str, commit: str) -> list[str]:
    """Files that the user has changed and not committed, and that the result changes; others are in nobody's way."""
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
    status = (await integration.repository.users(*words)).out
    mine = {os.fsdecode(row[3:]) for row in status.split(b"\0") if row}
    if not mine:
        return []
    diff = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", users, commit)
    theirs = (await integration.repository.users(*diff)).out
    return sorted(mine & {os.fsdecode(path) for path in theirs.split(b"\0")})
