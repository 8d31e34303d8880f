"""A whole run with real checks: a bug is reproduced, a lie about its fix is found out, the fix is believed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.treadle import status, treadle

FILES = {
    "src/order.py": "def total(lines):\n    return sum(lines) if lines else None\n",
    "tests/conftest.py": "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'src'))\n",
    "tests/test_order.py": "from order import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n",
    ".gitignore": "__pycache__/\n",
    "treadle.toml": f'[toolchain]\nkind = "pytest"\ntest = ["{sys.executable}", "-m", "pytest", "-q"]\n',
}
TEST = "from order import total\n\n\ndef test_empty():\n    assert total([]) == 0\n"
FIXED = "def total(lines):\n    return sum(lines)\n"
TURNS = {
    "reproduce": [{"write": {"tests/test_empty.py": TEST}, "exit": {"type": "Reproduced", "diagnosis": "no total"}}],
    "fix": [
        {"exit": {"type": "Fixed", "summary": "a lie"}},
        {
            "write": {"src/order.py": FIXED},
            "exit": {"type": "Fixed", "summary": "x"},
        },
    ],
    "review": [{"exit": {"type": "Approved"}}],
}


def test_a_false_claim_is_refused_and_a_true_one_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    agents = [{"step": step, "turns": turns} for step, turns in TURNS.items()]
    (tmp_path / "play.yaml").write_text(json.dumps({"agents": agents}))
    git = [shutil.which("git") or "git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    assert treadle("protocol", "new", "bugfix").code == 0
    assert treadle("spec", "new", "-p", "bugfix", "spec.yaml").code == 0
    result = treadle("run", "spec.yaml", "-p", "bugfix", "--agent", "scripted:play.yaml")
    assert result.code == 0
    now = status("bug-1")
    assert (now["outcome"], now["result"]["branch"]) == ("Done", "treadle/bug-1/result")
    assert "root: fix · developer, attempt 2 " in result.out
    branches = subprocess.run([*git, "branch", "--format=%(refname:short)"], cwd=tmp_path, check=True, stdout=-1).stdout
    assert b"treadle/bug-1/" in branches
    assert (tmp_path / "src/order.py").read_text() == FILES["src/order.py"], "the user's checkout is as it was"
