"""Beside the public knowledge-graph memory server: the same calls, the same answers. And the MCP inspector's word."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.mcp.test_memory import seated
from tests.mcp.test_project_http import configured, serve
from tests.memory.script import SCRIPT, Call, entity
from tools.mcp.install import INSPECTOR, MEMORY_SERVER, NODE
from treadle.mcp.http import HttpTools
from treadle.memory.knowledge_tools import TOOLS, dump_graph, load_graph
from treadle.memory.store import Memory, Space
from treadle.results.tools import HERE
from treadle.runtime.dispatch import assignment_of

pytestmark = pytest.mark.agents
PATIENCE = 60
Heard = list[tuple[str, Any, bool]]


@pytest.fixture(autouse=True)
def _installed() -> None:
    for place in (NODE, MEMORY_SERVER, INSPECTOR):
        if not place.exists():
            pytest.skip(f"{place} is not there; run `make mcp-tools`")


def theirs(file: Path) -> StdioServerParameters:
    env = {"PATH": os.environ["PATH"], "MEMORY_FILE_PATH": str(file)}
    return StdioServerParameters(command=str(NODE), args=[str(MEMORY_SERVER)], env=env, cwd=str(file.parent))


def ours(folder: Path) -> StdioServerParameters:
    (folder / "treadle.toml").touch()
    return StdioServerParameters(command=HERE[0], args=[*HERE[1:]], env={}, cwd=str(folder))


async def heard(server: StdioServerParameters, calls: tuple[Call, ...]) -> Heard:
    async with Client(stdio_client(server)) as client:
        found = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            found.append((result.content[0].text, result.structured_content, result.is_error))  # type: ignore[union-attr]
        return found


def test_the_same_script_gives_the_same_answers(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    of_theirs = asyncio.run(heard(theirs(file), SCRIPT))
    of_ours = asyncio.run(heard(ours(tmp_path), SCRIPT))
    for call, there, here in zip(SCRIPT, of_theirs, of_ours, strict=True):
        assert here == there, call
    assert sum(is_error for _, _, is_error in of_ours) == 16
    with closing(Memory(tmp_path / ".treadle" / "local" / "memory.db")) as memory:
        assert dump_graph(Space(memory).read_graph()).encode() == file.read_bytes()


def test_the_same_tools(tmp_path: Path) -> None:
    async def listed(server: StdioServerParameters) -> list[dict[str, Any]]:
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
        return [tool.model_dump(by_alias=True, exclude_none=True, exclude={"execution"}) for tool in tools]

    of_theirs = asyncio.run(listed(theirs(tmp_path / "memory.jsonl")))
    assert asyncio.run(listed(ours(tmp_path)))[: len(TOOLS)] == of_theirs


def test_files_go_both_ways(tmp_path: Path) -> None:
    """What one exports the other takes, and nothing is lost on the way."""
    file = tmp_path / "memory.jsonl"
    asyncio.run(heard(theirs(file), SCRIPT))
    graph = load_graph(file)
    with closing(Memory(tmp_path / "memory.db")) as memory:
        assert Space(memory).merge(graph) == graph
        exported = dump_graph(Space(memory).read_graph())
    back = tmp_path / "back.jsonl"
    back.write_text(exported)
    ((_, data, _),) = asyncio.run(heard(theirs(back), (("read_graph", {}),)))
    ((_, before, _),) = asyncio.run(heard(theirs(file), (("read_graph", {}),)))
    assert data == before


def test_our_server_keeps_all_simultaneous_writes_and_theirs_loses_some(tmp_path: Path) -> None:
    """Forty calls at once on one server; that the public one loses some is what it documents."""

    async def kept(server: StdioServerParameters) -> int:
        async with Client(stdio_client(server)) as client:
            calls = [client.call_tool("create_entities", {"entities": [entity(f"e{n}", "t")]}) for n in range(40)]
            assert not any(result.is_error for result in await asyncio.gather(*calls))
            graph = (await client.call_tool("read_graph", {})).structured_content
        assert graph
        return len(graph["entities"])

    assert asyncio.run(kept(ours(tmp_path))) == 40
    assert asyncio.run(kept(theirs(tmp_path / "memory.jsonl"))) < 40


def inspected(home: Path, *words: str) -> tuple[int, Any]:
    """What the inspector's command line says of a server."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    command = [str(NODE), str(INSPECTOR.resolve()), "--cli", *words]
    done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_the_inspector_over_stdio(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").touch()
    server = (sys.executable, "-P", "-m", "treadle", "mcp")
    code, listed = inspected(tmp_path, "--method", "tools/list", "--strict", "--", *server)
    assert (code, [tool["name"] for tool in listed["tools"]][:9]) == (0, [tool.name for tool in TOOLS])
    call = ("--method", "tools/call", "--tool-name")
    made = json.dumps([entity("e", "t", "one | two → three")])
    code, created = inspected(tmp_path, *call, "create_entities", "--tool-arg", f"entities={made}", "--", *server)
    assert (code, created["structuredContent"]) == (0, {"entities": [entity("e", "t", "one | two → three")]})
    code, found = inspected(tmp_path, *call, "search_nodes", "--tool-arg", "query=TWO →", "--", *server)
    assert (code, [each["name"] for each in found["structuredContent"]["entities"]]) == (0, ["e"])


def test_the_inspector_over_http(tmp_path: Path) -> None:
    it = seated(tmp_path, "qa", "TDD_C1").desk

    async def session() -> None:
        with HttpTools() as tools:
            at = await tools.open(assignment_of(it.work, it.step_exits), it.env)
            reach = ("--transport", "http", "--server-url", at, "--header", f"Authorization: Bearer {it.work.token}")
            store = ("--method", "tools/call", "--tool-name", "memory_store", "--tool-arg", "content=from outside")
            code, stored = await asyncio.to_thread(inspected, tmp_path, *reach, *store)
            assert (code, stored["content"][0]["text"]) == (0, "stored")
            read = ("--method", "tools/call", "--tool-name", "memory_read")
            code, said = await asyncio.to_thread(inspected, tmp_path, *reach, *read)
            assert (code, said["content"][0]["text"].split("\n")[-1]) == (0, "R0|Pℜ|qa|note|from outside")

    asyncio.run(session())


def test_the_inspector_at_a_project_that_is_served(tmp_path: Path) -> None:
    """As a user has it: `treadle serve`, and the address and the token of its file."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with serve(tmp_path):
        server = configured(tmp_path)
        headers = [word for name, value in server["headers"].items() for word in ("--header", f"{name}: {value}")]
        reach = ("--transport", "http", "--server-url", server["url"], *headers)
        code, listed = inspected(tmp_path, *reach, "--method", "tools/list", "--strict")
        assert (code, [tool["name"] for tool in listed["tools"]][:9]) == (0, [tool.name for tool in TOOLS])
        call, made = ("--method", "tools/call", "--tool-name"), json.dumps([entity("e", "t", "one | two → three")])
        code, created = inspected(tmp_path, *reach, *call, "create_entities", "--tool-arg", f"entities={made}")
        assert (code, created["structuredContent"]) == (0, {"entities": [entity("e", "t", "one | two → three")]})
        code, found = inspected(tmp_path, *reach, *call, "search_nodes", "--tool-arg", "query=TWO →")
        assert (code, [each["name"] for each in found["structuredContent"]["entities"]]) == (0, ["e"])
