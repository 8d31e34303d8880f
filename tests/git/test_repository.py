"""Repositories as they are found in the world: most work, some are refused with a reason."""

import asyncio
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.git.place import Stage, git, git_processes, repository, run
from tests.refusals import refused
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git import process
from treadle.git import repository as module
from treadle.git.process import Objects, run_git
from treadle.git.repository import open_repository


def test_a_shallow_clone_works(tmp_path: Path) -> None:
    origin = repository(tmp_path)
    git(origin, "commit", "-q", "--allow-empty", "-m", "second")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(bare))
    root = tmp_path / "shallow clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{bare}", str(root))

    async def story() -> None:
        stage = await Stage(root).start()
        commit = await stage.work({"a.txt": "a\n"})
        lane = await stage.lanes.open(stage.state, stage.job(n="2.1"))
        assert lane.base == commit
        assert git(lane.path, "log", "--format=%s").splitlines()[-1] == "second"

    run(story())


def test_a_repository_with_sha256_works(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")

    async def story() -> None:
        stage = await Stage(root).start()
        assert len(await stage.work({"a.txt": "a\n"})) == 64

    run(story())


def test_no_repository_no_commits_and_a_subfolder_are_refused(tmp_path: Path) -> None:
    with refused("git.no_repository", str(tmp_path)):
        run(open_repository(Project(tmp_path)))
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with refused("git.no_commits", str(empty)):
        run(open_repository(Project(empty)))
    root = repository(tmp_path)
    with pytest.raises(PortError) as failure:
        run(open_repository(Project(root / "src")))
    assert failure.value.code == "git.inside"


def test_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OLDEST", (99, 0))
    with refused("git.too_old", "99.0"):
        run(open_repository(Project(repository(tmp_path))))


def test_the_callers_environment_does_not_redirect_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    root = repository(tmp_path)
    for name, value in {"GIT_DIR": other / ".git", "GIT_INDEX_FILE": other / "x", "GIT_WORK_TREE": other}.items():
        monkeypatch.setenv(name, str(value))

    async def story() -> None:
        stage = await Stage(root).start()
        await stage.work({"a.txt": "a\n"})

    run(story())
    assert [path.name for path in other.iterdir()] == [".git"]


def test_errors_have_the_command_and_gits_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        project = Project(repository(tmp_path))
        make_local(project)
        found = await open_repository(project)
        with refused("git.failed", "`git cat-file commit nonsense`", "fatal: ") as caught:
            await found.git("cat-file", "commit", "nonsense")
        assert isinstance(caught.value, PortError)
        assert not caught.value.retryable
        monkeypatch.setattr(process, "OUTPUT_LIMIT", 10)
        with pytest.raises(PortError, match="printed more than 10 bytes"):
            await found.git("cat-file", "commit", git(project.root, "rev-parse", "HEAD"))
        monkeypatch.setattr(process, "TIMEOUT", 0.0)
        with pytest.raises(PortError, match="took longer than 0") as caught:
            await run_git(["cat-file", "--batch"], cwd=project.root, env={}, stdin=b"\n")
        assert caught.value.retryable

    run(story())


@pytest.mark.parametrize("contents", [[], [b"one\n"], [b"one\r\n", b"", b"\xff\0", b"one\r\n"]])
def test_contents_are_kept_byte_for_byte(tmp_path: Path, contents: list[bytes]) -> None:
    async def story() -> None:
        root = repository(tmp_path, {".gitattributes": "* text=auto eol=lf\n"})
        found = (await Stage(root).start()).repository
        ids = await found.keep(contents)
        assert await found.blobs(ids) == contents

    run(story())


def test_equal_commits_are_made_once_and_others_are_others(tmp_path: Path) -> None:
    async def story() -> None:
        found = (await Stage(repository(tmp_path)).start()).repository
        tree = await found.tree(git(tmp_path / "repo", "rev-parse", "HEAD"))
        one = await found.commit(tree, (), "a\n", 1000)
        assert await found.commit(tree, (), "a\n", 1000) == one
        others = [
            await found.commit(tree, *rest) for rest in (((), "b\n", 1000), ((), "a\n", 2000), ((one,), "a\n", 1000))
        ]
        assert len({one, *others}) == 4

    run(story())


@given(
    message=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    at=st.integers(0, 2**31 * 1000),
    parents=st.lists(st.integers(0, 1), max_size=3),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_commits_are_those_that_git_would_make(tmp_path: Path, message: str, at: int, parents: list[int]) -> None:
    root = repository(tmp_path) if not (tmp_path / "repo").exists() else tmp_path / "repo"

    async def story() -> tuple[str, str]:
        there = (await Stage(root).start()).repository
        tree = await there.tree(git(root, "rev-parse", "HEAD"))
        known = [await there.commit(tree, (), "one\n", 0), await there.commit(tree, (), "two\n", 0)]
        some = tuple(known[n] for n in parents)
        words = [word for one in some for word in ("-p", one)]
        said = await there.git("commit-tree", *words, tree, stdin=message.encode() or b"\n", at=at)
        return await there.commit(tree, some, message, at), said.text

    made, wanted = run(story())
    assert made == wanted


def test_a_commit_that_git_refuses_is_refused_in_its_words(tmp_path: Path) -> None:
    async def story() -> None:
        there = (await Stage(repository(tmp_path)).start()).repository
        tree = await there.tree(git(there.root, "rev-parse", "HEAD"))
        with refused("git.failed", "NUL byte"):
            await there.commit(tree, (), "a\0b", 0)
        with refused("git.failed", "commit-tree"):
            await there.commit("no tree", (), "a", 0)

    run(story())


# One process answers many questions about objects, and is gone when nobody needs it.


async def opened(tmp_path: Path) -> tuple[Objects, str]:
    project = Project(repository(tmp_path))
    make_local(project)
    found = await open_repository(project)
    return Objects(found.own, found.objects), git(project.root, "rev-parse", "HEAD")


def test_objects_are_read_by_id_and_by_path(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        names = [head, f"{head}^{{tree}}", f"{head}:README.md", f"{head}:src", f"{head}:none", "nonsense", "f" * 40]
        found = await objects.read(names)
        assert [one and one.kind for one in found] == ["commit", "tree", "blob", "tree", None, None, None]
        assert found[2] is not None
        assert found[2].data == b"read me\n"
        (first,) = git_processes("cat-file")
        await objects.read([head])
        assert git_processes("cat-file") == [first], "the same process"
        with refused("git.no_object"):
            await objects.read([f"{head}:a\nb"])

    run(story())


def test_simultaneous_reads_get_their_own_answers(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        names = ["README.md", "src/app.py", "tests/test_app.py", "none"] * 25
        answers = await asyncio.gather(*(objects.read([f"{head}:{name}"]) for name in names))
        told = {name: one.data if one else None for name, [one] in zip(names, answers, strict=True)}
        assert told["README.md"] == b"read me\n"
        assert told["none"] is None
        assert all((one.data if one else None) == told[name] for name, [one] in zip(names, answers, strict=True))

    run(story())


def test_an_object_that_is_too_large_is_refused_and_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        monkeypatch.setattr(process, "OUTPUT_LIMIT", 7)
        with pytest.raises(PortError) as failure:
            await objects.read([f"{head}:README.md"])
        assert failure.value.code == "git.too_large"
        monkeypatch.setattr(process, "OUTPUT_LIMIT", 15)
        with refused("git.too_large"):
            await objects.read([f"{head}:README.md"] * 2)
        assert (await objects.read([f"{head}:README.md"]))[0] is not None

    run(story())


def test_a_process_that_was_killed_or_left_in_the_middle_is_replaced(tmp_path: Path) -> None:
    async def story() -> None:
        objects, head = await opened(tmp_path)
        await objects.read([head])
        (killed,) = git_processes("cat-file")
        os.kill(killed, signal.SIGKILL)
        while git_processes("cat-file") in ([killed], []):  # a question or two may be answered before it dies
            assert (await objects.read([head]))[0] is not None
        asking = asyncio.create_task(objects.read([f"{head}:README.md"] * 1000))
        while objects._reading._process is None or not objects._reading._lock.locked():
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        found = await objects.read([f"{head}:src/app.py"])
        assert found[0] is not None
        assert found[0].data.startswith(b"def f()")

    run(story())


def test_the_process_ends_with_its_loop_and_another_loop_starts_its_own(tmp_path: Path) -> None:
    async def first() -> tuple[Objects, str, int]:
        objects, head = await opened(tmp_path)
        await objects.read([head])
        (process,) = git_processes("cat-file")
        return objects, head, process

    objects, head, pid = run(first())
    assert not Path(f"/proc/{pid}").exists()

    async def second() -> None:
        assert (await objects.read([head]))[0] is not None

    run(second())
