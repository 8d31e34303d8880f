"""A whole tree of V3 with real git and real tests: two children, one of which lies, and a root that builds on both."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from treadle.testing.demos import SCRIPT, SPEC, lay_out


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.soak
def test_children_are_merged_rebased_and_judged_and_the_root_builds_on_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out("tree", tmp_path / "repository")
    monkeypatch.chdir(tmp_path / "repository")
    start = git("rev-parse", "HEAD")

    result = treadle("run", SPEC, "--agent", f"scripted:{SCRIPT}")

    lines = result.out.splitlines()
    assert result.code == 0, result.out + result.err
    assert "invoice has ended with Merged" in lines
    assert "root/totals: impl · impl, attempt 2 of 5" in lines, "the lie is refused"
    assert "root/reading: review · tdd:ReviewImpl" in lines
    assert any("rebase on ContextShift · effect rebase" in line for line in lines)
    assert lines.count("root: judge on ChildMerged · tdd:JudgeChild") == 2
    built = lines.index("root: impl · impl")
    assert all(lines.index(f"root/{child}: Merged") < built + 2 for child in ("reading", "totals"))

    lie = treadle("show", "invoice", "root/totals:impl#1.1")
    assert "refused: !gate (green failed)" in lie.out
    assert "test_ten_pieces_are_cheaper" in lie.out

    proved = treadle("evidence", "invoice", "--json").json()
    assert [(it["id"], it["instance"], it["standing"], it["missing"]) for it in proved["criteria"]] == [
        ("AC-1", "root/reading", "verified", []),
        ("AC-2", "root/reading", "verified", []),
        ("AC-3", "root/totals", "verified", []),
        ("AC-4", "root", "verified", []),
    ]
    discount = proved["criteria"][2]
    assert (discount["red"], discount["green"]) == ("root/totals:tests#1.1", "root/totals:impl#1.2")
    assert discount["setbacks"] == ["root/totals:impl#1.1"], "the lie stays in the history"
    assert [it["exit"] for it in discount["verdicts"]] == ["Approved", "ChildAccepted", "Approved"]
    assert discount["merges"] == ["root/totals:merge#1.1", "root:merge#1.1"]
    assert git("cat-file", "-t", discount["commit"]) == "commit"
    raw = [check for step in proved["accepted"] for check in step["checks"]]
    assert {"red", "green", "coverage_complete", "suite", "same_colour"} <= {check["check"] for check in raw}
    assert all(check["ok"] and check["commit"] and check["tree"] and not check["gone"] for check in raw)
    assert all(check["exit"] is not None for check in raw if check["command"])
    treadle("evidence", "invoice", "--html", str(tmp_path / "page.html"))
    assert "4 of 4 criteria verified" in (tmp_path / "page.html").read_text()

    assert (git("rev-parse", "main"), git("status", "--porcelain")) == (start, ""), "the user's own is untouched"
    assert git("rev-list", "--count", "main..treadle/invoice/result") == "1"
    git("worktree", "add", "-q", str(tmp_path / "result"), "treadle/invoice/result")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    suite = subprocess.run(tests, cwd=tmp_path / "result", check=False, capture_output=True, text=True)
    assert suite.stdout.splitlines()[-1].startswith("11 passed"), suite.stdout
