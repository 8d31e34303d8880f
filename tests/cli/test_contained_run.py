"""A whole run in containers: agents and checks see what is mounted, and nothing of it is left."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_checked_run import FILES, FIXED, TEST
from tests.cli.treadle import status, treadle
from tests.enclosures.engines import FakeEngine, fake_engine
from treadle.cli.checkup import Line
from treadle.cli.doctor import container_line
from treadle.config.model import WorkspaceSettings
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
    assert status("bug-1")["outcome"] == "Done"
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
    ("settings", "code", "named"),
    [
        ("workspace.image=there", "container.image", ["`docker pull there`"]),
        ("workspace.engine=podman", "container.missing", ["podman"]),
        ('workspace.mounts=["{root}/.git"]', "container.secret", [".git"]),
    ],
)
def test_a_container_that_cannot_start_is_refused_before_the_store_exists(
    settings: str, code: str, named: list[str], root: Path, engine: FakeEngine
) -> None:
    result = treadle(*RUN, "--set", settings)
    assert (result.code, result.error, result.lacks(*named)) == (2, code, [])
    assert not engine.told("run")
    assert not (root / ".treadle/local/store.db").exists()


def test_doctor_shows_a_missing_image_or_engine_with_its_repair(root: Path, engine: FakeEngine) -> None:
    def line(driver: str = "container") -> Line:
        return asyncio.run(container_line(WorkspaceSettings(driver=driver, image="here"), Project(root)))

    def states(driver: str = "container") -> tuple[str, str, bool]:
        return line(driver).state, line(driver).code, line(driver).is_fatal

    assert states() == states("worktree") == ("ok", "doctor.ok", False)
    assert [text for text in ("docker 28.0.0", "sha256:ab12ab12ab12") if text not in line().detail] == []
    (engine.folder / "images").write_text("")
    assert (states(), "`docker pull here`" in line().fix) == (("missing", "container.image", True), True)
    (engine.folder / "socket").unlink()
    assert states() == ("missing", "container.unusable", True)
    assert "Cannot connect to the daemon." in line().detail
    assert [
        text for text in ("`systemctl start docker`", '`workspace.driver = "worktree"`') if text not in line().fix
    ] == []
    assert states("worktree") == ("warn", "container.unusable", False)
    found = treadle("doctor")
    assert (found.code, found.out.splitlines()[-1].endswith(": containers")) == (1, True)
