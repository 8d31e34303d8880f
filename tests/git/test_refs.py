"""Refs: compare-and-swap, other programs' locks, and strangers who move what is ours."""

import asyncio
import os
import signal
from asyncio import StreamReader
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from tests.git.place import RUN, Stage, git, git_processes, repository, run
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git.process import BrokenError
from treadle.git.refs import (
    LOOSE,
    Refs,
    blocking_refs,
    move_older_refs,
    pack_refs,
    refs_of_run,
    refuse_blocking_refs,
)
from treadle.git.repository import open_repository

REF = "refs/treadle/r1/x"


async def stage_with(tmp_path: Path) -> tuple[Stage, str, str]:
    stage = await Stage(repository(tmp_path)).start()
    one = git(stage.root, "rev-parse", "HEAD")
    git(stage.root, "commit", "-q", "--allow-empty", "-m", "second")
    return stage, one, git(stage.root, "rev-parse", "HEAD")


def test_a_swap_happens_once_and_only_from_where_it_should(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        assert await stage.refs.swap(REF, one, "")
        assert await stage.refs.swap(REF, one, "")
        assert not await stage.refs.swap(REF, two, two[::-1])
        assert await stage.refs.swap(REF, two, one)
        assert not await stage.refs.swap(REF, one, "")
        assert await stage.refs.get(REF) == two
        await stage.refs.delete(REF)
        await stage.refs.delete(REF)
        assert await stage.refs.get(REF) == ""

    run(story())


def test_of_two_writers_one_wins(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        other = await Stage(stage.root).start()
        won = await asyncio.gather(*(refs.swap(REF, new, "") for refs, new in [(stage.refs, one), (other.refs, two)]))
        assert sorted(won) == [False, True]

    run(story())


def test_several_refs_move_together_or_not_at_all(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        await stage.refs.put(REF, one)
        with pytest.raises(PortError):
            await stage.refs.put_all({"refs/treadle/r1/y": two, REF: two}, {REF: two})
        assert await stage.refs.below("refs/treadle/r1/") == {REF: one}

    run(story())


def test_a_lock_of_another_program_is_waited_for(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, _ = await stage_with(tmp_path)
        lock = stage.root / ".git" / f"{REF}.lock"
        lock.parent.mkdir(parents=True)
        lock.touch()
        writing = asyncio.create_task(stage.refs.put(REF, one))
        done, _ = await asyncio.wait({writing}, timeout=0.2)
        assert not done
        lock.unlink()
        await writing
        assert await stage.refs.get(REF) == one

    run(story())


def test_a_lock_that_outlived_its_machine_is_broken(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, _ = await stage_with(tmp_path)
        lock = stage.root / ".git" / f"{REF}.lock"
        lock.parent.mkdir(parents=True)
        lock.touch()
        os.utime(lock, (1, 1))
        await stage.refs.put(REF, one)
        assert await stage.refs.get(REF) == one

    run(story())


def test_refs_that_strangers_moved_are_restored_and_reported(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        names = stage.integration.names(RUN)
        ref, gone = names.integration("root"), names.of_activity("root:a#1.1", "wip")
        await stage.refs.put_all({ref: one, gone: two})
        assert await stage.refs.restore_moved(*names.spaces) == []
        git(stage.root, "update-ref", ref, two)
        git(stage.root, "update-ref", "-d", gone)
        assert await stage.refs.restore_moved(*names.spaces) == [ref, gone]
        assert await stage.refs.get(ref) == one
        assert await stage.refs.get(gone) == two

    run(story())


def test_refs_of_another_process_are_watched_from_the_start(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.integration.trunk(RUN)
        commit = await stage.work({"a.txt": "a\n"})
        ref = stage.integration.names(RUN).of_activity("root:impl#1.1", "recorded")
        later = await stage.start()
        await later.integration.trunk(RUN)
        git(stage.root, "update-ref", ref, "main")
        found = await later.refs.restore_moved(*stage.integration.names(RUN).spaces)
        assert found == [ref]
        assert await later.refs.get(ref) == commit

    run(story())


def test_packed_refs_keep_their_values(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        refs = {f"refs/treadle/r1/act/{n}/base": one for n in range(LOOSE)}
        await stage.refs.put_all(refs)
        assert not [path for path in (stage.root / ".git" / "refs" / "treadle").rglob("*") if path.is_file()]
        assert await stage.refs.below("refs/treadle/r1/") == refs
        changed = next(iter(refs))
        git(stage.root, "update-ref", changed, two)
        assert await stage.refs.restore_moved("refs/treadle/r1/") == [changed]
        assert await stage.refs.below("refs/treadle/r1/") == refs
        assert git(stage.root, "rev-parse", "main") == two, "the user's own are where they were"

    run(story())


def test_only_existing_refs_are_returned(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        await stage.refs.put(REF, one)
        assert await stage.refs.all_of([REF, f"{REF}y"]) == {REF: one}
        git(stage.root, "update-ref", f"refs/heads/{REF}y", two)
        assert await stage.refs.all_of([REF, f"{REF}y"]) == {REF: one}
        git(stage.root, "update-ref", REF, two)
        assert await stage.refs.all_of([REF]) == {REF: two}, "a stranger moved it: it is told as it is"

    run(story())


def test_refs_are_moved_by_one_process_and_by_another_if_it_is_gone(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        await stage.refs.put(REF, one)
        (process,) = git_processes("update-ref")
        await stage.refs.put(REF, two)
        assert git_processes("update-ref") == [process]
        os.kill(process, signal.SIGKILL)
        await stage.refs.put_all({REF: one}, {REF: two})
        assert await stage.refs.get(REF) == one

    run(story())


def test_a_ref_moved_before_its_process_died_counts_as_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        await stage.refs.put(REF, one)
        real = stage.refs._moving.ask

        async def cut_off(question: bytes, answer: Callable[[StreamReader], Awaitable[None]], tries: int) -> None:
            await real(question, answer, tries)
            raise BrokenError

        monkeypatch.setattr(stage.refs._moving, "ask", cut_off)
        await stage.refs.put_all({REF: two}, {REF: one})
        with pytest.raises(PortError, match="but expected"):
            await stage.refs.put_all({REF: one}, {REF: one})

    run(story())


def test_refs_that_would_block_a_prefix_are_listed() -> None:
    assert blocking_refs("a/b") == ("refs/heads/a", "refs/heads/a/b", "refs/treadle")


@pytest.mark.parametrize(
    ("ref", "prefix", "expected"),
    [
        ("refs/heads/treadle", "treadle", "the branch treadle leaves no room for the branches of runs, treadle/…: "),
        ("refs/heads/bots", "bots/treadle", "the branch bots leaves no room for the branches of runs, bots/treadle/…"),
        ("refs/heads/bots/treadle", "bots/treadle", "the branch bots/treadle leaves no room"),
        ("refs/treadle", "bots", "the ref refs/treadle leaves no room .* `git update-ref -d refs/treadle`"),
        ("refs/heads/treadle/other", "treadle", ""),
        ("refs/heads/treadle-x", "treadle", ""),
        ("refs/tags/treadle", "treadle", ""),
        ("refs/heads/treadle", "bots", ""),
    ],
)
def test_a_branch_where_runs_have_theirs_is_named(tmp_path: Path, ref: str, prefix: str, expected: str) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        git(root, "update-ref", ref, "HEAD")
        project = Project(root)
        make_local(project)
        refs = Refs(await open_repository(project))
        if not expected:
            await refuse_blocking_refs(refs, prefix)
            return
        with pytest.raises(PortError, match=expected) as caught:
            await refuse_blocking_refs(refs, prefix)
        assert "git.branch_prefix" in str(caught.value) or ref == "refs/treadle"

    run(story())


# Repositories of older versions: their branches move below `refs/treadle/`, and nobody else's do.

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


def test_work_under_an_older_name_is_read_before_it_moves(tmp_path: Path) -> None:
    """A process of an older version may drive the run on while another one looks for branches to move."""

    async def story() -> None:
        stage = await older(tmp_path)
        before = refs(stage.root)[f"{OLD}/int"]
        await stage.integration.trunk(RUN)
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
def test_no_commit_is_lost_if_old_and_new_refs_differ(tmp_path: Path, *, ahead: bool, left: list[str]) -> None:
    """The new name wins where it holds the old one's commits; otherwise a person has to look."""

    async def story() -> None:
        stage = await older(tmp_path)
        commit = git(stage.root, "commit-tree", "main^{tree}", *(("-p", f"{OLD}/int") if ahead else ()), "-m", "on")
        git(stage.root, "update-ref", f"{NEW}/int", commit)
        await move(await stage.start())
        assert refs(stage.root)[f"{NEW}/int"] == commit
        assert heads(stage.root) == ["main", *left]

    run(story())


def test_packed_refs_are_listed_by_their_names(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.work({"a.txt": "a\n"})
        await stage.head()
        names = stage.integration.names(RUN)
        before = await stage.refs.below(*names.spaces)
        some = {ref: value for ref, value in before.items() if "/act/" in ref}
        assert await pack_refs(stage.repository, stage.refs, names, some) == len(some) - 1
        assert await refs_of_run(stage.repository, stage.refs, names) == before
        rest = {ref: value for ref, value in before.items() if ref not in some}
        assert await pack_refs(stage.repository, stage.refs, names, rest) == len(rest)
        assert list(await stage.refs.below(*names.spaces)) == [names.packed]
        again = await stage.start()
        assert await refs_of_run(again.repository, again.refs, names) == before
        assert (await again.integration.trunk(RUN)).commit == git(stage.root, "rev-parse", "main")
        git(stage.root, "reflog", "expire", "--expire=now", "--all")
        git(stage.root, "gc", "-q", "--prune=now")
        assert all(git(stage.root, "cat-file", "-t", value) == "commit" for value in before.values())

    run(story())
