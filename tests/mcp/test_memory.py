"""The memory as agents' programs meet it: by the SDK's own client, over stdio and over HTTP, and many at once."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.mcp.test_http import bearer, client_at, posted, text
from tests.results.desk import Desk, desk
from treadle.mcp.http import HttpTools
from treadle.memory.dialogue import Dialogues, Seat
from treadle.memory.store import Memory, Space
from treadle.memory.tools import TOOLS
from treadle.results.assignment import MEMORY
from treadle.results.exits import mark_of
from treadle.results.tools import mcp_config
from treadle.runtime.dispatch import assignment_of

OWN = ["emit_exit", "exit_RC", "exit_BL", "status", "handoff"]
REMEMBERED = [tool.name for tool in TOOLS]


class Seated(NamedTuple):
    """An activity with a seat in a dialogue."""

    desk: Desk
    session: str


def seated(root: Path, name: str, session: str) -> Seated:
    """Beside others of the same root, in the same memory."""
    it = desk(root / name, "dptr/cycle/red")
    token = f"token of {name}"
    it = it._replace(work=msgspec.structs.replace(it.work, act=name, token=token))
    env = it.env | {"TREADLE_ACT": name, "TREADLE_TOKEN": token, MEMORY: str(root / "memory.db")}
    exits = json.loads((it.work.bundle / "exits.json").read_bytes()) | {"token": mark_of(token)}
    (it.work.bundle / "exits.json").write_text(json.dumps(exits))
    seat = Seat(run="r1", session=session, act=name, step="red", agent=name, round="0", phase="ℜ")
    with closing(Memory(root / "memory.db")) as memory:
        Dialogues(memory).admit(seat, mark_of(token), "tdd_loop", "build it")
    return Seated(it._replace(env=env), session)


@asynccontextmanager
async def over_stdio(env: dict[str, str], cwd: Path) -> AsyncIterator[Client]:
    config = mcp_config(env)["mcpServers"]["treadle"]
    at = StdioServerParameters(command=config["command"], args=config["args"], env=config["env"], cwd=str(cwd))
    async with Client(stdio_client(at)) as client:
        yield client


@asynccontextmanager
async def over_http(tools: HttpTools, it: Desk) -> AsyncIterator[Client]:
    at = await tools.open(assignment_of(it.work, it.step_exits), it.env)
    async with client_at(at, bearer(it.work.token)) as client:
        yield client


async def two_sides(qa: Client, de: Client, stranger: Client) -> None:
    """Two agents of one dialogue, and one of another."""
    tools = [tool.name for tool in (await qa.list_tools()).tools]
    assert tools == [*OWN, *REMEMBERED]
    assert text(await qa.call_tool("memory_store", {"content": "three\ntests | → red"})) == "stored"
    read = await de.call_tool("memory_read", {})
    assert text(read) == "R0|MT|→INIT|build it\nR0|Pℜ|qa|note|three\ntests | → red"
    assert read.structured_content
    assert read.structured_content["records"][1]["content"] == "three\ntests | → red"
    refused = await stranger.call_tool("memory_read", {"session": "TDD_C1"})
    assert refused.is_error
    assert "'TDD_C1'" in text(refused)
    found = await stranger.call_tool("search_nodes", {"query": "three"})
    assert found.structured_content == {"entities": [], "relations": []}
    large = await qa.call_tool("memory_store", {"content": "x" * 1_500_000})
    assert large.is_error
    assert [number in text(large) for number in ("1500000", "1000000")] == [True, True]


def test_dialogues_over_http(tmp_path: Path) -> None:
    qa, de, other = (seated(tmp_path, name, at).desk for name, at in (("qa", "TDD_C1"), ("de", "TDD_C1"), ("x", "C2")))

    async def sessions() -> None:
        with HttpTools() as tools:
            async with over_http(tools, qa) as one, over_http(tools, de) as two, over_http(tools, other) as three:
                await two_sides(one, two, three)
                with closing(Memory(tmp_path / "memory.db")) as memory:
                    Dialogues(memory).dismiss(mark_of(qa.work.token))
                late = await one.call_tool("memory_store", {"content": "late"})
                assert late.is_error
                assert [tool.name for tool in (await one.list_tools()).tools] == OWN

    asyncio.run(sessions())


@pytest.mark.soak
def test_dialogues_over_stdio(tmp_path: Path) -> None:
    qa, de, other = (seated(tmp_path, name, at).desk for name, at in (("qa", "TDD_C1"), ("de", "TDD_C1"), ("x", "C2")))

    async def sessions() -> None:
        async with (
            over_stdio(qa.env, tmp_path) as one,
            over_stdio(de.env, tmp_path) as two,
            over_stdio(other.env, tmp_path) as three,
        ):
            await two_sides(one, two, three)

    asyncio.run(sessions())


def test_a_foreign_token_is_refused(tmp_path: Path) -> None:
    it = seated(tmp_path, "qa", "TDD_C1").desk

    async def session() -> None:
        async with over_stdio(it.env | {"TREADLE_TOKEN": "another"}, tmp_path) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == OWN
            refused = await client.call_tool("memory_read", {})
            assert refused.is_error
            assert "token" in text(refused)

    asyncio.run(session())


@pytest.mark.parametrize("count", [40])
def test_forty_at_once_over_http_keep_forty(count: int, tmp_path: Path) -> None:
    it = seated(tmp_path, "qa", "TDD_C1").desk

    async def sessions() -> None:
        with HttpTools() as tools:
            async with over_http(tools, it) as client:
                calls = [client.call_tool("memory_store", {"content": f"entry {n}"}) for n in range(count)]
                assert not any(result.is_error for result in await asyncio.gather(*calls))
                read = await client.call_tool("memory_query", {"pattern": "entry"})
        assert read.structured_content
        contents = {record["content"] for record in read.structured_content["records"]}
        assert contents == {f"entry {n}" for n in range(count)}

    asyncio.run(sessions())


@pytest.mark.soak
def test_three_servers_with_forty_calls_each_keep_all(tmp_path: Path) -> None:
    """A user's own agents, each with a server of its own on the project's graph."""
    (tmp_path / "treadle.toml").touch()

    async def calls(name: str) -> None:
        async with over_stdio({}, tmp_path) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == REMEMBERED
            results = await asyncio.gather(
                *(
                    client.call_tool(
                        "create_entities", {"entities": [{"name": f"{name}{n}", "entityType": "t", "observations": []}]}
                    )
                    for n in range(40)
                )
            )
            assert not any(result.is_error for result in results)

    async def servers() -> None:
        await asyncio.gather(*(calls(name) for name in "abc"))

    asyncio.run(servers())
    with closing(Memory(tmp_path / ".treadle" / "local" / "memory.db")) as memory:
        assert len(Space(memory).read_graph().entities) == 120


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


def raw(*lines: bytes, cwd: Path) -> list[dict[str, Any]]:
    """What the project's server answers to bytes."""
    begin = [
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode(),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    ]
    command = [sys.executable, "-P", "-m", "treadle", "mcp"]
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        found = []
        process.stdin.write(begin[0] + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdin.write(begin[1] + b"\n")
        for line in lines:
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            found.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        assert process.wait(timeout=30) == 0
    return found


def creating(number: int, name: bytes) -> bytes:
    entity = b'{"name":"' + name + b'","entityType":"t","observations":[]}'
    call = b'{"name":"create_entities","arguments":{"entities":[' + entity + b"]}}"
    return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}' % (number, call)


def test_bytes_that_are_no_text_are_refused_and_others_kept(tmp_path: Path) -> None:
    (tmp_path / "treadle.toml").touch()
    good = [b"caf\xc3\xa9", rb"\ud83d\ude00 \\ud800", b"\xef\xbf\xbd", rb"line\nfeed | \u2192"]
    bad = [b"caf\xe9", rb"half \ud83d", rb"\ude00\ud83d", rb"\ud83d\\ude00"]
    lines = [creating(n, name) for n, name in enumerate([*good, *bad], 1)]
    results = [said["result"] for said in raw(*lines, cwd=tmp_path)]
    assert [result.get("isError", False) for result in results] == [False] * 4 + [True] * 4
    for result in results[4:]:
        assert "entities[0].name " in result["content"][0]["text"]
    with closing(Memory(tmp_path / ".treadle" / "local" / "memory.db")) as memory:
        names = [entity.name for entity in Space(memory).read_graph().entities]
    assert names == ["café", "😀 \\ud800", "\ufffd", "line\nfeed | →"]


def test_bytes_that_are_no_text_are_refused_over_http(tmp_path: Path) -> None:
    it = seated(tmp_path, "qa", "TDD_C1").desk

    async def requests() -> list[int]:
        with HttpTools() as tools:
            at = await tools.open(assignment_of(it.work, it.step_exits), it.env)
            bodies = [creating(1, name) for name in (b"caf\xe9", rb"half \ud83d", b"x" * 10_000_000)]
            return [(await posted(at, body, **bearer(it.work.token))).status_code for body in bodies]

    assert asyncio.run(requests()) == [400, 400, 413]
    with closing(Memory(tmp_path / "memory.db")) as memory:
        assert [entity.name for entity in Space(memory, "TDD_C1").read_graph().entities] == ["TDD_C1"]
