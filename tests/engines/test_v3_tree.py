"""A whole tree of V3 with real git and real tests: two children, one of which lies, and a root that builds on both."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import treadle
from treadle.testing.demos import SCRIPT, SPEC, lay_out


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


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

    assert (git("rev-parse", "main"), git("status", "--porcelain")) == (start, ""), "the user's own is untouched"
    assert git("rev-list", "--count", "main..treadle/invoice/result") == "1"
    git("worktree", "add", "-q", str(tmp_path / "result"), "treadle/invoice/result")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    suite = subprocess.run(tests, cwd=tmp_path / "result", check=False, capture_output=True, text=True)
    assert suite.stdout.splitlines()[-1].startswith("11 passed"), suite.stdout
