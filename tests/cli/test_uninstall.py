"""`treadle uninstall`: every trace goes, nothing else does, and nothing unsaved is lost by accident."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.chores import ASKING, DECIDING
from tests.cli.kept import KEPT, Kept
from tests.cli.test_older_branches import make_older
from tests.cli.treadle import Outcome, treadle
from treadle.cli.serve import install_unit, installed_unit
from treadle.cli.uninstall import Reason, Uninstalling, refuse_removal
from treadle.config.project import Project, make_local
from treadle.config.projects import Projects
from treadle.engines.service import service_lock
from treadle.errors import TreadleError
from treadle.runtime.placed_files import PlacedFiles


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
        refuse_removal(asyncio.run(Uninstalling(Project(kept.root), config=False).find()), force=force)
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

    for words, warned in (((), True), (("--force",), False)):
        tried = treadle("uninstall", "--config", "--dry-run", *words)
        assert (tried.code, "[uninstall.undelivered]" in tried.out) == (0, warned), "what the command itself will do"
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
    with service_lock(Project(plain.root)):
        assert refusal(plain, force=True) == "uninstall.served"
    assert treadle("uninstall", "--yes", "--force").code == 0
    assert not (plain.root / ".treadle").exists()


HOLDER = """
import asyncio, sys
from pathlib import Path
from treadle.config.project import Project
from treadle.store.sqlite import opened_store
with opened_store(Project(Path.cwd())) as store:
    asyncio.run(store.take_lease("it", 0))
    print("held", flush=True)
    sys.stdin.read()
"""
"""A process that drives the run `it` until its input ends."""


def test_a_run_that_another_process_drives_cannot_be_forced(plain: Kept) -> None:
    run("it", "asks")
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, cwd=plain.root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert refusal(plain, force=True) == "uninstall.driven"
        holder.communicate()
    assert refusal(plain) == "uninstall.unfinished"


def test_a_repository_that_cannot_be_read_keeps_its_runs(plain: Kept) -> None:
    run("it")
    (plain.root / ".git" / "MERGE_HEAD").write_text(plain.git("rev-parse", "HEAD") + "\n")
    assert refusal(plain, force=True) == "uninstall.repository"
    assert (plain.root / ".treadle" / "local").is_dir()


def test_uninstall_without_yes_is_refused(plain: Kept) -> None:
    local = make_local(Project(plain.root))
    asked = treadle("uninstall")
    assert (asked.code, asked.error) == (2, "uninstall.unconfirmed")
    assert local.is_dir()


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


def test_placed_files_go_unless_they_were_changed_or_lie_outside(plain: Kept) -> None:
    before = seen(plain)
    own, changed, tracked = ".ai/STATE.json", "notes/x.md", "flows/own.md"
    (plain.root / tracked).write_text("{}")
    plain.git("add", tracked)
    placed = PlacedFiles(make_local(Project(plain.root)))
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


def test_refs_go_even_if_the_folder_was_removed(plain: Kept) -> None:
    before = seen(plain)
    run("first")
    plain.git("branch", "-q", "-D", "treadle/first/result")
    treadle_folder = plain.root / ".treadle"
    treadle_folder.rename(Path(os.environ["HOME"]) / "away")
    assert treadle("uninstall", "--yes").error == "uninstall.accepted", "the only copy of accepted work"
    assert treadle("uninstall", "--yes", "--force").code == 0
    assert seen(plain) == before


def test_accepted_work_of_an_aborted_run_is_kept_by_the_command_that_is_named(plain: Kept) -> None:
    for name in ("old", "new"):
        run(name, "asks")
        treadle("answer", name, "abort", "--resume")
    found = asyncio.run(Uninstalling(Project(plain.root), config=False).find())
    assert {(one.what, one.code) for one in found.reasons} == {
        ("old", "uninstall.accepted"),
        ("new", "uninstall.accepted"),
    }
    assert found.branches == (), "no result, no result branch"
    said = treadle("uninstall", "--yes")
    assert (said.code, said.error) == (2, "uninstall.accepted")
    assert all(f"`git branch NAME treadle/{name}/root/int`" in said.err for name in ("old", "new"))
    assert max(map(len, said.err.splitlines())) < 200
    for name in ("old", "new"):
        plain.git("branch", f"kept-{name}", f"treadle/{name}/root/int")
    assert treadle("uninstall", "--yes").code == 0
    assert plain.git("show", "kept-old:swept/floor.txt") == "clean"


def test_accepted_work_of_a_forgotten_run_is_not_removed(plain: Kept) -> None:
    run("old", "asks")
    treadle("answer", "old", "abort", "--resume")
    kept = treadle("gc", "--run", "old", "--json").json()["forgotten"]["forgotten"]["kept"]
    assert kept == ["treadle/old/root/int"]
    said = treadle("uninstall", "--yes")
    assert (said.code, said.error) == (2, "uninstall.accepted")
    plain.git("branch", "mine", kept[0])
    assert treadle("uninstall", "--yes").code == 0


@pytest.mark.usefixtures("plain")
def test_temporary_folders_of_killed_processes_go(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    gone = subprocess.Popen(["true"])
    gone.wait()
    here = Path("/proc/self/ns/pid").stat().st_ino
    names = [
        f"treadle-scratch-{pid}-{where}-abc" for pid, where in ((gone.pid, here), (gone.pid, 1), (os.getpid(), here))
    ]
    names.append("treadle-demo-abc")
    for name in names:
        (scratch / name).mkdir()
    run("first")
    assert treadle("uninstall", "--yes", "--force").code == 0
    assert [name for name in names if (scratch / name).exists()] == names[1:]


def test_a_refusal_names_a_few_obstacles(plain: Kept) -> None:
    found = asyncio.run(Uninstalling(Project(plain.root), config=False).find())
    reasons = tuple(Reason(code="uninstall.unfinished", what=str(n), text=f"run {n}") for n in range(30))
    with pytest.raises(TreadleError) as refused:
        refuse_removal(msgspec.structs.replace(found, reasons=reasons), force=False)
    assert (refused.value.code, len(str(refused.value).splitlines())) == ("uninstall.unfinished", 12)


def test_commits_of_a_person_on_a_result_branch_are_not_removed(plain: Kept) -> None:
    run("first")
    assert treadle("deliver", "first").code == 0
    plain.git("checkout", "-q", "treadle/first/result")
    plain.git("commit", "-q", "--allow-empty", "-m", "mine")
    plain.git("checkout", "-q", "main")
    assert refusal(plain) == "uninstall.undelivered"
    plain.git("branch", "mine", "treadle/first/result")
    assert treadle("uninstall", "--yes").code == 0
