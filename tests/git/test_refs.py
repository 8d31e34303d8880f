"""Refs: compare-and-swap, other programs' locks, and strangers who move what is ours."""

import asyncio
import os
import signal
from asyncio import StreamReader
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run
from treadle.errors import PortError
from treadle.git.refs import LOOSE, Moved
from treadle.git.servant import BrokenError

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


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
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


def test_what_strangers_moved_is_put_back_and_told(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        names = stage.integration.names(RUN)
        ref, gone = names.integration("root"), names.of_activity("root:a#1.1", "wip")
        await stage.refs.put_all({ref: one, gone: two})
        assert await stage.refs.moved(*names.spaces) == []
        git(stage.root, "update-ref", ref, two)
        git(stage.root, "update-ref", "-d", gone)
        assert await stage.refs.moved(*names.spaces) == [Moved(ref, one, two), Moved(gone, two, "")]
        assert await stage.refs.get(ref) == one
        assert await stage.refs.get(gone) == two

    run(story())


def test_what_another_process_wrote_is_watched_from_the_first_look_on(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        await stage.integration.begin(RUN)
        commit = await stage.work({"a.txt": "a\n"})
        ref = stage.integration.names(RUN).of_activity("root:impl#1.1", "recorded")
        later = await stage.start()
        await later.integration.begin(RUN)
        git(stage.root, "update-ref", ref, "main")
        found = await later.refs.moved(*stage.integration.names(RUN).spaces)
        assert [(one.ref, one.ours) for one in found] == [(ref, commit)]
        assert await later.refs.get(ref) == commit

    run(story())


def test_many_refs_are_packed_and_stay_what_they_are(tmp_path: Path) -> None:
    async def story() -> None:
        stage, one, two = await stage_with(tmp_path)
        refs = {f"refs/treadle/r1/act/{n}/base": one for n in range(LOOSE)}
        await stage.refs.put_all(refs)
        assert not [path for path in (stage.root / ".git" / "refs" / "treadle").rglob("*") if path.is_file()]
        assert await stage.refs.below("refs/treadle/r1/") == refs
        changed = next(iter(refs))
        git(stage.root, "update-ref", changed, two)
        assert await stage.refs.moved("refs/treadle/r1/") == [Moved(changed, one, two)]
        assert await stage.refs.below("refs/treadle/r1/") == refs
        assert git(stage.root, "rev-parse", "main") == two, "the user's own are where they were"

    run(story())


def test_of_refs_that_do_not_exist_nothing_else_is_taken(tmp_path: Path) -> None:
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
        process = stage.refs._moving._process
        assert process is not None
        await stage.refs.put(REF, two)
        assert stage.refs._moving._process is process
        os.kill(process.pid, signal.SIGKILL)
        await stage.refs.put_all({REF: one}, {REF: two})
        assert await stage.refs.get(REF) == one

    run(story())


def test_what_was_moved_before_its_process_died_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
