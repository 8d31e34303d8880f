"""A whole run in containers: agents and checks see what is mounted, and nothing of it is left."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_checked_run import FILES, FIXED, TEST
from tests.cli.treadle import treadle
from tests.enclosures.engines import FakeEngine, fake_engine
from treadle.cli.health.sandbox import container_line
from treadle.config.model import Workspace
from treadle.config.project import Project

AGENT = f"""#!{sys.executable} -I
import json, os, subprocess
from pathlib import Path

root, lane, bundle = Path("ROOT"), Path.cwd(), Path(os.environ["TREADLE_BUNDLE"])
seen = {{
    "git": (root / ".git").exists(),
    "store": (root / ".treadle/local/store.db").exists(),
    "lanes": [path.name for path in lane.parent.iterdir() if path != lane],
    "status": subprocess.run(["git", "status", "--short"], stdout=-1, stderr=-2, text=True).stdout,
    "log": subprocess.run(["git", "log", "--oneline"], stdout=-1, stderr=-2, text=True).stdout.count("\\n"),
    "server": json.loads((bundle / "mcp.json").read_text())["mcpServers"]["treadle"]["command"],
    "secret": os.environ.get("SECRET_OF_THE_USER", "unseen"),
    "key": os.environ.get("KEY_OF_THE_AGENT", ""),
}}
Path(os.environ["TREADLE_OUT"], "seen.json").write_text(json.dumps(seen))
try:
    (bundle / "prompt.md").write_text("forged")
except OSError:
    pass
match os.environ["TREADLE_STEP"]:
    case "reproduce":
        Path("tests/test_empty.py").write_text({TEST!r})
        answer = {{"type": "Reproduced", "diagnosis": "no total"}}
    case "fix":
        Path("src/order.py").write_text({FIXED!r})
        answer = {{"type": "Fixed", "summary": "x"}}
    case "review":
        answer = {{"type": "Approved"}}
print(json.dumps({{"exit": answer}}))
"""
WORKSPACE = """
[workspace]
driver = "container"
image = "here"
network = "none"
[environment]
pass = ["KEY_OF_THE_AGENT"]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {**FILES, "agents/agent": AGENT.replace("ROOT", str(tmp_path))}
    files["treadle.toml"] += WORKSPACE
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "agents/agent").chmod(0o755)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert treadle("protocol", "new", "bugfix").code == 0
    assert treadle("spec", "new", "-p", "bugfix", "spec.yaml").code == 0
    return tmp_path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    with fake_engine() as found:
        monkeypatch.setenv("PATH", f"{found.folder}/bin:/usr/bin:/bin")
        yield found


RUN = ("run", "spec.yaml", "-p", "bugfix", "--agent", "command:./agents/agent")


def test_agents_and_checks_in_containers(root: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hunter2")
    monkeypatch.setenv("KEY_OF_THE_AGENT", "for the agent alone")
    result = treadle(*RUN)
    assert result.code == 0, result
    assert "bug-1 has ended with Done\n" in result.out
    seen = [json.loads(path.read_text()) for path in sorted(root.rglob("out/seen.json"))]
    assert len(seen) == 3
    for one in seen:
        assert one == {
            "git": False,
            "store": False,
            "lanes": [],
            "status": "",
            "log": 1,
            "server": "treadle",
            "secret": "unseen",
            "key": "for the agent alone",
        }
    told = engine.told("run")
    assert not any("hunter2" in word or "for the agent alone" in word for line in told for word in line)
    whats = [next(word for word in line if word.startswith("treadle.what=")) for line in told]
    assert whats.count("treadle.what=agent") == 3
    assert whats.count("treadle.what=check") >= 2
    assert all("--network" in line for line in told)
    assert "forged" not in {path.read_text() for path in root.rglob("bundle/prompt.md")}
    assert not engine.running()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("workspace.image=there", "docker has no image there; `docker pull there`, or build it"),
        ("workspace.engine=podman", "no containers: no podman is found; install one"),
        ('workspace.mounts=["{root}/.git"]', "to agents; name a folder that does not hold it"),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_written(
    settings: str, said: str, root: Path, engine: FakeEngine
) -> None:
    result = treadle(*RUN, "--set", settings)
    assert result.code != 0
    assert said in result.err
    assert not engine.told("run")
    assert not (root / ".treadle/local/store.db").exists()


def test_doctor_tells_what_is_missing_and_how_to_get_it(root: Path, engine: FakeEngine) -> None:
    def line(driver: str = "container") -> tuple[str, str, str, bool]:
        found = asyncio.run(container_line(Workspace(driver=driver, image="here"), Project(root)))
        return found.state, found.detail, found.fix, found.is_fatal

    assert line() == ("ok", "docker 28.0.0 has the image here (sha256:ab12ab12ab12)", "", False)
    assert line("worktree") == ("ok", "docker 28.0.0; the settings do not ask for it", "", False)
    (engine.folder / "images").write_text("")
    assert line() == ("missing", "docker has no image here", "`docker pull here`, or build it", True)
    (engine.folder / "socket").unlink()
    silent = "docker does not answer (Cannot connect to the daemon. Is it running?)"
    fix = '`systemctl start docker`, or set `workspace.driver = "worktree"`'
    assert line() == ("missing", f"no containers: {silent}", fix, True)
    assert line("worktree") == ("warn", silent, "start it, if agents are to run in containers", False)
    told = treadle("doctor")
    assert (told.code, "\nneeded and missing: containers\n" in told.out) == (1, True)
