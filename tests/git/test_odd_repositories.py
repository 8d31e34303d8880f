"""Repositories as they are found in the world: a run works in each, and leaves everything of the user's as it was."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.git.place import Stage, git, repository, run, write
from tests.git.test_merge import Asking
from tests.refusals import refused
from treadle.config.project import Project
from treadle.git.merge import MergeRequest, MergeResult, merge_instance, rebase_instance
from treadle.git.repository import open_repository
from treadle.git.slots import Checkouts

ODD = {
    "a b/ü.txt": "x\n",
    "Case.txt": "1\n",
    "case.txt": "2\n",
    "q\"uo'te\n.txt": "n\n",
    "-dash": "d\n",
    ":(top)x": "m\n",
}


def _plain(_: Path) -> None: ...


def _detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def _dirty(root: Path) -> None:
    write(root, {"README.md": "changed\n", "new.txt": "new\n", "src/app.py": "staged\n", "untracked.txt": "u\n"})
    git(root, "add", "new.txt", "src/app.py")
    (root / "tests/test_app.py").unlink()


def _stashed(root: Path) -> None:
    write(root, {"README.md": "stashed\n"})
    git(root, "stash", "-q")


def _hooks(root: Path) -> None:
    for name in (
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
        "post-commit",
        "post-merge",
    ):
        hook = root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {root}/hook-ran\nexit 1\n")
        hook.chmod(0o755)


def _hooks_path(root: Path) -> None:
    _hooks(root)
    (root / ".git" / "hooks").rename(root.parent / "hooks")
    git(root, "config", "core.hooksPath", str(root.parent / "hooks"))


def _settings(root: Path) -> None:
    marker = f"touch {root}/hook-ran; cat"
    settings = {
        "commit.gpgsign": "true",
        "gpg.program": "false",
        "core.autocrlf": "true",
        "core.fsmonitor": f"{root}/evil",
        "core.ignorecase": "true",
        "diff.external": marker,
        "merge.evil.driver": marker,
        "diff.evil.textconv": marker,
        "user.useConfigOnly": "true",
        "init.templateDir": "/nonexistent",
        "alias.cat-file": f"!{marker}",
    }
    for name, value in settings.items():
        git(root, "config", name, value)


def _attributes(root: Path) -> None:
    """A filter such as that of LFS, which neither cleans nor smudges here: what is recorded is what git has."""
    write(
        root,
        {
            ".gitattributes": "* filter=evil merge=evil diff=evil text=auto eol=crlf ident\n*.md export-ignore\n",
            "big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        },
    )
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "attributes")
    for name in ("clean", "smudge", "process"):
        git(root, "config", f"filter.evil.{name}", f"touch {root}/hook-ran; false")
    git(root, "config", "filter.evil.required", "true")


def _submodule(root: Path) -> None:
    inner = root.parent / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(root, "commit", "-q", "-m", "submodule")


def _odd_names(root: Path) -> None:
    write(root, ODD)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "names")


def _sparse(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--cone", "src")


def _packed(root: Path) -> None:
    git(root, "tag", "v1")
    git(root, "branch", "other")
    git(root, "pack-refs", "--all")
    git(root, "gc", "-q", "--prune=now")


def _ignoring(root: Path) -> None:
    write(root, {".gitignore": "*.log\nbuild/\n", "build/out": "o\n", "x.log": "l\n", ".git/info/exclude": "*.tmp\n"})
    git(root, "add", ".gitignore")
    git(root, "commit", "-q", "-m", "ignore")


PLAIN = [_plain, _detached, _dirty, _stashed, _hooks, _hooks_path, _settings, _attributes, _submodule, _odd_names]
MORE = [_sparse, _packed, _ignoring]


@pytest.mark.parametrize("prepare", [*PLAIN, *MORE])
def test_a_run_works_and_leaves_the_users_repository_unchanged(tmp_path: Path, prepare: Callable[[Path], None]) -> None:
    root = repository(tmp_path)
    prepare(root)
    _works_and_leaves_all_as_it_was(root)
    assert not (root / "hook-ran").exists()


def _works_and_leaves_all_as_it_was(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    before = everything(root)
    result = run(_whole_run(root))
    assert everything(root) == before
    changed = git(root, "-c", "core.quotePath=false", "diff-tree", "-r", "--name-only", "-z", head, result).split("\0")
    assert set(filter(None, changed)) == {"src/new.py", "crlf.txt", "d ü/-x\n'\".txt", "b.txt"}
    author = git(root, "show", "-s", "--format=%an <%ae> %cn <%ce>", result)
    assert author == "Treadle <treadle@localhost> Treadle <treadle@localhost>"


async def _whole_run(root: Path) -> str:
    """Two children: one is merged, the other one rebased onto it and merged; the result of the run."""
    stage = await Stage(root).start()
    checkouts = Checkouts(stage.repository, stage.project.worktrees)
    for child in ("root/a", "root/b"):
        stage.add(child)
    mixed = "a\r\nb $Id$\n"
    await stage.work({"src/new.py": "x = 1\n", "crlf.txt": mixed, "d ü/-x\n'\".txt": "odd\n"}, inst="root/a")
    await stage.work({"b.txt": "b\n"}, inst="root/b")

    async def verify(commit: str) -> None:
        async with checkouts.clean(commit) as path:
            assert (path / "crlf.txt").read_bytes() == mixed.encode()
            assert (path / "d ü/-x\n'\".txt").read_text() == "odd\n"

    await merge_instance(stage.lanes, stage.state, "root/a", "root/a:merge#1.1", MergeRequest("a\n"), Asking(verify))
    assert (await rebase_instance(stage.integration, stage.state, "root/b")).is_clean
    await merge_instance(stage.lanes, stage.state, "root/b", "root/b:merge#1.1", MergeRequest("b\n"), Asking(verify))
    done = await merge_instance(
        stage.lanes, stage.state, "root", "root:merge#1.1", MergeRequest("all\n"), Asking(verify)
    )
    assert isinstance(done, MergeResult)
    await stage.lanes.close(stage.state.run)
    assert await stage.repository.show(done.commit, "crlf.txt") == mixed.encode()
    assert git(root, "rev-parse", "treadle/r1/result") == done.commit
    return done.commit


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of the user's checkout and of its git folder byte by byte, with mode and time; not our own."""
    dot = root / ".git"
    folders = {root} if dot.is_dir() or not dot.exists() else {root, Path(dot.read_text().split()[1]).parents[1]}
    found: dict[str, tuple[int, int, bytes]] = {}
    for folder in folders:
        for place, names, files in os.walk(folder):
            inside = Path(place)
            names[:] = [name for name in names if not _is_ours(inside / name)]
            for path in (inside / name for name in files if not _is_ours(inside / name)):
                state = path.lstat()
                found[str(path)] = (state.st_mode, state.st_mtime_ns, b"" if path.is_symlink() else path.read_bytes())
    return found


def _is_ours(path: Path) -> bool:
    tail = "/".join(path.parts[-3:])
    return path.name in ("objects", ".treadle") or tail.endswith(
        ("refs/treadle", "refs/heads/treadle", "heads/treadle")
    )


def test_a_linked_worktree_of_the_user_works(tmp_path: Path) -> None:
    root = repository(tmp_path)
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "-q", "-b", "feature", str(linked))
    write(linked, {"README.md": "dirty\n"})
    before = everything(root)
    _works_and_leaves_all_as_it_was(linked)
    assert everything(root) == before


def test_a_worktree_of_a_bare_repository_works(tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "linked"
    git(tmp_path, "clone", "-q", "--bare", str(repository(tmp_path)), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "feature", str(linked))
    _works_and_leaves_all_as_it_was(linked)


def test_borrowed_objects_work(tmp_path: Path) -> None:
    source = repository(tmp_path)
    root = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--shared", str(source), str(root))
    (root / ".git/objects/info/alternates").write_text("../../../repo/.git/objects\n")
    _works_and_leaves_all_as_it_was(root)

    async def story() -> None:
        stage = await Stage(root).start()
        lane = await stage.lanes.open(stage.state, stage.job(step="look", n="9.1"))
        assert git(lane.path, "show", "HEAD:README.md") == "read me", "an agent's git finds them, too"

    run(story())


def test_settings_of_the_user_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path)
    _hooks(root)
    (root / ".git" / "hooks").rename(tmp_path / "hooks")
    (tmp_path / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {tmp_path}/hooks\n\tautocrlf = true\n[commit]\n\tgpgSign = true\n"
        f'[gpg]\n\tprogram = false\n[filter "x"]\n\tclean = touch {root}/hook-ran; cat\n[init]\n\tdefaultBranch = z\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    _works_and_leaves_all_as_it_was(root)
    assert not (root / "hook-ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_owner_needs_safe_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path)
    for path in (root, *root.rglob("*")):
        os.lchown(path, 12345, 12345)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with refused("git.owner", f"safe.directory {root}`"):
        run(open_repository(Project(root)))
    (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")

    async def story() -> None:
        stage = await Stage(root).start()
        commit = await stage.work({"a.txt": "a\n"})
        assert await stage.repository.show(commit, "a.txt") == b"a\n"

    run(story())


def _merging(root: Path) -> None:
    git(root, "merge", "side", ok=False)


def _rebasing(root: Path) -> None:
    git(root, "rebase", "side", ok=False)


def _picking(root: Path) -> None:
    git(root, "cherry-pick", "side", ok=False)


def _reverting(root: Path) -> None:
    git(root, "revert", "--no-edit", "HEAD^", ok=False)


def _applying(root: Path) -> None:
    patch = root.parent / "side.patch"
    patch.write_text(git(root, "format-patch", "--stdout", "-1", "side") + "\n")
    git(root, "am", str(patch), ok=False)


def _bisecting(root: Path) -> None:
    git(root, "bisect", "start", "HEAD", "HEAD~2")


@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (_merging, "a merge"),
        (_rebasing, "a rebase"),
        (_picking, "a cherry-pick"),
        (_reverting, "a revert"),
        (_applying, "a rebase or `git am`"),
        (_bisecting, "a bisection"),
    ],
)
def test_a_repository_in_the_middle_of_an_operation_is_refused(
    tmp_path: Path, begin: Callable[[Path], None], what: str
) -> None:
    root = repository(tmp_path)
    git(root, "checkout", "-q", "-b", "side")
    write(root, {"README.md": "side\n"})
    git(root, "commit", "-q", "-a", "-m", "side")
    git(root, "checkout", "-q", "main")
    for n in range(2):
        write(root, {"README.md": f"main {n}\n"})
        git(root, "commit", "-q", "-a", "-m", f"main {n}")
    begin(root)
    with refused("git.busy", f" {what};"):
        run(open_repository(Project(root)))
    assert not (root / ".treadle").exists(), "nothing is half-made"


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    root = repository(tmp_path)
    write(root, {"run.sh": "#!/bin/sh\n"})
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("README.md")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "modes")

    async def story() -> None:
        stage = await Stage(root).start()
        lane = await stage.lanes.open(stage.state, stage.job())
        assert (lane.path / "run.sh").stat().st_mode & stat.S_IXUSR
        assert (lane.path / "link").readlink() == Path("README.md")
        write(lane.path, {"more.sh": "#!/bin/sh\n"})
        (lane.path / "more.sh").chmod(0o755)
        recorded = await stage.lanes.record("r1", stage.job().id, at=1_700_000_001_000)
        assert [(one.path, one.mode) for one in recorded.changed] == [("more.sh", "100755")]

    run(story())
