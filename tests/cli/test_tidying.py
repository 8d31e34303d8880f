"""`treadle gc` without options: what no person and no run can want any more goes, all else stays."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chores import ASKING, DECIDING
from tests.cli.kept import KEPT, TURN, Kept, run
from tests.cli.treadle import treadle
from treadle.cli.gc import describe_collected
from treadle.engines.gc import RemovedRefs, RemovedRuns, TidyReport
from treadle.store.gc import Freed

OLD = 1_600_000_000


def tidy(*words: str) -> dict[str, Any]:
    found = treadle("gc", "--json", *words)
    assert found.code == 0, found.err
    tidied: dict[str, Any] = found.json()["tidied"]
    return tidied


def refs(kept: Kept) -> list[str]:
    return kept.git("for-each-ref", "--format=%(refname)").splitlines()


def sweep(kept: Kept, name: str) -> None:
    """A run that writes a file of its own."""
    turn = {**TURN, "write": {f"swept/{name}.txt": "clean\n"}}
    (kept.root / f"{name}.yaml").write_text(json.dumps({"agents": [{"turns": [turn]}]}))
    assert run("--name", name, agent=f"scripted:{name}.yaml").code == 0


@pytest.mark.soak
def test_ten_delivered_runs_leave_one_ref_each_and_no_branch(kept: Kept) -> None:
    names = [f"n{n}" for n in range(10)]
    for name in names:
        sweep(kept, name)
        assert treadle("deliver", name).code == 0
    before = refs(kept)
    assert [ref for ref in before if ref.startswith("refs/heads/")] == [
        "refs/heads/main",
        *(f"refs/heads/treadle/{name}/result" for name in names),
    ]
    shown = [treadle("evidence", name, "--json").json() for name in names]
    dry = tidy("--dry-run")
    assert refs(kept) == before
    found = tidy()
    assert found == dry
    assert found["branches"] == [f"treadle/{name}/result" for name in reversed(names)]
    assert found["refs"] == len(before) - 11
    assert refs(kept) == ["refs/heads/main", *(f"refs/treadle/{name}/packed" for name in names)]
    for name, one in zip(names, shown, strict=True):
        now = treadle("evidence", name, "--json").json()
        result = {**one.pop("result"), "branch": now["result"]["commit"]}
        assert (now.pop("result"), now) == (result, one), "evidence says the same; only the branch is gone"
    assert tidy() == {**found, "refs": 0, "branches": [], "worktrees": {"count": 0, "bytes": 0}}


def test_a_packed_run_can_still_be_replayed_delivered_and_forgotten(kept: Kept) -> None:
    run("--name", "first")
    assert tidy()["undelivered"] == ["treadle/first/result"]
    assert refs(kept) == ["refs/heads/main", "refs/heads/treadle/first/result", "refs/treadle/first/packed"]
    assert run("--name", "again", agent="replay:first").code == 0
    assert kept.git("rev-parse", "treadle/again/result^{tree}") == kept.git("rev-parse", "treadle/first/result^{tree}")
    assert treadle("deliver", "first").code == 0
    assert (kept.root / "swept" / "floor.txt").read_text() == "clean\n"
    tidy()
    kept.git("reset", "-q", "--hard", "HEAD~1")
    found = treadle("status", "first", "--json").json()["result"]
    assert (found["taken"], found["branch"]) == (False, found["commit"]), "its branch is gone, its commit is not"
    assert treadle("deliver", "first").code == 0
    assert treadle("gc", "--run", "first").code == 0
    assert not any("/first/" in ref for ref in refs(kept))


def test_unfinished_runs_keep_all_they_have(kept: Kept) -> None:
    kept.add("asks", KEPT.replace("protocol: kept", "protocol: asks").replace(DECIDING, ASKING))
    treadle("run", "chore.yaml", "-p", "asks", "--agent", "scripted:sweeper.yaml", "--name", "it")
    before, lanes = refs(kept), sorted((kept.root / ".treadle/local/worktrees").glob("lane-*.json"))
    tidy()
    assert (refs(kept), sorted((kept.root / ".treadle/local/worktrees").glob("lane-*.json"))) == (before, lanes)
    assert treadle("answer", "it", "accept").code == 0
    assert kept.git("show", "treadle/it/result:swept/floor.txt") == "clean"


def test_a_lane_that_was_never_released_is_saved_first(kept: Kept) -> None:
    """As after a crash at the very end of a run, and for a run that the store does not know."""
    kept.add("asks", KEPT.replace("protocol: kept", "protocol: asks").replace(DECIDING, ASKING))
    treadle("run", "chore.yaml", "-p", "asks", "--agent", "scripted:sweeper.yaml", "--name", "it")
    (note,) = (kept.root / ".treadle/local/worktrees").glob("lane-*.json")
    (note.with_suffix("") / "swept" / "more.txt").write_text("not committed\n")
    lease = {**json.loads(note.read_text()), "run": "lost"}
    note.write_text(json.dumps(lease))
    found = tidy()
    assert (found["lanes"], found["worktrees"]["count"] >= 1, note.exists()) == (1, True, False)
    (saved,) = [ref for ref in refs(kept) if ref.startswith("refs/treadle/lost/act/") and ref.endswith("/wip")]
    assert kept.git("show", f"{saved}:swept/more.txt") == "not committed"


def test_leftovers_and_old_measurements_go(kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("--name", "first")
    local, scratch = kept.root / ".treadle" / "local", tmp_path / "scratch"
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    old = [
        local / "measured" / "aa" / "1.json",
        local / "worktrees" / ".lane-9.json.999999999.0123abcd",
        local / "runs" / "unknown" / "acts" / "x" / "out.txt",
        local / "runs" / "first" / "acts" / "conversations" / "one" / "home" / "login.json",
        scratch / "treadle-index-abcd_123" / "index",
    ]
    young = [
        local / "measured" / "aa" / "2.json",
        local / "worktrees" / f".lane-9.json.{os.getpid()}.0123abcd",
        scratch / "treadle-demo-abc" / "x",
        scratch / "treadle-index-abcd_124" / "index",
    ]
    for path in [*old, *young]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    for path in [*old, young[2], old[2].parents[2], old[4].parent, young[2].parent]:
        os.utime(path, (OLD, OLD))
    found = tidy()
    assert (found["cache"]["count"], found["leftovers"]["count"], found["conversations"]["count"]) == (1, 3, 1)
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in young)
    assert (local / "runs" / "first").is_dir()


def test_a_result_that_a_worktree_is_on_stays(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> None:
    run("--name", "first")
    treadle("deliver", "first")
    kept.git("worktree", "add", "-q", str(tmp_path_factory.mktemp("beside") / "it"), "treadle/first/result")
    assert tidy()["branches"] == []
    assert "refs/heads/treadle/first/result" in refs(kept)


def test_accepted_work_without_a_result_takes_one_line() -> None:
    kept = tuple(f"treadle/run{number}/root/int" for number in range(16))
    nothing = RemovedRuns(
        freed=Freed(runs=(), events=0, payloads=0, bytes=0, is_busy=False), files=0, shrunk=0, forgotten=RemovedRefs()
    )
    branch = "treadle/first/result"
    lines = list(describe_collected(TidyReport(undelivered=(branch, *kept)), nothing, dry=False))
    assert [branch in line for line in lines] == [False, True, False]
    assert all(text in lines[2] for text in ("16 runs", kept[0], "--run RUN --branches"))
