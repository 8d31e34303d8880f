"""Repositories of older versions: their branches move below `refs/treadle/`, and nobody else's do."""

from pathlib import Path
from typing import Final

import pytest

from tests.git.place import RUN, Stage, git, repository, run
from treadle.git.older_refs import move_older_refs
from treadle.git.packed import pack, refs_of

LANES: Final = frozenset({"main", "int,lane"})
OLD: Final = "refs/heads/treadle/r1/root"
NEW: Final = "refs/treadle/r1/root"


def heads(root: Path) -> list[str]:
    return git(root, "branch", "--format=%(refname:lstrip=2)").splitlines()


def refs(root: Path) -> dict[str, str]:
    lines = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {ref: value for ref, _, value in (line.partition(" ") for line in lines)}


async def older(tmp_path: Path) -> Stage:
    """A repository as an older version left it in the middle of a run: an integration branch, and a lane's."""
    stage = await Stage(repository(tmp_path)).start()
    commit = await stage.work({"a.txt": "a\n"})
    await stage.head()
    git(stage.root, "update-ref", f"{OLD}/int", commit)
    git(stage.root, "update-ref", f"{OLD}/main", commit)
    git(stage.root, "update-ref", "-d", f"{NEW}/int")
    return await stage.start()


async def move(stage: Stage, *, dry: bool = False) -> int:
    return len(await move_older_refs(stage.repository, stage.refs, stage.integration.names(RUN), LANES, dry=dry))


def test_a_run_of_an_older_version_goes_on_with_the_same_commits(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await older(tmp_path)
        before = refs(stage.root)
        assert await move(stage, dry=True) == 2
        assert refs(stage.root) == before
        assert await move(stage) == 2
        assert refs(stage.root) == {
            ref.replace(OLD, NEW) if ref.startswith(OLD) else ref: value for ref, value in before.items()
        }
        assert heads(stage.root) == ["main"]
        assert await stage.head() == before[f"{OLD}/int"]
        assert git(stage.root, "rev-parse", "treadle/r1/root/int") == before[f"{OLD}/int"], "the name in older logs"
        assert await move(stage) == 0

    run(story())


def test_work_under_an_older_name_is_found_before_it_is_moved(tmp_path: Path) -> None:
    """A process of an older version may drive the run on while another one looks for branches to move."""

    async def story() -> None:
        stage = await older(tmp_path)
        before = refs(stage.root)[f"{OLD}/int"]
        await stage.integration.begin(RUN)
        assert await stage.head() == before
        assert refs(stage.root)[f"{NEW}/int"] == before
        assert await move(stage) == 2

    run(story())


def test_branches_that_only_look_like_ours_stay(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await older(tmp_path)
        theirs = [
            "treadle/foo",
            "treadle/r1/mine",
            "treadle/r1/root/mine",
            "treadle/r1/other/int",
            "treadle/r10/root/int",
        ]
        for name in theirs:
            git(stage.root, "branch", name)
        await move(stage)
        assert heads(stage.root) == sorted(["main", *theirs])

    run(story())


def test_a_branch_that_a_worktree_is_on_is_copied_and_stays(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await older(tmp_path)
        git(stage.root, "worktree", "add", "-q", str(tmp_path / "beside"), "treadle/r1/root/int")
        assert await move(stage) == 1
        assert heads(stage.root) == ["main", "treadle/r1/root/int"]
        assert refs(stage.root)[f"{NEW}/int"] == refs(stage.root)[f"{OLD}/int"]
        assert git(tmp_path / "beside", "status", "--porcelain") == ""
        git(stage.root, "worktree", "remove", "--force", str(tmp_path / "beside"))
        assert await move(stage) == 1
        assert heads(stage.root) == ["main"]

    run(story())


@pytest.mark.parametrize("done", range(5))
def test_a_move_that_was_killed_in_the_middle_is_finished(tmp_path: Path, done: int) -> None:
    """Git writes new refs first, then removes old ones; after any of these steps the machine may go down."""

    async def story() -> None:
        stage = await older(tmp_path)
        before = refs(stage.root)
        steps = [(name, value) for name, value in before.items() if name.startswith(OLD)]
        moves = [("update-ref", name.replace(OLD, NEW), value) for name, value in steps]
        moves += [("update-ref", "-d", name) for name, _ in steps]
        for words in moves[:done]:
            git(stage.root, *words)
        await move(await stage.start())
        assert heads(stage.root) == ["main"]
        assert await stage.head() == before[f"{OLD}/int"]

    run(story())


@pytest.mark.parametrize(("ahead", "left"), [(True, []), (False, ["treadle/r1/root/int"])])
def test_nothing_is_lost_if_both_names_lead_somewhere(tmp_path: Path, *, ahead: bool, left: list[str]) -> None:
    """The new name wins where it holds the old one's commits; otherwise a person has to look."""

    async def story() -> None:
        stage = await older(tmp_path)
        commit = git(stage.root, "commit-tree", "main^{tree}", *(("-p", f"{OLD}/int") if ahead else ()), "-m", "on")
        git(stage.root, "update-ref", f"{NEW}/int", commit)
        await move(await stage.start())
        assert refs(stage.root)[f"{NEW}/int"] == commit
        assert heads(stage.root) == ["main", *left]

    run(story())


def test_packed_refs_are_found_by_their_names(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        await stage.head()
        names = stage.integration.names(RUN)
        before = await stage.refs.below(*names.spaces)
        some = {ref: value for ref, value in before.items() if "/act/" in ref}
        assert await pack(stage.repository, stage.refs, names, some) == len(some) - 1
        assert await refs_of(stage.repository, stage.refs, names) == before
        rest = {ref: value for ref, value in before.items() if ref not in some}
        assert await pack(stage.repository, stage.refs, names, rest) == len(rest)
        assert list(await stage.refs.below(*names.spaces)) == [names.packed]
        again = await stage.start()
        assert await refs_of(again.repository, again.refs, names) == before
        assert (await again.integration.begin(RUN)).commit == git(stage.root, "rev-parse", "main")
        git(stage.root, "reflog", "expire", "--expire=now", "--all")
        git(stage.root, "gc", "-q", "--prune=now")
        assert all(git(stage.root, "cat-file", "-t", value) == "commit" for value in before.values())

    run(story())
