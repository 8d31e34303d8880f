"""`treadle uninstall`: every trace goes, nothing else does, and nothing unsaved is lost by accident."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chores import ASKING, DECIDING
from tests.cli.kept import KEPT, Kept
from tests.cli.test_older_branches import make_older
from tests.cli.treadle import Outcome, treadle
from treadle.cli.service_unit import install_unit, installed_unit
from treadle.cli.traces import Uninstalling, refuse
from treadle.config.project import Project, make_local
from treadle.config.projects import Projects
from treadle.engines.serving import only_one
from treadle.errors import TreadleError
from treadle.runtime.placed import Placed


@pytest.fixture
def plain(kept: Kept, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A repository that Treadle has never seen; the protocol for its runs lies in `flows`."""
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(home))
    kept.add("asks", KEPT.replace("protocol: kept", "protocol: asks").replace(DECIDING, ASKING))
    (kept.root / ".treadle" / "protocols").rename(kept.root / "flows")
    (kept.root / ".treadle").rmdir()
    (kept.root / ".gitignore").write_text("*.log\n")
    (kept.root / "mine.log").write_text("ignored\n")
    kept.git("add", "-A")
    kept.git("commit", "-q", "-m", "third")
    return kept


def run(name: str, protocol: str = "kept") -> Outcome:
    words = ("-p", f"flows/{protocol}", "--agent", "scripted:sweeper.yaml", "--name", name)
    return treadle("run", "chore.yaml", *words)


def seen(kept: Kept) -> dict[str, Any]:
    """What a person sees of a project: refs, worktrees, what git says of files, and all files."""
    files = [path for path in kept.root.rglob("*") if ".git" not in path.parts]
    return {
        "refs": kept.git("for-each-ref"),
        "worktrees": kept.git("worktree", "list"),
        "status": kept.git("status", "--ignored", "--porcelain"),
        "files": {str(path.relative_to(kept.root)): path.is_file() and path.read_bytes() for path in files},
        "config": (kept.root / ".git" / "config").read_text(),
        "exclude": (kept.root / ".git" / "info" / "exclude").read_text(),
        "places": sorted(str(path.relative_to(kept.root)) for path in (kept.root / ".git" / "refs").rglob("*")),
    }


def refusal(kept: Kept, *, force: bool = False) -> str:
    with pytest.raises(TreadleError) as refused:
        refuse(asyncio.run(Uninstalling(Project(kept.root), config=False).find()), force=force)
    return refused.value.code


def test_the_project_is_as_it_was_before_init(plain: Kept) -> None:
    before = seen(plain)
    assert treadle("init").code == 0
    assert treadle("hook", "install", "--agent", "claude").code == 0
    assert treadle("projects", "add", "--name", "it").code == 0
    install_unit(Project(plain.root))
    assert run("first").code == 0
    assert run("second").code == 0
    make_older(plain, "first")
    during = seen(plain)
    assert during != before

    listed = treadle("uninstall", "--config", "--dry-run", "--json").json()
    assert seen(plain) == during, "looking changes nothing"
    assert listed["branches"] == [
        "treadle/second/result",
        "treadle/first/result",
        "treadle/first/root/int",
        "treadle/first/root/main",
    ]
    assert listed["files"] == ["treadle.toml", ".treadle/local"]
    assert (listed["names"], len(listed["hooks"]), listed["removed"]) == (["it"], 1, False)
    assert {one["code"] for one in listed["reasons"]} == {"uninstall.undelivered"}

    assert treadle("uninstall", "--config", "--yes").code == 2
    assert refusal(plain) == "uninstall.undelivered"
    assert treadle("uninstall", "--config", "--force").code == 2, "nobody has said yes"
    assert seen(plain) == during

    gone = treadle("uninstall", "--config", "--force", "--yes", "--json")
    assert (gone.code, gone.json()["removed"]) == (0, True), gone.err
    assert seen(plain) == before
    assert Projects(os.environ).all() == {}
    assert installed_unit(Project(plain.root)) is None
    again = treadle("uninstall", "--config", "--yes")
    assert (again.code, seen(plain)) == (0, before)


def test_settings_and_delivered_work_stay(plain: Kept) -> None:
    treadle("init")
    run("first")
    assert treadle("deliver", "first").code == 0
    plain.git("branch", "treadle/foo")
    main = plain.git("rev-parse", "main")
    assert treadle("uninstall", "--yes").code == 0
    assert (plain.root / "treadle.toml").is_file()
    assert not (plain.root / ".treadle").exists()
    assert plain.git("for-each-ref", "--format=%(refname)").splitlines() == [
        "refs/heads/main",
        "refs/heads/treadle/foo",
    ]
    assert plain.git("rev-parse", "main") == main
    assert (plain.root / "swept" / "floor.txt").is_file()
    assert run("first").code == 3, "one can begin anew, and a person is asked, for there is nothing left to sweep"


def test_a_run_that_has_not_ended_and_one_that_is_driven(plain: Kept) -> None:
    run("it", "asks")
    assert refusal(plain) == "uninstall.unfinished"
    with only_one(Project(plain.root)):
        assert refusal(plain, force=True) == "uninstall.served"
    assert treadle("uninstall", "--yes", "--force").code == 0
    assert not (plain.root / ".treadle").exists()


def test_a_branch_that_you_are_on_stays_and_is_named(plain: Kept) -> None:
    run("first")
    plain.git("checkout", "-q", "treadle/first/result")
    done = treadle("uninstall", "--yes", "--force", "--json").json()
    assert (done["branches"], len(done["left"])) == ([], 1)
    assert plain.git("status", "--porcelain") == ""


def test_another_worktree_with_runs_keeps_its_refs(plain: Kept, tmp_path_factory: pytest.TempPathFactory) -> None:
    beside = tmp_path_factory.mktemp("beside") / "it"
    run("first")
    plain.git("worktree", "add", "-q", "-b", "other", str(beside))
    os.chdir(beside)
    assert run("second").code == 0
    os.chdir(plain.root)
    assert treadle("uninstall", "--yes", "--force").code == 0
    refs = plain.git("for-each-ref", "--format=%(refname)", "refs/treadle", "refs/heads/treadle").splitlines()
    assert refs
    assert all("/second/" in ref for ref in refs)


def test_shown_files_go_unless_somebody_changed_them_or_they_lie_elsewhere(plain: Kept) -> None:
    before = seen(plain)
    own, changed, tracked = ".ai/STATE.json", "notes/x.md", "flows/own.md"
    (plain.root / tracked).write_text("{}")
    plain.git("add", tracked)
    placed = Placed(make_local(Project(plain.root)))
    for name in (own, changed, tracked, ".git/description", "../outside"):
        path = plain.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
        placed.note(name, b"{}")
    (plain.root / changed).write_text("mine")
    assert treadle("uninstall", "--yes", "--json").json()["files"] == [own, ".treadle/local"]
    assert (plain.root.parent / "outside").is_file()
    assert set(seen(plain)["files"]) == {*before["files"], "notes", changed, tracked}


def test_a_folder_that_is_a_link_is_refused(plain: Kept, tmp_path_factory: pytest.TempPathFactory) -> None:
    (plain.root / ".treadle").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(TreadleError) as refused:
        Uninstalling(Project(plain.root), config=True)
    assert refused.value.code == "file.link"


def test_refs_go_though_somebody_has_removed_the_folder(plain: Kept) -> None:
    before = seen(plain)
    run("first")
    plain.git("branch", "-q", "-D", "treadle/first/result")
    treadle_folder = plain.root / ".treadle"
    treadle_folder.rename(Path(os.environ["HOME"]) / "away")
    assert treadle("uninstall", "--yes").code == 0
    assert seen(plain) == before
