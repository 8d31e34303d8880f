"""The stdio server: a session, and lines that are no proper text."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from tests.results.desk import Desk, desk
from treadle.mcp.server import readable
from treadle.memory.knowledge_tools import UNREADABLE
from treadle.results.channels import Before, read_answer
from treadle.results.tools import mcp_config

RED = "dptr/cycle/red"


def server(it: Desk) -> StdioServerParameters:
    config = mcp_config(it.env)["mcpServers"]["treadle"]
    return StdioServerParameters(
        command=config["command"], args=config["args"], env=config["env"], cwd=str(it.work.lane)
    )


def test_an_agent_answers_over_stdio(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    answer = it.work.out / "answer.json"
    # What lies in the lane must not become part of the server.
    for name in ("treadle", "mcp", "msgspec"):
        it.put(f"{name}/__init__.py", "raise SystemExit('the lane was imported')")

    async def session() -> None:
        async with Client(stdio_client(server(it))) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == ["emit_exit", "exit_RC", "exit_BL", "status", "handoff"]
            jsonschema.validate({"exit": {"type": "RC"}}, tools["emit_exit"].input_schema)

            wrong = await client.call_tool("emit_exit", {"exit": {"type": "GC"}})
            assert wrong.is_error
            assert [words for words in ("'GC'", "RC or BL") if words not in text(wrong)] == []
            assert not answer.exists()

            assert (await client.call_tool("exit_RC", {"mesage": "x"})).is_error
            assert "no answer" in text(await client.call_tool("status", {}))
            assert text(await client.call_tool("handoff", {"text": "beware"})) == "kept"

            right = await client.call_tool("emit_exit", {"exit": {"type": "RC", "message": "three"}})
            assert (right.is_error, text(right).startswith("RC: received")) == (False, True)
            assert answer.exists()

    asyncio.run(session())
    found = asyncio.run(read_answer(it.work, it.step_exits, Before()))
    assert found.claim is not None
    assert (found.channel, found.claim.fields["message"], found.notes) == ("mcp", "three", "beware")


def text(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_the_server_serves_older_clients_and_ends_with_its_input(tmp_path: Path) -> None:
    it = desk(tmp_path, RED)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "exit_RC", "arguments": {}}},
    ]
    command = [sys.executable, "-P", "-m", "treadle", "mcp"]
    with subprocess.Popen(command, env=it.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in said:
            process.stdin.write(msgspec.json.encode(line) + b"\n")
            process.stdin.flush()
        answers = [msgspec.json.decode(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(timeout=30) == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "treadle"
    assert answers[1]["result"]["content"][0]["text"].startswith("RC: received")


def test_outside_of_a_step_and_of_a_project(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "treadle", "mcp"]
    for env, words in (({}, "is not in a project"), ({"TREADLE_ACT": "a"}, "only inside a step")):
        done = subprocess.run(
            command, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@given(st.recursive(st.text(st.characters(exclude_categories=["Cs"])), lambda inner: st.lists(inner, max_size=4)))
def test_valid_text_stays_as_it_is(value: object) -> None:
    for ascii_only in (True, False):
        line = json.dumps(value, ensure_ascii=ascii_only).encode()
        assert readable(line) == line.decode()


@given(st.lists(st.sampled_from([r"\ud83d", r"\ude00", r"\\", "a", r"\n", r"\u00e9", r"\""]), max_size=8))
def test_no_half_of_a_character_is_left(parts: list[str]) -> None:
    line = f'"{"".join(parts)}"'
    value = json.loads(readable(line.encode()))
    value.encode()  # which no lone surrogate survives
    before = json.loads(line)
    assert (UNREADABLE in value) == any("\ud800" <= char <= "\udfff" for char in before)
    if UNREADABLE not in value:
        assert value == before


@pytest.mark.parametrize(
    ("line", "text"),
    [(b'"caf\xe9"', f'"caf{UNREADABLE}"'), (b"\xff\xfe", UNREADABLE * 2), (b'"\xed\xa0\x80"', f'"{UNREADABLE * 3}"')],
)
def test_bytes_that_are_no_text(line: bytes, text: str) -> None:
    assert readable(line) == text
