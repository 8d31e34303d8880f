"""A key that an agent is lent is nowhere afterwards, whatever the agent does with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_checked_run import FILES, FIXED, TEST
from tests.cli.treadle import status, treadle
from tests.git.place import git

KEY = "sk-" + "lent-0123456789abcdef"
HEADER = "hd-" + "lent-0123456789abcdef"
PASSWORD = "pw-" + "lent-0123456789abcdef"
AGENT = f"""#!{sys.executable} -I
import json, os, sys
from pathlib import Path

key = os.environ["SERVICE_KEY"]
print("I was given", key, flush=True)
print(dict(os.environ), file=sys.stderr, flush=True)
Path(os.environ["TREADLE_OUT"], "notes.txt").write_text(key)
match os.environ["TREADLE_STEP"]:
    case "reproduce":
        Path("tests/test_empty.py").write_text({TEST!r} + f"# {{key}}\\n")
        answer = {{"type": "Reproduced", "diagnosis": f"no total, {{key}}"}}
    case "fix":
        Path("src/order.py").write_text({FIXED!r} + f"# {{key}}\\n")
        Path(".ai").mkdir(exist_ok=True)
        answer = {{"type": "Fixed", "summary": key}}
    case "review":
        answer = {{"type": "Approved"}}
print(json.dumps({{"exit": answer}}))
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {**FILES, "agents/agent": AGENT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "agents/agent").chmod(0o755)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.org", *words)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("SERVICE_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Team: shop\nAuthorization: Bearer {HEADER}")
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@127.0.0.1:9")
    assert treadle("protocol", "new", "bugfix").code == 0
    assert treadle("spec", "new", "-p", "bugfix", "spec.yaml").code == 0
    return tmp_path


def objects(root: Path) -> bytes:
    """Everything that git holds, referred to or not."""
    words = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    return subprocess.run(words, cwd=root, check=True, capture_output=True).stdout


def test_a_lent_key_is_in_no_file_no_commit_and_no_page(root: Path) -> None:
    passing = ("--set", 'environment.pass=["SERVICE_KEY", "ANTHROPIC_CUSTOM_HEADERS", "HTTPS_PROXY"]')
    result = treadle("run", "spec.yaml", "-p", "bugfix", "--agent", "command:./agents/agent", *passing)
    assert result.code == 0, result
    assert status("bug-1")["outcome"] == "Done"
    told = [result.out, result.err, treadle("evidence", "bug-1", "--html", "-").out, treadle("show", "bug-1").out]
    for lent in (KEY, HEADER, PASSWORD):
        assert not any(lent in text for text in told)
        assert [path for path in root.rglob("*") if path.is_file() and lent.encode() in path.read_bytes()] == []
        assert lent.encode() not in objects(root)
    kept = "".join(path.read_text() for path in root.rglob("stderr"))
    assert "Bearer (redacted: ANTHROPIC_CUSTOM_HEADERS)" in kept, "it was lent, and has told it"
    assert "# (redacted: SERVICE_KEY)" in git(root, "show", "treadle/bug-1/root/int:src/order.py")
    said = "src/order.py held the value of SERVICE_KEY; Treadle has removed it"
    assert f"root: {said}\n" in result.out
    assert said in treadle("evidence", "bug-1").out
