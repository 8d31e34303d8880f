"""Slots are used again: only what differs is written, and nothing of what happened in one is left in it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.git.checkout import Checkouts
from treadle.git.cleanup import forget

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
    checkouts = Checkouts(stage.repository, stage.recorder, stage.project.worktrees)
    return stage, checkouts, git(stage.root, "rev-parse", "HEAD")


def test_a_verdict_writes_only_what_differs_from_the_last_one(tmp_path: Path) -> None:
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


def test_a_lane_of_a_later_run_writes_only_what_differs(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _, _ = await opened(tmp_path, MANY)
        await stage.work(CHANGED)
        used = next(stage.project.worktrees.glob("lane-?"))
        before = marks(used)
        await forget(stage.lanes, RUN)
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
def test_nothing_of_one_verdict_is_there_in_the_next(tmp_path: Path, bend: Callable[[Path], None]) -> None:
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
