"""Recording a lane: the files that are there, byte for byte, whatever an agent did to make it otherwise."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.place import FILES, RUN, Stage, git, repository, run, write
from treadle.errors import PortError
from treadle.git.files import LARGE
from treadle.git.trees import PathChange, Trees


async def opened(tmp_path: Path) -> tuple[Stage, Path, str]:
    stage = await Stage(repository(tmp_path)).start()
    job = stage.job()
    lane = await stage.lanes.open(stage.state, job)
    return stage, lane.path, job.id


def test_the_same_files_give_the_same_commit(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        write(lane, {"src/new.py": "x\n", "README.md": "changed\n"})
        (lane / "tests/test_app.py").rename(lane / "tests/test_moved.py")
        (lane / "src/app.py").chmod(0o755)
        one = await stage.lanes.record(RUN, act, at=5000, message="a message")
        assert one == await stage.lanes.record(RUN, act, at=5000, message="a message")
        assert one.changed == (
            PathChange("README.md", "modified", "100644"),
            PathChange("src/app.py", "modified", "100755"),
            PathChange("src/new.py", "added", "100644"),
            PathChange("tests/test_moved.py", "renamed", "100644", "tests/test_app.py"),
        )
        assert "tests/test_app.py" in one.paths
        assert git(stage.root, "show", "-s", "--format=%ct %B", one.commit) == f"5 a message\n\nTreadle-Activity: {act}"

    run(story())


def test_answers_and_own_files_are_not_recorded(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path, {**FILES, "HANDOFF.md": "tracked\n"})
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"HANDOFF.md": "new\n", ".ai/HANDOFF.md": "x", ".ai/executor-result": "x"})
        write(
            lane.path,
            {".treadle/local/store.db": "x", ".ai/other": "x", ".gitignore": "build/\n!HANDOFF.md\n", "build/x": "x"},
        )
        write(lane.path, {"build/nested/file": "x", "src/after.py": "x"})
        git(lane.path / "build/nested", "init", "-q")
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert recorded.paths == (".ai/other", ".gitignore", "src/after.py")

    run(story())


def test_an_agents_git_commands_do_not_change_the_recorded_work(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        users = git(stage.root, "rev-parse", "main")
        write(lane, {"src/new.py": "x\n"})
        honest = await stage.lanes.record(RUN, act, at=0)
        git(lane, "add", "-A")
        git(lane, "commit", "-q", "-m", "forged", "--author=Treadle <treadle@localhost>")
        git(lane, "branch", "-f", "main", "HEAD")
        git(lane, "checkout", "-q", "-b", "elsewhere")
        git(lane, "update-index", "--assume-unchanged", "README.md")
        git(lane, "config", "core.worktree", "/")
        assert await stage.lanes.record(RUN, act, at=0) == honest
        (lane / ".git" / "HEAD").write_text("nonsense")
        assert await stage.lanes.record(RUN, act, at=0) == honest
        assert git(stage.root, "rev-parse", "main") == users
        assert git(stage.root, "branch", "--list", "elsewhere") == ""

    run(story())


def test_an_agents_hooks_and_filters_never_run(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        marker = tmp_path / "ran"
        script = f"#!/bin/sh\ntouch {marker}\ncat\n"
        write(lane, {"evil.sh": script, ".gitattributes": "* filter=evil diff=evil merge=evil text eol=crlf\n"})
        (lane / "evil.sh").chmod(0o755)
        write(lane, {".git/info/attributes": "* filter=evil\n", "crlf.txt": "a\r\n"})
        for name in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.evil.textconv"):
            git(lane, "config", name, str(lane / "evil.sh"))
        for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
            write(lane, {f".git/hooks/{hook}": script})
            (lane / f".git/hooks/{hook}").chmod(0o755)
        git(lane, "config", "core.hooksPath", str(lane / ".git/hooks"))
        recorded = await stage.lanes.record(RUN, act, at=0)
        await stage.passed(stage.job(), recorded.commit)
        stage.ended(stage.job(), "Done")
        assert await stage.repository.show(recorded.commit, "crlf.txt") == b"a\r\n"
        await Trees(stage.repository).diff(recorded.base, recorded.commit)
        again = await stage.lanes.open(stage.state, stage.job(n="2.1"))
        assert again.path == lane
        assert not (lane / ".git/hooks").exists()
        assert not marker.exists()

    run(story())


def test_files_that_cannot_be_recorded_are_findings(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        secret = tmp_path / "secret"
        secret.write_text("secret")
        (lane / "out").symlink_to(secret)
        (lane / "up").symlink_to("../../x")
        (lane / "in").symlink_to("src/app.py")
        (lane / "dotgit").symlink_to(".git/config")
        os.mkfifo(lane / "pipe")
        write(lane, {"big.bin": "", "vendor/lib.py": "v\n"})
        os.truncate(lane / "big.bin", LARGE + 1)  # sparse: it takes no room on the disk
        git(lane / "vendor", "init", "-q")
        git(lane / "src", "init", "-q")
        (lane / os.fsdecode(b"bad\xff")).write_text("x")
        recorded = await stage.lanes.record(RUN, act, at=0)
        found = {(one.kind, one.path) for one in recorded.findings}
        assert found == {
            ("link", "out"),
            ("link", "up"),
            ("link", "dotgit"),
            ("special", "pipe"),
            ("large", "big.bin"),
            ("repository", "vendor/.git"),
            ("repository", "src/.git"),
            ("name", os.fsdecode(b"bad\xff")),
        }
        assert "secret" not in stage.cat(recorded.commit, "out").split("/")[:-1]
        assert stage.cat(recorded.commit, "out") == str(secret)
        assert "big.bin" not in recorded.paths
        assert not any("\udcff" in path or ".git" in path for path in recorded.paths)

    run(story())


def test_a_folder_that_became_a_link_is_a_link(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        outside = tmp_path / "outside"
        write(outside, {"app.py": "foreign\n", "keep.txt": "keep\n"})
        (lane / "src" / "app.py").unlink()
        (lane / "src").rmdir()
        (lane / "src").symlink_to(outside)
        recorded = await stage.lanes.record(RUN, act, at=0)
        assert {change.path: change.mode for change in recorded.changed} == {"src": "120000", "src/app.py": "000000"}
        again = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert (again.path / "src/app.py").read_text() == FILES["src/app.py"]
        assert not (again.path / "src").is_symlink()
        assert (outside / "app.py").read_text() == "foreign\n"
        assert (outside / "keep.txt").exists()

    run(story())


def test_a_replaced_git_file_and_a_replaced_lane_do_no_harm(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        for path in sorted((lane / ".git").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (lane / ".git").rmdir()
        (lane / ".git").write_text(f"gitdir: {stage.root}/.git\n")
        write(lane, {"a.txt": "a\n"})
        assert (await stage.lanes.record(RUN, act, at=0)).paths == ("a.txt",)
        again = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert (again.path / ".git").is_dir()
        assert (stage.root / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
        lane.rename(lane.with_name("away"))
        lane.symlink_to(stage.root)
        with pytest.raises(PortError) as failure:
            await stage.lanes.record(RUN, "root:impl#1.2", at=0)
        assert failure.value.code == "git.no_lane"
        fresh = await stage.lanes.open(stage.state, stage.job(n="1.3"))
        assert not fresh.path.is_symlink()
        assert git(fresh.path, "status", "--porcelain") == ""
        assert git(stage.root, "status", "--porcelain") == ""

    run(story())


def test_a_submodule_stays_as_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        root = repository(tmp_path)
        head = git(root, "rev-parse", "HEAD")
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{head},sub")
        git(root, "commit", "-q", "-m", "submodule")
        stage = await Stage(root).start()
        job = stage.job()
        lane = await stage.lanes.open(stage.state, job)
        write(lane.path, {"sub/evil.py": "x\n"})
        git(lane.path / "sub", "init", "-q")
        git(lane.path / "sub", "commit", "-q", "--allow-empty", "-m", "other")
        recorded = await stage.lanes.record(RUN, job.id, at=0)
        assert recorded.paths == ()
        assert ("submodule", "sub") in {(one.kind, one.path) for one in recorded.findings}
        again = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert list((again.path / "sub").iterdir()) == []

    run(story())


def test_moved_refs_of_the_run_are_reported_and_restored(tmp_path: Path) -> None:
    async def story() -> None:
        stage, _, act = await opened(tmp_path)
        ref = stage.integration.names(RUN).integration("root")
        ours = await stage.refs.get(ref)
        git(stage.root, "commit", "-q", "--allow-empty", "-m", "users own")
        git(stage.root, "update-ref", ref, "HEAD")
        users = git(stage.root, "rev-parse", "main")
        recorded = await stage.lanes.record(RUN, act, at=0)
        assert recorded.moved == (ref,)
        assert await stage.refs.get(ref) == ours
        assert git(stage.root, "rev-parse", "main") == users

    run(story())


def test_unwritable_folders_are_cleaned(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, _ = await opened(tmp_path)
        write(lane, {"locked/deep/x": "x\n"})
        (lane / "locked/deep").chmod(0o500)
        (lane / "locked").chmod(0o500)
        again = await stage.lanes.open(stage.state, stage.job(n="1.2"))
        assert not (again.path / "locked").exists()

    run(story())


def _same_size_and_time(lane: Path) -> None:
    path = lane / "src/app.py"
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    "bend",
    [
        _same_size_and_time,
        lambda lane: write(lane, {"src/later.py": "later\n"}),
        lambda lane: (lane / "src/new.py").unlink(),
        lambda lane: (lane / "src/new.py").rename(lane / "src/moved.py"),
        lambda lane: (lane / "src/app.py").chmod(0o755),
        lambda lane: ((lane / "src").rename(lane / "code"), (lane / "src").symlink_to("code")),
    ],
)
def test_changes_after_recording_are_saved(tmp_path: Path, bend: Callable[[Path], object]) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        write(lane, {"src/new.py": "x\n", "README.md": "changed\n"})
        recorded = await stage.lanes.record(RUN, act, at=5000)
        assert await stage.repository.tree(await stage.lanes.save(RUN, act)) == recorded.tree
        bend(lane)
        saved = await stage.repository.tree(await stage.lanes.save(RUN, act))
        assert saved != recorded.tree
        assert saved == (await stage.lanes.record(RUN, act, at=5000)).tree

    run(story())


def test_a_forged_index_hides_no_change(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        await stage.lanes.record(RUN, act, at=5000)
        write(lane, {"src/new.py": "x\n"})
        forged = lane.with_name("forged")
        await stage.repository.git("add", "-A", index=forged, files=lane)
        forged.replace(lane.with_name(f"{lane.name}.taken"))
        assert stage.cat(await stage.lanes.save(RUN, act), "src/new.py") == "x"

    run(story())


@pytest.mark.skipif(os.geteuid() == 0, reason="everything may be read")
def test_an_unreadable_known_file_is_a_finding(tmp_path: Path) -> None:
    async def story() -> None:
        stage, lane, act = await opened(tmp_path)
        (lane / "src/app.py").chmod(0o000)
        recorded = await stage.lanes.record(RUN, act, at=5000)
        assert [(one.kind, one.path) for one in recorded.findings] == [("special", "src/app.py")]

    run(story())
