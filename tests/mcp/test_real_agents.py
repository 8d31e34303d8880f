"""Real agents' programs reach the tools of their step over HTTP, each told in its own way where they are."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.server import ModelServer
from tests.real_agents import AGENTS, PATIENCE, Start, inside_apart, starting
from tests.results.desk import desk
from treadle.mcp.http import HttpTools
from treadle.results.channels import Before, read_answer
from treadle.results.tools import mcp_config_at
from treadle.runtime.dispatch import assignment_of

SCRIPTS = r"""
scripts:
  answer:
    - call: {tool: "*emit_exit", with: {exit: {type: RCC}}}
    - call: {tool: "*emit_exit", with: {exit: {type: RC, message: three}}}
    - say: It is handed in.
"""
CORRECTED = {"gemini": "must be equal to constant"}
"""Gemini CLI itself holds a call against the tool's schema."""


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_is_corrected_and_answers(agent: str, tmp_path: Path) -> None:
    start = starting(agent, "Do it. [[script:answer]]", tmp_path / "agent")
    (tmp_path / "start.json").write_bytes(msgspec.json.encode({agent: start}))
    found = inside_apart(played, tmp_path, SCRIPTS)
    assert found["answer"] == ["mcp", "three"], found
    assert CORRECTED.get(agent, "did you mean 'RC'") in found["heard"], found


def played(server: ModelServer, folder: Path) -> Any:
    """What came of an agent's session, and what its model was told after the first call."""
    ((agent, start),) = msgspec.json.decode((folder / "start.json").read_bytes(), type=dict[str, Start]).items()
    it = desk(folder / "desk", "dptr/cycle/red")

    async def session() -> Any:
        with HttpTools() as tools:
            address = await tools.open(assignment_of(it.work, it.step_exits), it.env)
            words, env = told(agent, start, address, it.work.token)
            done = await asyncio.to_thread(
                subprocess.run,
                [word.replace("{url}", server.url) for word in words],
                env={name: value.replace("{url}", server.url) for name, value in env.items()},
                cwd=start.cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
        reading = await read_answer(it.work, it.step_exits, Before())
        answer = [reading.channel, reading.claim.fields["message"]] if reading.claim else []
        turns = [each.body for each in server.exchanges if each.wire and each.body.get("tools")]
        return {"answer": answer, "heard": json.dumps(turns[1:2]), "out": done.stdout[-2000:], "err": done.stderr}

    return asyncio.run(session())


def told(agent: str, start: Start, address: str, token: str) -> tuple[list[str], dict[str, str]]:
    """The words and variables that tell an agent where its tools are."""
    headers = {"Authorization": f"Bearer {token}"}
    argv, env = start.argv, dict(start.env)
    if agent == "claude":
        more = ["--mcp-config", json.dumps(mcp_config_at(address, token)), "--allowedTools", "mcp__treadle"]
        return [*argv, *more], env | {"ENABLE_TOOL_SEARCH": "false"}
    if agent == "codex":
        settings = {"url": address, "bearer_token_env_var": "TREADLE_TOKEN", "required": True}
        settings["default_tools_approval_mode"] = "approve"
        more = [
            word
            for name, value in settings.items()
            for word in ("-c", f"mcp_servers.treadle.{name}={json.dumps(value)}")
        ]
        return [*argv[:-1], *more, argv[-1]], env | {"TREADLE_TOKEN": token}
    if agent == "gemini":
        file = Path(env["HOME"]) / ".gemini" / "settings.json"
        servers = {"treadle": {"httpUrl": address, "headers": headers, "trust": True}}
        file.write_text(json.dumps(json.loads(file.read_text()) | {"mcpServers": servers}))
        return argv, env
    config = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    config["mcp"] = {"treadle": {"type": "remote", "url": address, "headers": headers, "oauth": False}}
    return argv, env | {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
