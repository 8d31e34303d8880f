"""Repositories as they are found in the world: most work, some are refused with a reason."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.place import RUN, Stage, git, repository, run, write
from treadle.config.project import Project, make_local
from treadle.errors import PortError
from treadle.git import repository as module
from treadle.git.process import run_git
from treadle.git.repository import open_repository


def _detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def _dirty(root: Path) -> None:
    write(root, {"README.md": "changed\n", "new.txt": "new\n"})
    git(root, "add", "new.txt")


def _hooks(root: Path) -> None:
    for name in ("post-checkout", "pre-commit", "reference-transaction", "post-index-change", "post-commit"):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {root}/hook-ran\nexit 1\n")
        hook.chmod(0o755)


def _settings(root: Path) -> None:
    marker = f"touch {root}/hook-ran; cat"
    settings = {
        "commit.gpgsign": "true",
        "gpg.program": "false",
        "core.autocrlf": "true",
        "core.fsmonitor": f"{root}/evil",
        "core.ignorecase": "true",
        "diff.external": marker,
        "filter.evil.clean": marker,
        "filter.evil.smudge": marker,
        "filter.evil.required": "true",
        "merge.evil.driver": marker,
        "diff.evil.textconv": marker,
        "user.useConfigOnly": "true",
    }
    for name, value in settings.items():
        git(root, "config", name, value)
    write(root, {".gitattributes": "* filter=evil merge=evil diff=evil text=auto eol=crlf ident\n"})
    git(root, "-c", "filter.evil.clean=cat", "-c", "filter.evil.smudge=cat", "add", ".gitattributes")
    git(root, "-c", "commit.gpgsign=false", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "attributes")


def _submodule(root: Path) -> None:
    inner = root.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(root, "commit", "-q", "-m", "submodule")


def _odd_names(root: Path) -> None:
    write(root, {"a b/ü.txt": "x\n", "Case.txt": "1\n", "case.txt": "2\n", 'q"uote\n.txt': "n\n", "-dash": "d\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "names")


@pytest.mark.parametrize("prepare", [_detached, _dirty, _hooks, _settings, _submodule, _odd_names])
def test_a_run_works_and_touches_nothing_of_the_users(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    root = repository(tmp_path)
    prepare(root)
    (root / "hook-ran").unlink(missing_ok=True)
    plain = {"GIT_OPTIONAL_LOCKS": "0"}
    quiet = ("-c", "core.fsmonitor=false", "-c", "filter.evil.clean=cat", "-c", "diff.external=")
    before = (git(root, *quiet, "status", "--porcelain", env=plain), git(root, "rev-parse", "HEAD"), _kept(root))

    async def story() -> None:
        stage = await Stage(root).start()
        commit = await stage.work({"src/new.py": "x = 1\n", "crlf.txt": "a\r\nb $Id$\n"})
        assert await stage.head() == commit
        assert git(root, "diff-tree", "-r", "--name-only", "HEAD", commit).splitlines() == ["crlf.txt", "src/new.py"]
        assert await stage.repository.show(commit, "crlf.txt") == b"a\r\nb $Id$\n"
        author = git(root, "show", "-s", "--format=%an <%ae> %cn <%ce> %ct", commit)
        assert author == "Treadle <treadle@localhost> Treadle <treadle@localhost> 1700000001"

    run(story())
    assert not (root / "hook-ran").exists()
    assert (
        git(root, *quiet, "status", "--porcelain", env=plain),
        git(root, "rev-parse", "HEAD"),
        _kept(root),
    ) == before


def _kept(root: Path) -> tuple[bytes, bytes, str]:
    folder = root / ".git"
    refs = [line for line in git(root, "for-each-ref").splitlines() if "treadle" not in line]
    return (folder / "index").read_bytes(), (folder / "config").read_bytes(), "\n".join(refs)


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


def test_a_linked_worktree_of_the_user_works(tmp_path: Path) -> None:
    root = repository(tmp_path)
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "feature", str(linked))

    async def story() -> None:
        stage = await Stage(linked).start()
        assert (await stage.integration.begin(RUN)).branch == "refs/heads/feature"
        await stage.work({"a.txt": "a\n"})

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


def _merging(root: Path) -> None:
    (root / ".git" / "MERGE_HEAD").write_text("0" * 40)


def _picking(root: Path) -> None:
    (root / ".git" / "CHERRY_PICK_HEAD").write_text("0" * 40)


def _rebasing(root: Path) -> None:
    (root / ".git" / "rebase-merge").mkdir()


@pytest.mark.parametrize(
    ("prepare", "reason"), [(_merging, "a merge"), (_picking, "a cherry-pick"), (_rebasing, "a rebase")]
)
def test_what_is_in_progress_is_finished_first(tmp_path: Path, prepare: Callable[[Path], None], reason: str) -> None:
    root = repository(tmp_path)
    prepare(root)
    with pytest.raises(PortError, match=f"in the middle of {reason}; finish or abort it"):
        run(open_repository(Project(root)))


def test_no_repository_no_commits_and_a_subfolder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PortError, match="not a git repository"):
        run(open_repository(Project(tmp_path)))
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    with pytest.raises(PortError, match="has no commits yet"):
        run(open_repository(Project(empty)))
    root = repository(tmp_path)
    with pytest.raises(PortError, match="is a folder inside of the repository"):
        run(open_repository(Project(root / "src")))


def test_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OLDEST", (99, 0))
    with pytest.raises(PortError, match=r"is too old; install git 99\.0 or newer"):
        run(open_repository(Project(repository(tmp_path))))


def test_the_callers_environment_points_git_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_errors_have_the_command_and_gits_words(tmp_path: Path) -> None:
    async def story() -> None:
        project = Project(repository(tmp_path))
        make_local(project)
        found = await open_repository(project)
        with pytest.raises(PortError, match=r"`git cat-file commit nonsense` failed: fatal: .*nonsense") as caught:
            await found.git("cat-file", "commit", "nonsense")
        assert not caught.value.retryable
        with pytest.raises(PortError, match="printed more than 10 bytes"):
            await found.git("cat-file", "commit", git(project.root, "rev-parse", "HEAD"), most=10)
        with pytest.raises(PortError, match="took longer than 0") as caught:
            await run_git(["cat-file", "--batch"], cwd=project.root, env={}, stdin=b"\n", patience=0.0)
        assert caught.value.retryable

    run(story())
