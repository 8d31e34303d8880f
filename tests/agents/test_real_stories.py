"""Whole runs of v3 with the real agents: the programs, Treadle, git and pytest are real, only the model is played."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from ruamel.yaml import YAML

from played_model.script import Script
from played_model.server import ModelServer, client_variables
from tests.cheats.cases import HERE
from tests.git.place import git, write
from tests.real_agents import inside_apart
from treadle.agents.script import AgentScript as Parts
from treadle.agents.script import load_script
from treadle.config.project import Project
from treadle.runtime.agent import DEGRADED
from treadle.testing.played_agents import PlayedAgents

REAL = ("claude", "codex", "gemini", "opencode")
PATIENCE = 900
"""How long a part of a story may take on a machine that has much else to do."""
SIX = Path(__file__).with_name("six")
LENT = "sk-" + "lent-to-real-agents-0123456789"
NO_SCRIPTS = "scripts: {none: [{say: nothing}]}"
SETTINGS = f"""
[protocol]
default = "v3"

[toolchain]
kind = "pytest"
test = [{json.dumps(sys.executable)}, "-m", "pytest"]
"""


class Listening(PlayedAgents):
    """Tells when the model is asked for a part that is held back, and answers when it is let go."""

    def __init__(self, parts: Parts, runs: Path, held: str) -> None:
        super().__init__(parts, runs)
        self._held = held
        self.is_asked, self.let_go = Event(), Event()

    def script(self, name: str) -> Script | None:
        if self._held and name.startswith(self._held):
            self.is_asked.set()
            self.let_go.wait(PATIENCE)
        return super().script(name)


class Shop:
    """A project with a spec, agents who follow a script, and one real program for all of them."""

    def __init__(self, folder: Path, agent: str, script: dict[str, Any], more: dict[str, str] | None = None) -> None:
        self.root, self.agent = folder / "shop", agent
        files = YAML(typ="safe").load(HERE / "worlds" / "leaf" / "files.yaml")
        files["spec.yaml"] = (
            files["spec.yaml"] if isinstance(files["spec.yaml"], str) else json.dumps(files["spec.yaml"])
        )
        write(self.root, {**files, "treadle.toml": SETTINGS, **(more or {})})
        write(folder, {"agents.yaml": json.dumps(script)})
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "Start")
        self.project = Project(self.root)
        self.env: dict[str, str] = {}

    def played(self, held: str = "") -> ModelServer:
        self.model = Listening(load_script(self.root.parent / "agents.yaml"), self.project.runs, held)
        server = ModelServer(self.model)
        told = client_variables(server.url, self.root.parent / "user")
        keys = dict.fromkeys((name for name in told if name.endswith("_KEY")), LENT)
        self.env = {**os.environ, **told, **keys}
        return server

    def start(self, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-P", "-m", "treadle", *words]
        out = (self.root.parent / "driver.log").open("a")
        return subprocess.Popen(command, cwd=self.root, env=self.env, stdout=out, stderr=out, text=True)

    def treadle(self, *words: str) -> str:
        command = [sys.executable, "-P", "-m", "treadle", *words]
        return subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=True, timeout=PATIENCE
        ).stdout

    def log(self) -> list[str]:
        lines = self.treadle("log", "it", "--json").splitlines()
        return [json.loads(line)["text"] for line in lines]

    def wait_for_driver(self, pid: int) -> None:
        """Until a process drives the run."""
        until = time.monotonic() + PATIENCE
        while str(pid) not in (seen := str(json.loads(self.treadle("status", "it", "--json"))["driver"])):
            assert time.monotonic() < until, f"{pid} does not drive it, {seen!r} does; {self.told()}"
            time.sleep(0.2)

    def leaks(self) -> list[str]:
        """Where the key can be found that the agents were lent: their own homes apart, it must be nowhere."""
        files = [path for path in self.root.rglob("*") if path.is_file() and "conversations" not in path.parts]
        found = [str(path) for path in files if LENT.encode() in path.read_bytes()]
        words = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
        objects = subprocess.run(words, cwd=self.root, check=True, capture_output=True).stdout
        return [*found, *(["git"] if LENT.encode() in objects else [])]

    def told(self) -> str:
        return (self.root.parent / "driver.log").read_text()[-3000:]


def leaf() -> list[dict[str, Any]]:
    """The honest agents of a leaf."""
    rules: list[dict[str, Any]] = YAML(typ="safe").load(HERE / "worlds" / "leaf" / "agents.yaml")["agents"]
    return rules


def eventful() -> dict[str, Any]:
    """A leaf whose service is out for a while, whose implementer first writes where it may not, and then writes down
    and tells the key that it was lent."""
    rules = leaf()
    tests = next(rule for rule in rules if rule["step"] == "tests")
    tests["turns"][0]["outage"] = {"why": "rate", "wait": 2}
    impl = next(rule for rule in rules if rule["step"] == "impl")
    honest = impl["turns"][0]
    astray = {"write": {"docs/elsewhere.md": "mine\n"}, "run": [["touch", "elsewhere.md"]], "exit": honest["exit"]}
    path, code = next(iter(honest["write"].items()))
    telling = {"say": f"My key is {LENT}.", "run": [["sh", "-c", "env"]]}
    impl["turns"] = [astray, {**honest, **telling, "write": {path: f"{code}# {LENT}\n"}}]
    return {"agents": rules}


def tells(_: ModelServer, folder: Path) -> dict[str, Any]:
    shop = Shop(folder, (folder / "agent").read_text(), eventful())
    with shop.played(held="root:impl#1.2") as server:
        driver = shop.start("run", "spec.yaml", "--agent", shop.agent, "--name", "it")
        assert shop.model.is_asked.wait(PATIENCE), shop.told()
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        before = shop.log()
        again = shop.start("resume", "it")
        shop.wait_for_driver(again.pid)
        shop.model.let_go.set()
        code = again.wait(PATIENCE)
        asked = [one for one in server.exchanges if one.script.startswith("root:impl#1.1")]
        return {
            "code": code,
            "before": before,
            "answered": json.dumps(asked[-1].body),
            "spent": shop.treadle("cost", "it"),
            "log": shop.log(),
            "leaks": shop.leaks(),
            "boxed": bool([*shop.project.runs.glob("it/acts/*impl*/agent/*.place")]),
            "astray": [str(path) for path in shop.project.worktrees.rglob("elsewhere.md")],
            "status": json.loads(shop.treadle("status", "it", "--json")),
            "evidence": shop.treadle("evidence", "it"),
            "cost": json.loads(shop.treadle("cost", "it", "--json")),
            "merged": git(shop.root, "ls-tree", "-r", "--name-only", "treadle/it/result", ok=False).splitlines(),
            "told": (folder / "driver.log").read_text(),
        }


@pytest.mark.agents
@pytest.mark.parametrize("agent", REAL)
def test_a_leaf_from_its_spec_to_merged_code(agent: str, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text(agent)
    found = inside_apart(tells, tmp_path, NO_SCRIPTS, 2 * PATIENCE)
    log = "\n".join(found["log"])
    assert found["status"]["outcome"] == "Merged", log + found["told"]
    assert found["code"] == 0
    assert "root:tests#1.1 is held up" in log, "a 429 pauses"
    assert "root:tests#1.2" not in log, "and costs no attempt"
    refused = next(line for line in found["log"] if "root:impl#1.1 is checked" in line)
    if found["boxed"]:
        assert "Read-only file system" in found["answered"], "the kernel refuses, and the model is told so"
        assert found["astray"] == []
        assert "is checked: green, no_undefined failed [" in refused, "so nothing was done"
        assert "] → root:impl#1.2 starts" in refused
        assert "not implemented" in found["told"]
    else:
        assert "scope" in refused.partition(" failed")[0], "without a box the diff tells"
    assert not [path for path in found["merged"] if "elsewhere" in path]
    assert "src/basket/adding.py" in found["merged"]
    for step, exit_ in {
        "scaffold": "InitWork",
        "tests": "TestsReady",
        "impl": "TestsPassed",
        "review": "Approved",
    }.items():
        said = [line for line in found["log"] if f"root:{step}#1." in line and f"claims {exit_} (mcp)" in line]
        assert said, f"{step} answers by the tool; {log}"
    assert not any("root:impl#1.2 claims" in line for line in found["before"]), (
        "the driver was killed before it answered"
    )
    assert "root:impl#1.3" not in log, "the kill of the driver lost nothing"
    begun = {share["name"]: share["cached"] / share["tokens_in"] for share in found["cost"]["conversations"]}
    anew = [f"root:{step}#1.1" for step in ("tests", "impl") if _begins_anew(found["log"], step)]
    if agent == "gemini":
        assert anew == ["root:tests#1.1", "root:impl#1.1"], "who cannot branch off begins anew where others do"
        assert "branched off" not in begun
        assert DEGRADED in found["told"], "and says so"
    else:
        assert anew == []
        assert "branched off" in begun
    assert "went on" in begun
    assert min(share for start, share in begun.items() if start != "new") > begun["new"] > 0, "a warm start saves"
    assert "| Conversation | Activities | Tokens in | Cached |" in found["spent"]
    assert found["leaks"] == [], "what it was lent is nowhere else"
    assert "AC-3" in found["evidence"]
    assert found["cost"]["total"]["tokens_in"] > 0


def _begins_anew(log: list[str], step: str) -> bool:
    words = "has a conversation that can be resumed, begun anew: this agent cannot branch off from another"
    return any(line.startswith(f"root:{step}#1.1 {words}") for line in log)


def works_at_once(_: ModelServer, folder: Path) -> dict[str, Any]:
    """Six agents, each of whom waits a while, so that all are there together."""
    names = [f"part{n}" for n in range(6)]
    turn = {"delay": 3, "write": {"notes/{spec[name]}.txt": "{spec[name]}\n"}, "exit": {"type": "Written"}}
    more = {
        "treadle.toml": SETTINGS.replace("v3", "six"),
        "order.json": json.dumps({"items": [{"name": name} for name in names]}),
        ".treadle/protocols/six/protocol.yaml": (SIX / "protocol.yaml").read_text(),
        ".treadle/protocols/six/templates/write.jinja": (SIX / "templates" / "write.jinja").read_text(),
    }
    shop = Shop(folder, (folder / "agent").read_text(), {"agents": [{"step": "write", "turns": [turn]}]}, more)
    with shop.played() as server:
        code = shop.start("run", "order.json", "--agent", shop.agent, "--name", "it").wait(PATIENCE)
        first = [each for each in server.exchanges if each.script and each.step == 0]
    return {"code": code, "log": shop.log(), "told": shop.told(), "scripts": sorted({each.script for each in first})}


@pytest.mark.agents
@pytest.mark.parametrize("agent", REAL)
def test_six_agents_at_once_do_not_disturb_each_other(agent: str, tmp_path: Path) -> None:
    (tmp_path / "agent").write_text(agent)
    found = inside_apart(works_at_once, tmp_path, NO_SCRIPTS, 2 * PATIENCE)
    log = found["log"]
    assert found["code"] == 0, "\n".join(log) + found["told"]
    assert len(found["scripts"]) == 6
    begun = next(at for at, line in enumerate(log) if line.count(" starts as ") == 6)
    assert sum("claims Written (mcp)" in line for line in log[begun:]) == 6
