"""Slots are used again: only what differs is written, and nothing of what happened in one is left in it."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.place import FILES, RUN, Stage, git, repository, run, write
from treadle.errors import PortError
from treadle.git.lanes import SpareSlots, forget_run, remove_spare
from treadle.git.slots import Checkouts, Overlay, SlotLease, SlotLeases
from treadle.git.trees import Trees

MANY = {f"src/part{n // 20}/m{n}.py": f"x = {n}\n" for n in range(300)}
CHANGED = {"src/part3/m70.py": "x = 'other'\n", "src/new.py": "new = 1\n"}
Marks = dict[str, tuple[int, int]]


def marks(root: Path) -> Marks:
    """Every file's inode and the last time it was changed, which no program can set."""
    files = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts]
    return {str(path.relative_to(root)): (path.stat().st_ino, path.stat().st_ctime_ns) for path in files}


def written(before: Marks, after: Marks) -> set[str]:
    return {path for path, mark in after.items() if before.get(path) != mark}


async def opened(tmp_path: Path, files: dict[str, str] | None = None) -> tuple[Stage, Checkouts, str]:
    stage = await Stage(repository(tmp_path, files)).start()
    checkouts = Checkouts(stage.repository, stage.project.worktrees)
    return stage, checkouts, git(stage.root, "rev-parse", "HEAD")


def test_a_checkout_writes_only_files_that_differ_from_the_last_one(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts, head = await opened(tmp_path, MANY)
        other = await stage.work(CHANGED)
        async with checkouts.clean(head) as path:
            assert len(first := marks(path)) == len(MANY)
        async with checkouts.clean(other) as again:
            assert again == path
            assert written(first, second := marks(path)) == set(CHANGED)
        async with checkouts.clean(other):
            assert written(second, marks(path)) == set()

    run(story())


def test_a_lane_of_a_later_run_writes_only_files_that_differ(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _, _ = await opened(tmp_path, MANY)
        await stage.work(CHANGED)
        used = next(stage.project.worktrees.glob("lane-?"))
        before = marks(used)
        await forget_run(stage.lanes, RUN)
        other = await Stage(stage.root).start()
        lane = await other.lanes.open(other.state, other.job())
        assert lane.path == used
        after = marks(used)
        assert set(after) == set(MANY)
        assert written(before, after) == {"src/part3/m70.py"}, "what the last run had changed"

    run(story())


def _ignored(root: Path) -> None:
    write(root, {".gitignore": "*.log\n__pycache__/\n", "build.log": "x", "src/__pycache__/app.pyc": "stale"})


def _changed_in_place(root: Path) -> None:
    path = root / "src/app.py"
    path.write_text(path.read_text().replace("1", "2"))


def _changed_and_dated_back(root: Path) -> None:
    path = root / "src/app.py"
    state = path.stat()
    path.write_text(path.read_text().replace("1", "2"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def _dated_forward(root: Path) -> None:
    os.utime(root / "src/app.py", (4_000_000_000, 4_000_000_000))


def _other_kinds(root: Path) -> None:
    (root / "src/app.py").unlink()
    write(root, {"src/app.py/inside": "x"})
    (root / "README.md").unlink()
    (root / "README.md").symlink_to("/etc/hostname")
    os.mkfifo(root / "tests/pipe")
    (root / "tests/test_app.py").chmod(0o777)


def _folders(root: Path) -> None:
    (root / "empty/deep").mkdir(parents=True)
    write(root, {"locked/x": "x"})
    (root / "locked").chmod(0o000)
    (root / "src").chmod(0o500)


def _linked(root: Path) -> None:
    outside = root.parent / "outside.py"
    outside.write_text("def f() -> int:\n    return 2\n")
    (root / "src/app.py").unlink()
    os.link(outside, root / "src/app.py")


def _renamed(root: Path) -> None:
    (root / "src/app.py").rename(root / "src/App.py")


def _git(root: Path) -> None:
    write(root, {".git/info/attributes": "* text eol=crlf\n", ".git/info/exclude": "*\n", "src/.git/config": "x"})
    (root / ".git/index").unlink()


@pytest.mark.parametrize(
    "bend",
    [
        _ignored,
        _changed_in_place,
        _changed_and_dated_back,
        _dated_forward,
        _other_kinds,
        _folders,
        _linked,
        _renamed,
        _git,
    ],
)
def test_a_checkout_keeps_no_files_of_the_last_one(tmp_path: Path, bend: Callable[[Path], None]) -> None:
    async def story() -> None:
        _, checkouts, head = await opened(tmp_path)
        async with checkouts.clean(head) as path:
            clean = contents(path)
            bend(path)
        async with checkouts.clean(head) as path:
            assert contents(path) == clean
            newest = max(one.stat().st_mtime for one in path.rglob("*") if one.is_file())
            assert newest <= time.time() + 1
            assert git(path, "status", "--porcelain") == ""
        outside = path.parent / "outside.py"
        assert not outside.exists() or "return 2" in outside.read_text(), "what a link leads to is not written"

    run(story())


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    found = [path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts[:1]]
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, b"" if path.is_dir() else path.read_bytes())
        for path in found
    }


def test_a_change_in_the_same_second_and_of_the_same_size_is_recorded(tmp_path: Path) -> None:
    """Git compares times of whole seconds; an index whose own time is lost would hide such a change."""

    async def story() -> None:
        stage, _, _ = await opened(tmp_path)
        for n in range(1, 20):
            lane = await stage.lanes.open(stage.state, stage.job(n=f"{n}.1"))
            filled = (lane.path / "src/app.py").stat()
            _changed_in_place(lane.path)
            is_same_second = int((lane.path / "src/app.py").stat().st_mtime) == int(filled.st_mtime)
            while time.time() < int(filled.st_mtime) + 1.1:
                time.sleep(0.01)
            recorded = await stage.lanes.record(RUN, f"root:impl#{n}.1", at=1_700_000_001_000)
            assert recorded.paths == ("src/app.py",)
            if is_same_second:
                return
        pytest.fail("no change was made in the second of its checkout")

    run(story())


# Clean checkouts for checks.


async def opened_of_checkout(tmp_path: Path) -> tuple[Stage, Checkouts]:
    stage = await Stage(repository(tmp_path)).start()
    return stage, Checkouts(stage.repository, stage.project.worktrees)


def test_a_checkout_is_the_commit_and_is_clean_the_next_time(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened_of_checkout(tmp_path)
        head = git(stage.root, "rev-parse", "HEAD")
        async with checkouts.clean(head) as path:
            assert (path / "src/app.py").read_text() == FILES["src/app.py"]
            write(path, {"build/x": "x", "src/app.py": "bent\n", "__pycache__/y": "y"})
            first = path
        async with checkouts.clean(head) as path:
            assert path == first
            assert sorted(one.name for one in path.iterdir()) == [".git", "README.md", "src", "tests"]
            assert (path / "src/app.py").read_text() == FILES["src/app.py"]
            assert git(path, "rev-parse", "HEAD") == head

    run(story())


def test_checkouts_at_once_are_apart(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened_of_checkout(tmp_path)
        other = Checkouts(stage.repository, stage.project.worktrees)
        one = git(stage.root, "rev-parse", "HEAD")
        two = await stage.work({"README.md": "second\n"})
        met = asyncio.Barrier(3)

        async def look(with_: Checkouts, commit: str) -> tuple[Path, str]:
            async with with_.clean(commit) as path:
                await met.wait()
                return path, (path / "README.md").read_text()

        seen = await asyncio.gather(look(checkouts, one), look(other, two), look(checkouts, two))
        assert len({path for path, _ in seen}) == 3
        assert [text for _, text in seen] == ["read me\n", "second\n", "second\n"]

    run(story())


def test_frozen_tests_are_laid_over(tmp_path: Path) -> None:
    async def story() -> None:
        stage, checkouts = await opened_of_checkout(tmp_path)
        frozen = await stage.work({"tests/test_app.py": "assert f() == 2\n"}, step="tests")
        bent = await stage.work({"tests/test_app.py": "pass\n", "tests/conftest.py": "bend()\n", "src/x.py": "x\n"})
        async with checkouts.clean(bent, Overlay(frozen, ("tests/**",))) as path:
            assert (path / "tests/test_app.py").read_text() == "assert f() == 2\n"
            assert not (path / "tests/conftest.py").exists()
            assert (path / "src/x.py").exists()

    run(story())


def test_a_diff_is_text_and_is_bounded(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _ = await opened_of_checkout(tmp_path)
        head = git(stage.root, "rev-parse", "HEAD")
        one = await stage.work({"src/app.py": "other\n" * 100})
        text = await Trees(stage.repository).diff(head, one)
        assert "+other" in text
        cut = await Trees(stage.repository).diff(head, one, most=100)
        assert cut.startswith(text[:100])
        assert "cut: " in cut[100:]
        assert await stage.repository.show(one, "src/app.py") == b"other\n" * 100
        assert await stage.repository.show(one, "src/none.py") is None

    run(story())


# Who has which slot, as the notes beside the slots say.


def test_each_lane_has_a_slot_and_keeps_it(tmp_path: Path) -> None:
    leases = SlotLeases(tmp_path / "lanes")
    assert leases.all() == []
    slots = [leases.take("r", inst, "main")[0] for inst in ("a", "b", "c")]
    assert len({slot.path for slot in slots}) == 3
    assert leases.take("r", "b", "main") == (slots[1], SlotLease(run="r", inst="b", lane="main"))
    leases.give_back(slots[1])
    assert [lease.inst for _, lease in leases.all()] == ["a", "c"]
    assert leases.take("r", "d", "main")[0] == slots[1]


def test_leases_of_another_process_are_seen_at_once(tmp_path: Path) -> None:
    one, other = SlotLeases(tmp_path), SlotLeases(tmp_path)
    slot, lease = one.take("r", "a", "main")
    assert other.all() == one.all() == [(slot, lease)]
    for act in ("a:x#1.1", "a:x#1.2", "a:x#1.3"):
        other.write(slot, SlotLease(run="r", inst="a", lane="main", act=act))
        assert one.find("r", act) is not None
    other.give_back(slot)
    assert one.all() == []


def test_a_slot_with_an_unreadable_lease_is_not_used(tmp_path: Path) -> None:
    leases = SlotLeases(tmp_path)
    (tmp_path / "lane-1.json").write_text("{")
    slot, _ = leases.take("r", "a", "main")
    assert slot.path.name == "lane-2"
    assert len(leases.all()) == 1


def test_the_number_of_lanes_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.git.slots.MOST_LANES", 3)
    leases = SlotLeases(tmp_path)
    for inst in ("a", "b"):
        leases.take("r", inst, "main")
    with pytest.raises(PortError) as failure:
        leases.take("r", "c", "main")
    assert failure.value.code == "git.no_room"


# What a run leaves behind, and how it goes.


def test_a_forgotten_run_leaves_only_its_result(tmp_path: Path) -> None:
    async def story() -> None:
        stage = await Stage(repository(tmp_path)).start()
        commit = await stage.work({"a.txt": "a\n"})
        result = stage.integration.names(RUN).result
        await stage.refs.put(result, commit)
        other = stage.integration.names("r2").integration("root")
        await stage.refs.put(other, commit)
        assert await remove_spare(stage.project.worktrees) == SpareSlots()
        assert await forget_run(stage.lanes, RUN, keep=[result])
        assert await forget_run(stage.lanes, RUN, keep=[result]) == []
        assert git(stage.root, "for-each-ref", "--format=%(refname)").splitlines() == ["refs/heads/main", result, other]
        assert await forget_run(stage.lanes, RUN) == [result]
        checkouts = Checkouts(stage.repository, stage.project.worktrees)
        async with checkouts.clean(commit) as held:
            found = await remove_spare(stage.project.worktrees, dry=True)
            removed = await remove_spare(stage.project.worktrees)
            assert [path.name for path in removed.paths] == ["lane-1"]
            assert found == removed
            assert removed.bytes > 0
            assert held.exists()
        assert [path.name for path in (await remove_spare(stage.project.worktrees)).paths] == ["check-1"]
        assert sorted(path.name for path in stage.project.worktrees.iterdir()) == ["check-1.lock"]

    run(story())
