"""What a role may not do is refused by the agents' programs themselves (with `make test-agents`)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from played_model.server import ModelServer
from tests.real_agents import inside_apart
from tests.results.desk import desk
from treadle.agents.program import Patience
from treadle.agents.registry import AgentSetup, parse_runner
from treadle.mcp.http import HttpTools
from treadle.ports import Ended, Progress
from treadle.protocol.load import load
from treadle.protocol.model import Perm
from treadle.results.channels import Before, read_answer
from treadle.results.tools import mcp_config_at
from treadle.runtime.dispatch import assignment_of

AGENTS = ("claude", "codex", "gemini", "opencode")
MODELS = {"codex": "played-1", "gemini": "gemini-2.5-flash", "opencode": "played/played-1"}
CRITIC = load("riper").roles["plan_critic"].perms
SPEC = load("dptr").roles["spec"].perms
SHELL = "touch by-command"
PLAN = "memory-bank/modules/money/tdd_plan.md"
SCRIPTS = rf"""
scripts:
  critic:
    find: {{folder: 'The folder is (\S+?)\.'}}
    steps:
      - call:
          first:
            - tool: [Bash, bash, run_shell_command, exec_command, shell]
              with: {{command: "{SHELL}", cmd: "{SHELL}", description: "try"}}
            - {{tool: exec, input: "await tools.exec_command({{cmd: '{SHELL}'}})"}}
            - {{tool: NAME, with: {{command: "{SHELL}", cmd: "{SHELL}", description: "try"}}, unoffered: true}}
      - call:
          first:
            - {{tool: [write_file], with: {{file_path: "{{folder}}/by-tool", content: "x"}}}}
            - {{tool: write, with: {{filePath: "{{folder}}/by-tool", content: "x"}}}}
            - {{tool: apply_patch, input: "*** Begin Patch\n*** Add File: by-tool\n+x\n*** End Patch\n"}}
            - {{tool: Write, with: {{file_path: "{{folder}}/by-tool", content: "x"}}, unoffered: true}}
      - call: {{tool: "*files_read", with: {{path: plan.md}}}}
      - call: {{tool: "*emit_exit", with: {{exit: {{type: PA, message: read}}}}}}
      - say: It is handed in.
  planner:
    find: {{folder: 'The folder is (\S+?)\.'}}
    steps:
      - call:
          first:
            - {{tool: NAME, with: {{command: "{SHELL}", cmd: "{SHELL}", description: "try"}}, unoffered: true}}
      - call:
          first:
            - {{tool: [Write, write_file], with: {{file_path: "{{folder}}/PLAN", content: "The plan."}}}}
            - {{tool: write, with: {{filePath: "{{folder}}/PLAN", content: "The plan."}}}}
            - {{tool: exec_command, with: {{cmd: "mkdir -p $(dirname PLAN); echo It > PLAN"}}}}
      - call: {{tool: "*emit_exit", with: {{exit: {{type: PC, message: written}}}}}}
      - say: It is handed in.
""".replace("PLAN", PLAN)
NAMES = {"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command", "opencode": "bash"}


def criticises(server: ModelServer, folder: Path) -> dict[str, Any]:
    return works(server, folder, "riper/riper/O4C", "critic", CRITIC, ())


def plans(server: ModelServer, folder: Path) -> dict[str, Any]:
    return works(server, folder, "dptr/plan/spec", "planner", SPEC, (PLAN,))


def works(
    server: ModelServer, folder: Path, step: str, script: str, perms: tuple[Perm, ...], writes: tuple[str, ...]
) -> dict[str, Any]:
    agent = folder.name
    it = desk(folder, step)
    it.put("plan.md", "The plan is short.\n")
    (it.work.bundle / "context.json").write_text(json.dumps({"permissions": {"may": perms}}))
    prompt = f"The folder is {it.work.lane}. [[script:{script}]]"
    model = MODELS.get(agent, "")
    work = msgspec.structs.replace(it.work, prompt=prompt, env=it.env, writes=writes, perms=perms, model=model)
    heard: list[Progress] = []

    async def play(tools: HttpTools) -> Ended:
        config = mcp_config_at(await tools.open(assignment_of(work, it.step_exits), it.env), work.token)
        (work.bundle / "mcp.json").write_bytes(msgspec.json.encode(config))
        runner = parse_runner(agent, AgentSetup(root=folder, patience=Patience(asked=3)))
        session = await runner.start(work, heard.append)
        return await asyncio.wait_for(session.wait(), 150)

    with HttpTools() as tools:
        ended = asyncio.run(play(tools))
    reading = asyncio.run(read_answer(work, it.step_exits, Before()))
    turns = [each for each in server.exchanges if each.script]
    return {
        "how": [ended.how, ended.detail, ended.final],
        "answer": [reading.channel, reading.claim.fields["message"]] if reading.claim else [],
        "made": sorted(str(path.relative_to(work.lane)) for path in work.lane.rglob("*") if path.is_file()),
        "tools": json.dumps([each.body.get("tools") for each in turns][:1]),
        "heard": json.dumps(turns[-1].body, ensure_ascii=False),
        "notes": [progress.note for progress in heard if progress.note],
    }


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_critic_reads_and_answers_but_runs_no_command_and_changes_no_file(agent: str, tmp_path: Path) -> None:
    found = inside_apart(criticises, tmp_path / agent, SCRIPTS.replace("NAME", NAMES[agent]))
    assert found["how"] == ["done", "", "It is handed in."], found
    assert found["made"] == ["plan.md"], "neither a command nor a tool has made anything"
    assert "The plan is short." in found["heard"], "who may not run commands reads all the same"
    assert found["answer"] == ["mcp", "read"], found
    assert f'"{NAMES[agent]}"' not in found["tools"], "it is not even offered"
    assert "WebFetch" not in found["tools"]
    assert "web_search" not in found["tools"]


@pytest.mark.agents
@pytest.mark.parametrize("agent", AGENTS)
def test_a_planner_writes_its_plan_and_runs_commands_only_if_it_writes_by_them(agent: str, tmp_path: Path) -> None:
    found = inside_apart(plans, tmp_path / agent, SCRIPTS.replace("NAME", NAMES[agent]))
    assert found["how"] == ["done", "", "It is handed in."], found
    ran = ["by-command"] if agent == "codex" else []  # it may have no other way to write
    assert found["made"] == [*ran, PLAN, "plan.md"], found["tools"]
    assert found["answer"] == ["mcp", "written"], found
