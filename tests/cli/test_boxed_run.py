"""A whole run with agents in the box: each can write what its step may, and sees nothing of others."""

import json
import sys
from pathlib import Path

import pytest

from tests.box import box_here
from tests.cli.test_checked_run import FILES, FIXED, TEST
from tests.cli.treadle import status, treadle
from tests.git.place import git

AGENT = f"""#!{sys.executable} -I
import json, os, subprocess, sys
from pathlib import Path

root, lane = Path("ROOT"), Path.cwd()
step = os.environ["TREADLE_STEP"]


def can(path):
    try:
        with Path(path).open("a"):
            return True
    except OSError:
        return False


seen = {{
    "step": step,
    "writes": [path for path in ("src/order.py", "tests/test_order.py", "treadle.toml", ".git/HEAD") if can(path)],
    "outside": [path for path in ("README", ".git/HEAD", ".treadle/local/store.db") if can(root / path)],
    "store": (root / ".treadle/local/store.db").exists(),
    "lanes": [path.name for path in lane.parent.iterdir() if path != lane],
    "bundle": can(Path(os.environ["TREADLE_BUNDLE"], "prompt.md")),
    "first": os.getppid(),
}}
Path(os.environ["TREADLE_OUT"], "seen.json").write_text(json.dumps(seen))
match step:
    case "reproduce":
        Path("tests/test_empty.py").write_text({TEST!r})
        answer = {{"type": "Reproduced", "diagnosis": "no total"}}
    case "fix":
        Path("src/order.py").write_text({FIXED!r})
        words = [sys.executable, "-P", "-m", "treadle", "emit", "--type", "Fixed", "--field", "summary=x"]
        sys.exit(subprocess.run(words).returncode)
    case "review":
        answer = {{"type": "Approved"}}
print(json.dumps({{"exit": answer}}))
"""
RUN = ("run", "spec.yaml", "-p", "bugfix", "--agent", "command:./agents/agent")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {**FILES, "agents/agent": AGENT.replace("ROOT", str(tmp_path))}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "agents/agent").chmod(0o755)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.org", *words)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert treadle("protocol", "new", "bugfix").code == 0
    assert treadle("spec", "new", "-p", "bugfix", "spec.yaml").code == 0
    return tmp_path


def test_each_step_can_write_in_its_scope_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = box_here(monkeypatch)
    result = treadle(*RUN, "--set", "workspace.box=on")
    assert result.code == 0, result
    assert status("bug-1")["outcome"] == "Done"
    seen = {one["step"]: one for path in root.rglob("out/seen.json") if (one := json.loads(path.read_text()))}
    writes = {step: one.pop("writes") for step, one in seen.items()}
    assert writes == {"reproduce": ["tests/test_order.py"], "fix": ["src/order.py"], "review": []}
    for step, one in seen.items():
        kept = {"outside": [], "store": False, "lanes": [], "bundle": False, "first": 1}
        assert one == {"step": step, **kept}
    places = [path.read_text() for path in root.rglob("agent/*.place")]
    assert places == [box.name] * 3


def test_without_one_a_run_that_insists_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root / "none"))
    result = treadle(*RUN, "--set", "workspace.box=on")
    assert (result.code, result.error) == (2, "box.missing")
    assert result.lacks("'bwrap'", "`apt install bubblewrap`") == []
    assert not (root / ".treadle/local/runs").exists()


@pytest.mark.parametrize(
    ("path", "said"),
    [("/no/such/place", "cannot be mounted"), ("/", "write whole paths"), ("ROOT/.git", "would show")],
)
def test_an_unusable_writable_path_is_refused(
    path: str, said: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box_here(monkeypatch)
    result = treadle(*RUN, "--set", f'workspace.writable=["{path.replace("ROOT", str(root))}"]')
    assert result.code == 2
    assert said in result.err
