"""Deliver a finished run: to its result branch and, only on request, to the user's own branch."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from treadle.errors import PortError
from treadle.git.integration import Head, Integration, Trunk, read_trailer, replay_commits
from treadle.git.process import shorten
from treadle.git.trees import three_way
from treadle.kernel.instances import ROOT

Policy = Literal["branch", "auto", "ask", "never"]
_WHY: Final = "Treadle-Why"
_ONTO: Final = "Treadle-Onto"
_REPLACES: Final = "Treadle-Replaces"
_EXCUSED: Final = "Treadle-Excused"
_NAMED: Final = 5
MOVED: Final = "deliver.moved"


class Obstacle(msgspec.Struct, frozen=True):
    """The reason why Treadle does not move the user's branch."""

    why: str
    code: str
    """As `codes.ERRORS` lists it."""


class CarriedResult(msgspec.Struct, frozen=True):
    """A result rebased onto the current head of the user's branch; no ref has moved yet."""

    base: str
    """The commit that the result is based on."""
    onto: str
    """The head of the user's branch."""
    commit: str = ""
    """The rebased result; empty if there are conflicts."""
    conflicts: tuple[str, ...] = ()
    """Files that both sides changed differently."""


class DeliveryResult(msgspec.Struct, frozen=True):
    """The place of a result; `why` is the reason if the user's branch should have moved and did not."""

    commit: str
    branch: str = ""
    moved: str = ""
    why: str = ""

    def __str__(self) -> str:
        if self.moved:
            return f"{self.moved.removeprefix('refs/heads/')} is at the result, {self.commit[:12]}"
        where = f"the result waits on the branch {self.branch.removeprefix('refs/heads/')}" if self.branch else ""
        return "; ".join(part for part in (where or f"the result is {self.commit[:12]}", self.why) if part)


async def deliver(integration: Integration, run: str, commit: str, policy: Policy) -> DeliveryResult:
    """Put a run's result where the policy wants it; harmless to repeat."""
    names = integration.names(run)
    if policy == "never":
        await integration.refs.put(names.verified_result, commit)
        return DeliveryResult(commit)
    branch = names.result
    await integration.refs.put_all({branch: commit, names.verified_result: commit})
    if policy != "auto":
        return DeliveryResult(commit, branch)
    trunk = await integration.trunk(run)
    obstacle = await fast_forward(integration, trunk, commit)
    noted = names.of_instance(ROOT, "undelivered")
    if not obstacle:
        await integration.refs.delete(noted)
        return DeliveryResult(commit, branch, trunk.branch)
    # The reason stays in the repository: people ask for it long after the run has ended.
    text = f"not delivered\n\n{_WHY}: {' '.join(obstacle.why.split())}\n"
    await integration.refs.put(noted, await integration.repository.note(commit, text))
    return DeliveryResult(commit, branch, why=obstacle.why)


async def put_verified(
    integration: Integration,
    run: str,
    carried: CarriedResult,
    tip: str,
    replaces: str = "",
    excused: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make a rebased result the result of the run, and record the head on which it was verified.

    `tip` is the expected tip of the result branch, so that a person's commits there are not overwritten. `replaces` is
    the earlier result, if a person has changed it. `excused` are failing tests that were not charged to the result:
    test → code.
    """
    names = integration.names(run)
    text = f"verified again\n\n{_ONTO}: {carried.onto}\n" + (f"{_REPLACES}: {replaces}\n" if replaces else "")
    text += f"{_EXCUSED}: {msgspec.json.encode(dict(excused)).decode()}\n" if excused else ""
    note = await integration.repository.note(carried.commit, text)
    values = {names.result: carried.commit, names.verified_result: carried.commit}
    await integration.refs.put_all(
        values | {names.of_instance(ROOT, "verified"): note}, {names.result: tip} if tip else None
    )


async def verified_again(integration: Integration, note: str, commit: str) -> tuple[str, str, dict[str, str]]:
    """Return the head on which a result was verified again, the result that a person had changed, and excused tests.

    All are empty if the note is not about this commit.
    """
    if not note or (await integration.repository.parents(note))[:1] != [commit]:
        return "", "", {}
    message = await integration.repository.message(note)
    excused = msgspec.json.decode(read_trailer(message, _EXCUSED) or "{}", type=dict[str, str])
    return read_trailer(message, _ONTO), read_trailer(message, _REPLACES), excused


async def why_undelivered(integration: Integration, run: str) -> str:
    """Return why the user's branch did not move when the run ended; empty if it did, or was not meant to."""
    noted = await integration.refs.get(integration.names(run).of_instance(ROOT, "undelivered"))
    return read_trailer(await integration.repository.message(noted), _WHY) if noted else ""


async def fast_forward(integration: Integration, trunk: Trunk, commit: str) -> Obstacle | None:
    """Move the user's branch and files forward, as their own `git merge --ff-only` would; return the obstacle,
    if any.
    """
    if obstacle := await find_obstacle(integration, trunk, commit):
        return obstacle
    words = ("merge", "--ff-only", "--no-autostash", "--no-stat", "--quiet", commit)
    try:
        await integration.repository.users(*words)
    except PortError as error:
        return Obstacle(str(error), "deliver.git")
    return None


async def carry(integration: Integration, trunk: Trunk, commit: str) -> CarriedResult:
    """Rebase a result onto the user's branch as it is now, among the objects alone: no ref and no file changes.

    The same result on the same head gives the same commits, so a delivery can be repeated after a crash.
    """
    repository, onto = integration.repository, await integration.refs.get(trunk.branch)
    # The base is the last common commit with the user's branch. If the user has rewritten the branch, that commit is
    # older than the run's start; then the start counts: commits that the user dropped are no part of the result.
    base = (await repository.git("merge-base", commit, onto, ok=(0, 1))).text
    if not base or not await repository.is_ancestor(trunk.commit, base):
        base = trunk.commit if await repository.is_ancestor(trunk.commit, commit) else base or trunk.commit
    if rebased := await replay_commits(repository, Head(commit, base), onto):
        return CarriedResult(base, onto, rebased)
    merged = await three_way(repository, base, onto, commit)
    if not merged.is_clean:
        return CarriedResult(base, onto, conflicts=merged.files or (shorten(merged.words),))
    message, at = await repository.message(commit), await repository.time(commit)
    return CarriedResult(base, onto, await repository.commit(merged.tree, (onto,), f"{message}\n", at))


async def find_obstacle(integration: Integration, trunk: Trunk, commit: str) -> Obstacle | None:
    """Return the reason why the user's branch and files cannot move forward to a commit; None if they can."""
    repository = integration.repository
    if not trunk.branch:
        why = "your head was detached when the run started, so there is no branch to move"
        return Obstacle(why, "deliver.detached")
    name = trunk.branch.removeprefix("refs/heads/")
    if (await repository.users("rev-parse", "--is-bare-repository")).text == "true":
        return Obstacle("the repository is bare, and your files are elsewhere", "deliver.bare")
    if (await repository.users("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))).text != trunk.branch:
        return Obstacle(f"you are no longer on {name}", "deliver.elsewhere")
    if busy := repository.busy():
        return Obstacle(f"your checkout is in the middle of {busy}", "deliver.busy")
    users = await integration.refs.get(trunk.branch)
    if not await repository.is_ancestor(users, commit):
        return Obstacle(f"{name} has moved since", MOVED)
    # Uncommitted changes matter only in files that the result changes, too.
    words = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
    status = (await repository.users(*words)).out
    if mine := {os.fsdecode(row[3:]) for row in status.split(b"\0") if row}:
        diff = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", users, commit)
        theirs = (await repository.users(*diff)).out
        if both := sorted(mine & {os.fsdecode(path) for path in theirs.split(b"\0")}):
            more = f" and {len(both) - _NAMED} more" if len(both) > _NAMED else ""
            named = shorten(", ".join(both[:_NAMED])) + more
            why = f"your checkout has uncommitted changes in files that the result changes: {named}"
            return Obstacle(why, "deliver.dirty")
    return None
