"""A story that a person does by hand lets a real Claude Code and a real Codex implement it: the hook and the memory."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from played_model.server import ModelServer
from tests.agents.by_hand import HONEST, WRONG, ByHand
from tests.git.place import git
from tests.real_agents import KEY, inside_apart
from treadle.hooks.installation import ask_codex

pytestmark = pytest.mark.agents
PATIENCE = 300
CHECK = "grep -q price coins/change.py"
RULES = json.dumps({"steps": {"impl": {"post_check": CHECK}}})
RESULT = "status: pass\nreason: null\nsummary: the change is counted\ntests_pass: 44\ntests_fail: 0\n"
WORDS = "counts in cents"
FACT = {"entities": [{"name": "change", "entityType": "function", "observations": [WORDS]}]}
TOOLS = [sys.executable, "-P", "-m", "treadle", "mcp"]


def writes(code: str, result: str = RESULT) -> dict[str, Any]:
    """The agent writes the module, and says that all is well."""
    command = (
        f"cat > coins/change.py <<'END'\n{code}END\nmkdir -p .ai\ncat > .ai/executor-result <<'END'\n{result}END\n"
    )
    return {
        "call": {
            "first": [
                {"tool": "Bash", "with": {"command": command}},
                {"tool": "exec_command", "with": {"cmd": command}},
            ]
        }
    }


def tasks(status: str) -> dict[str, Any]:
    return {"call": {"tool": "TaskUpdate", "with": {"taskId": "1", "status": status}}}


SCRIPTS = json.dumps(
    {
        "scripts": {
            "implement": [
                {"call": {"tool": "*create_entities", "with": FACT}},
                writes(WRONG),
                {"say": "Done: all 44 tests pass."},
                {"call": {"tool": "*search_nodes", "with": {"query": "cents"}}},
                writes(HONEST),
                {"say": "Now they do."},
            ],
            "tasks": [
                {"call": {"tool": "TaskCreate", "with": {"subject": "count", "description": "count the change"}}},
                writes("def change(*_: int) -> int:\n    return 30\n"),
                tasks("completed"),
                writes(HONEST),
                tasks("completed"),
                {"say": "Both are done."},
            ],
            "lead": [
                {
                    "call": {
                        "tool": ["Agent", "Task"],
                        "with": {
                            "description": "implement it",
                            "prompt": "[[script:helper]] implement it",
                            "subagent_type": "general-purpose",
                            "run_in_background": False,
                        },
                    }
                },
                {"say": "My helper has done it."},
            ],
            "helper": [
                writes(HONEST, RESULT.replace("pass", "done", 1)),
                {"say": "It is done."},
                writes(HONEST),
                {"say": "It is passed."},
            ],
        }
    }
)


def variables(server: ModelServer, folder: Path) -> dict[str, str]:
    home, scratch = folder / "user", folder / "tmp"
    scratch.mkdir(exist_ok=True)
    return {
        **os.environ,
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "TREADLE_SET": "workspace.box=off",
        "TMPDIR": str(scratch),  # Codex puts nothing that it starts into a home below that
        "PLAYED_KEY": KEY,
        "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "PLAYED_AT": server.url,
    }


def claude(prompt: str, env: dict[str, str]) -> list[str]:
    """Claude Code as a person has it, without a terminal: with the settings of the project."""
    servers = {"mcpServers": {"treadle": {"command": TOOLS[0], "args": TOOLS[1:]}}}
    words = ["claude", "-p", prompt, "--output-format", "stream-json", "--verbose", "--setting-sources", "project"]
    words += ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__treadle,TaskCreate,TaskUpdate"]
    assert env["HOME"]
    return [*words, "--strict-mcp-config", "--mcp-config", json.dumps(servers), "--include-hook-events"]


def codex(prompt: str, env: dict[str, str]) -> list[str]:
    """Codex as a person has it, without a terminal: with the hooks of its home."""
    settings: dict[str, Any] = {
        "model_provider": "played",
        "model_providers.played.name": "played",
        "model_providers.played.base_url": f"{env['PLAYED_AT']}/v1",
        "model_providers.played.env_key": "PLAYED_KEY",
        "model_providers.played.wire_api": "responses",
        "features.plugins": False,
        "features.apps": False,
        "analytics.enabled": False,
        "mcp_servers.treadle.command": TOOLS[0],
        "mcp_servers.treadle.args": TOOLS[1:],
        "mcp_servers.treadle.required": True,
        "mcp_servers.treadle.startup_timeout_sec": 60,
        "mcp_servers.treadle.default_tools_approval_mode": "approve",
    }
    words = ["codex", "exec", "--json", "-s", "workspace-write", "-m", "played-1"]
    for name, value in settings.items():
        words += ["-c", f"{name}={json.dumps(value)}"]
    return [*words, prompt]


AGENTS = {"claude": claude, "codex": codex}


def lets_it_implement(server: ModelServer, folder: Path) -> dict[str, Any]:
    """What the person does, and what came of it."""
    agent, script = (folder / "case").read_text().split()
    env = variables(server, folder)
    it = ByHand(folder / "coins", env, {".ai/step-rules.yaml": RULES})
    it.treadle("hook", "install", "--agent", agent)
    git(it.root, "add", "-A")
    git(it.root, "commit", "-q", "--allow-empty", "-m", "The hook")
    before = it.treadle("hook", "status")
    if agent == "codex":
        trust(folder / "user" / ".codex", it.root, env)
    after = it.treadle("hook", "status")
    it.begins()
    mine = it.yours()
    prompt = f"{Path(mine['prompt']).read_text()}\n[[script:{script}]]"
    done = subprocess.run(
        AGENTS[agent](prompt, env), cwd=mine["lane"], env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    said = [json.dumps(each.body, ensure_ascii=False) for each in server.exchanges if each.wire]
    return {
        "code": done.returncode,
        "out": done.stdout[-6000:],
        "err": done.stderr[-2000:],
        "log": it.log(),
        "told": [text for text in said if "has not ended" in text or "have refused" in text or "not completed" in text],
        "recalled": said[-1].count(WORDS),
        "memory": it.treadle("memory", "export"),
        "status": [before, after],
        "next": it.yours(),
        "state": json.loads((it.root / ".ai" / "STATE.json").read_text()),
    }


def trust(home: Path, root: Path, env: dict[str, str]) -> None:
    """What the person does with `/hooks`: Codex is told the marks of the hooks that it has listed."""
    os.environ |= env
    found = asyncio.run(_listed(root))
    states = "".join(f'[hooks.state."{key}"]\ntrusted_hash = "{mark}"\n' for key, mark in found.items())
    assert states, "Codex lists no hooks"
    (home / "config.toml").write_text(states)


async def _listed(root: Path) -> dict[str, str]:
    from treadle.hooks import installation  # noqa: PLC0415

    said = await installation.list_hooks("codex", root)
    return {hook["key"]: hook["currentHash"] for one in said["data"] for hook in one["hooks"]}


@pytest.mark.parametrize("agent", AGENTS)
def test_red_is_sent_back_and_green_is_accepted(agent: str, tmp_path: Path) -> None:
    (tmp_path / "case").write_text(f"{agent} implement")
    found = inside_apart(lets_it_implement, tmp_path, SCRIPTS)
    log = found["log"]
    assert "root/US-001:impl#1.1 claims pass_green (executor-result)" in log, found
    assert "root/US-001:impl#1.2 claims pass_green (executor-result)" in log, found
    assert found["told"], "the agent was told why it may not end"
    assert "refused pass, attempt 1" in found["told"][0]
    assert "test_the_change_is_what_is_left" in found["told"][0]
    assert "root/US-001:impl#1.3" not in log
    assert found["next"]["step"] == found["state"]["step"] == "verify", "the run has gone on, and STATE.json says so"
    assert '"name":"change"' in found["memory"].replace(" ", ""), "it is remembered in the project, not in the lane"
    assert found["recalled"] > 2, "what it has said, what it was told then, and what it has found again"
    assert ("`/hooks`" in found["status"][0]) == (agent == "codex")
    assert "ok      hook" in found["status"][1]
    assert found["code"] == 0


def test_a_task_of_claude_codes_own_list_waits_for_the_projects_check(tmp_path: Path) -> None:
    (tmp_path / "case").write_text("claude tasks")
    found = inside_apart(lets_it_implement, tmp_path, SCRIPTS)
    assert any("'count' is not completed" in text for text in found["told"]), found
    assert "root/US-001:impl#1.1 claims pass_green (executor-result)" in found["log"]
    assert found["next"]["step"] == "verify"


def test_the_hook_sends_a_claude_helper_back_and_leaves_its_lead_alone(tmp_path: Path) -> None:
    (tmp_path / "case").write_text("claude lead")
    found = inside_apart(lets_it_implement, tmp_path, SCRIPTS)
    assert any("'done' is not an exit" in text for text in found["told"]), found
    assert found["log"].count("claims pass_green (executor-result)") == 1, "what cannot be read costs no attempt"
    assert found["next"]["step"] == "verify"
    assert not any("verify of it" in text for text in found["told"]), "the lead is not asked for the next step"


def test_the_hook_list_of_codex_is_parsed(tmp_path: Path) -> None:
    found = inside_apart(asks_codex, tmp_path, "scripts: {none: [{say: nothing}]}")
    assert found == [["stop", "subagentStop"], []], "Codex knows them, and skips them silently"


def asks_codex(_: ModelServer, folder: Path) -> list[list[str]]:
    home = folder / "codex-home"
    home.mkdir()
    os.environ["CODEX_HOME"] = str(home)
    subprocess.run([sys.executable, "-P", "-m", "treadle", "hook", "install", "--agent", "codex"], check=True)
    found = asyncio.run(ask_codex("codex", folder))
    assert found is not None
    return [sorted(found.waiting), sorted(found.events)]
