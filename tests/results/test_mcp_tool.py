"""The tools of an activity, without a server around them."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.results.desk import desk
from treadle.protocol.answers.schema import schema, tool_schemas
from treadle.results.assignment import assignment
from treadle.results.mcp_tool import call, mcp_config, mcp_config_at, offered
from treadle.results.offered import Said

RED = "dptr/cycle/red"


def test_the_configuration_carries_the_activity_and_nothing_else() -> None:
    config = mcp_config({"TREADLE_ACT": "act-7", "HOME": "/root", "API_KEY": "secret"})
    (server,) = config["mcpServers"].values()
    assert server["env"] == {"TREADLE_ACT": "act-7"}
    assert [server["command"], *server["args"]] == [sys.executable, "-P", "-m", "treadle", "mcp"]


def test_the_configuration_of_tools_that_are_served_already() -> None:
    (server,) = mcp_config_at("http://127.0.0.1:1/a", "t").values()
    headers = {"Authorization": "Bearer t"}
    assert server == {"treadle": {"type": "http", "url": "http://127.0.0.1:1/a", "headers": headers}}


def test_tools_have_the_schemas_of_the_step(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    takes = {tool.name: tool.takes for tool in offered(assignment(it.env))}
    assert takes["emit_exit"] == schema(it.ways.protocol, it.ways.exits)
    assert {name: takes[name] for name in ("exit_RC", "exit_BL")} == tool_schemas(it.ways.protocol, it.ways.exits)
    assert list(takes) == ["emit_exit", "exit_RC", "exit_BL", "status", "handoff"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("emit_exit", {"exit": {"type": "RC"}}, Said("RC: accepted; you can stop now")),
        ("emit_exit", {"type": "RC"}, Said("RC: accepted; you can stop now")),
        ("exit_RC", {"message": "three"}, Said("RC: accepted; you can stop now")),
        ("handoff", {"text": "beware"}, Said("kept")),
        ("handoff", {"text": " "}, Said("not kept: give the notes as `text`", ok=False)),
        ("handoff", {}, Said("not kept: give the notes as `text`", ok=False)),
        (
            "exit",
            {},
            Said("there is no tool 'exit'; the tools are emit_exit, exit_RC, exit_BL, status, handoff", ok=False),
        ),
    ],
)
def test_calls(name: str, arguments: dict[str, Any], said: Said, tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    assert call(assignment(it.env), it.env, name, arguments) == said


def test_a_refusal_lists_everything(tmp_path: Path) -> None:
    it = desk(tmp_path, "v3/node/tests")
    said = call(assignment(it.env), it.env, "exit_InvalidScaffold", {"commit": "abc"})
    assert not said.ok
    assert [line[:2] for line in said.text.splitlines()] == ["no", "- ", "- ", "- ", "Co"]
    assert list(it.work.out.iterdir()) == []


def test_status(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    task = assignment(it.env)
    before = call(task, it.env, "status", {})
    assert before == Said("step red attempt 2\nthis step ends with RC or BL\nno answer has been handed in yet")
    call(task, it.env, "exit_RC", {})
    assert call(task, it.env, "status", {}).text.endswith("handed in: RC")
