"""A project's own graph over HTTP, as `treadle serve` offers it to agents that are of no run."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.mcp.test_http import answers, bearer, client_at, posted, text
from tests.mcp.test_memory import REMEMBERED, creating, over_http, seated
from treadle.mcp.http import CONFIGURATION, HttpTools, MemoryAddress, last_address, write_configuration
from treadle.memory.store import Memory, Space

TOKEN = "a" * 32


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """`treadle serve`, until it says where the memory is; what it says."""
    command = [sys.executable, "-P", "-m", "treadle", "serve"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline().startswith("serving ")
            yield process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def configured(root: Path) -> dict[str, Any]:
    """The server in the file that a user gives to an agent's program."""
    servers: dict[str, Any] = json.loads((root / ".treadle" / "local" / "mcp.json").read_text())["mcpServers"]
    (server,) = servers.values()
    assert [*servers] == ["memory"]
    return dict(server)


def entity(name: str) -> dict[str, Any]:
    return {"name": name, "entityType": "t", "observations": [f"{name}: a | b → c\nd"]}


def test_an_agents_own_configuration_reaches_it_and_stays_true(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    async def session(name: str) -> list[str]:
        server = configured(tmp_path)
        async with client_at(server["url"], server["headers"]) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == REMEMBERED
            assert not (await client.call_tool("create_entities", {"entities": [entity(name)]})).is_error
            assert not (await client.call_tool("memory_init", {"session": f"of {name}"})).is_error
            graph = (await client.call_tool("search_nodes", {"query": "A | B →"})).structured_content
        assert graph
        return [it["name"] for it in graph["entities"]]

    with serve(tmp_path) as said:
        first = configured(tmp_path)
        assert (first["type"], f" {first['url']}, " in said) == ("http", True)
        assert "`.treadle/local/mcp.json`" in said
        assert (tmp_path / ".treadle" / "local" / "mcp.json").stat().st_mode & 0o777 == 0o600
        assert asyncio.run(session("one")) == ["one"]
        refused = asyncio.run(posted(first["url"], **bearer("b" * 32)))
        assert (refused.status_code, "`.treadle/local/mcp.json`" in refused.text) == (401, True)
    assert not answers(first["url"])
    with serve(tmp_path):
        assert configured(tmp_path) == first
        assert asyncio.run(session("two")) == ["one", "two"]


def test_steps_and_the_project_see_separate_memories(tmp_path: Path) -> None:
    """Each token opens its own door, and behind it is nothing of the other."""
    it = seated(tmp_path, "qa", "TDD_C1").desk

    async def sessions() -> None:
        with HttpTools() as tools:
            at = await tools.open_memory(tmp_path / "memory.db", TOKEN, "the file")
            async with over_http(tools, it) as step, client_at(at, bearer(TOKEN)) as own:
                await step.call_tool("memory_store", {"content": "three tests"})
                await own.call_tool("create_entities", {"entities": [entity("three")]})
                for client, found in ((own, "three"), (step, "TDD_C1")):
                    for name, given in (("read_graph", {}), ("search_nodes", {"query": "three"})):
                        graph = (await client.call_tool(name, given)).structured_content
                        assert graph
                        assert [each["name"] for each in graph["entities"]] == [found]
                missing = await own.call_tool("memory_read", {"session": "TDD_C1"})
                assert (missing.is_error, "'TDD_C1'" in text(missing)) == (True, True)
                assert (await own.call_tool("emit_exit", {})).is_error
            for token in (it.work.token, "a", TOKEN + "a", TOKEN.upper()):
                assert (await posted(at, **bearer(token))).status_code == 401, token
            for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                assert (await posted(at, **bearer(TOKEN), **headers)).status_code in (403, 421)
            bodies = [creating(1, name) for name in (b"caf\xe9", rb"half \ud83d", b"x" * 10_000_000)]
            assert [(await posted(at, body, **bearer(TOKEN))).status_code for body in bodies] == [400, 400, 413]

    asyncio.run(sessions())
    with closing(Memory(tmp_path / "memory.db")) as memory:
        assert [each.name for each in Space(memory).read_graph().entities] == ["three"]


def test_a_server_without_a_token_refuses_every_request(tmp_path: Path) -> None:
    async def requests() -> None:
        with HttpTools() as tools:
            at = await tools.open_memory(tmp_path / "memory.db", "", "the file")
            for headers in ({"Authorization": "Bearer"}, {"Authorization": ""}, {}):
                assert (await posted(at, **headers)).status_code == 401

    asyncio.run(requests())


def test_forty_at_once_keep_forty(tmp_path: Path) -> None:
    async def calls() -> None:
        with HttpTools() as tools:
            at = await tools.open_memory(tmp_path / "memory.db", TOKEN, "the file")
            async with client_at(at, bearer(TOKEN)) as client:
                asked = [client.call_tool("create_entities", {"entities": [entity(f"e{n}")]}) for n in range(40)]
                assert not any(result.is_error for result in await asyncio.gather(*asked))

    asyncio.run(calls())
    with closing(Memory(tmp_path / "memory.db")) as memory:
        assert {each.name for each in Space(memory).read_graph().entities} == {f"e{n}" for n in range(40)}


def test_an_occupied_port_is_replaced_by_another(tmp_path: Path) -> None:
    async def taken() -> None:
        with HttpTools() as other, HttpTools() as tools:
            at = await other.open_memory(tmp_path / "other.db", TOKEN, "the file")
            mine = await tools.open_memory(tmp_path / "memory.db", TOKEN, "the file", at)
            assert (urlsplit(mine).path, mine != at) == ("/memory", True)

    asyncio.run(taken())


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"mcpServers": {}}',
        b'{"mcpServers": {"memory": {"url": 1, "headers": {}}}}',
        b'{"mcpServers": {"memory": {"url": "http://127.0.0.1:1/memory", "headers": {"Authorization": "Bearer x"}}}}',
    ],
)
def test_a_file_that_is_not_as_it_was_left_gives_a_new_token(tmp_path: Path, contents: bytes) -> None:
    (tmp_path / CONFIGURATION).write_bytes(contents)
    found = last_address(tmp_path)
    assert (found.address, len(found.token)) == ("", 32)
    assert last_address(tmp_path).token != found.token
    write_configuration(tmp_path, MemoryAddress("http://127.0.0.1:1/memory", found.token))
    assert last_address(tmp_path) == MemoryAddress("http://127.0.0.1:1/memory", found.token)
