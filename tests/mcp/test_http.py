"""The real server of a process that drives, as agents' programs meet it: by the SDK's own client, and by strangers."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tests.mcp.driver import staged
from tests.results.desk import Desk, desk
from treadle.mcp.endpoint import MOST_CONNECTIONS
from treadle.mcp.http import HttpTools
from treadle.results.assignment import Assignment
from treadle.results.channels import Before, read_answer
from treadle.runtime.dispatch import assignment_of
from treadle.store.sqlite import Store

RED = "dptr/cycle/red"
PATIENCE = 60.0
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def client_at(address: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def text(result: Any) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


@contextmanager
def driver(root: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.mcp.driver", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def answers(address: str) -> bool:
    parts = urlsplit(address)
    with socket.socket() as client:
        return client.connect_ex((parts.hostname, parts.port)) == 0


def test_a_session_outlives_the_driver(tmp_path: Path) -> None:
    """The agent is told what is wrong, treadle is killed and comes back, and the very same session goes on."""

    async def session(first: "subprocess.Popen[str]") -> str:
        (config,) = await asyncio.to_thread(bundles, tmp_path)
        at = config["mcpServers"]["treadle"]
        assert at["type"] == "http"
        async with client_at(at["url"], at["headers"]) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            files = ["files_list", "files_read", "files_search"]  # its role may not run commands
            assert tools == ["emit_exit", "exit_Ok", "exit_Nok", "status", "handoff", "payload_get", *files]
            assert "permissions" in text(await client.call_tool("files_read", {"path": "$TREADLE_BUNDLE/context.json"}))
            wrong = await client.call_tool("emit_exit", {"exit": {"type": "Okk"}})
            assert wrong.is_error
            assert "did you mean 'Ok'" in text(wrong)

            first.kill()
            await asyncio.to_thread(first.wait)
            with driver(tmp_path) as second:
                await asyncio.to_thread(until, lambda: answers(at["url"]))
                right = await client.call_tool("emit_exit", {"exit": {"type": "Ok", "note": "the same session"}})
                assert text(right).startswith("Ok: received")
                finish(tmp_path)
                return (await asyncio.to_thread(second.communicate))[0]

    with driver(tmp_path) as first:
        assert asyncio.run(session(first)) == "Done"
    with closing(Store(tmp_path / "store.db")) as store:
        assert store.strays("r") == []


def bundles(root: Path) -> list[dict[str, Any]]:
    """What agents have been told about their tools, once one has been started."""
    until(lambda: bool(list(root.glob("lanes/*/*/begun"))))
    return [json.loads(path.read_bytes()) for path in root.glob("runs/r/acts/*/bundle/mcp.json")]


def finish(root: Path) -> None:
    (lane,) = root.glob("lanes/*/*")
    (lane / "done").touch()


class Asked(HttpTools):
    """Tells when it was asked to serve."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        try:
            return await super().open(task, env, at)
        finally:
            self.asked.set()


def test_an_occupied_port_is_reported_and_emit_still_works(tmp_path: Path) -> None:
    """The other ways to answer work, and that the tools do not is noted."""
    with driver(tmp_path) as first:
        (config,) = bundles(tmp_path)
        port = urlsplit(config["mcpServers"]["treadle"]["url"]).port or 0

    async def second() -> None:
        with Asked() as tools:
            stage = staged(tmp_path, tools)
            driving = asyncio.create_task(stage.drive())
            await asyncio.wait_for(tools.asked.wait(), PATIENCE)
            (home,) = tmp_path.glob("runs/r/acts/*")
            env = json.loads((home / "work.json").read_bytes())["env"]
            emit = [sys.executable, "-m", "treadle", "emit", "--type", "Ok"]
            said = await asyncio.to_thread(subprocess.run, emit, env=env, capture_output=True, text=True, check=False)
            assert said.stdout.startswith("Ok: received"), said.stderr
            finish(tmp_path)
            assert (await asyncio.wait_for(driving, PATIENCE)).outcome == "Done"
            (stray,) = stage.store.strays("r")
            stage.store.close()
        named = (f"http://127.0.0.1:{port}/", "`treadle emit`")
        assert [words for words in named if words not in stray.detail] == []

    assert first.returncode == -signal.SIGKILL
    with socket.create_server(("127.0.0.1", port)):
        asyncio.run(second())


class Serving:
    """Activities whose tools are served, for requests of any kind."""

    def __init__(self, tools: HttpTools, place: Path) -> None:
        self.tools, self._place = tools, place

    async def open(self, name: str) -> tuple[Desk, str]:
        it = desk(self._place / name, RED)
        it = it._replace(work=msgspec.structs.replace(it.work, token=f"token of {name}"))
        return it, await self.tools.open(assignment_of(it.work, it.step_exits), it.env)


async def posted(address: str, body: Any = LIST, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as http:
        given = {name.encode(): value.encode("latin-1") for name, value in {**HEADERS, **headers}.items()}
        content = body if isinstance(body, bytes) or hasattr(body, "__aiter__") else json.dumps(body).encode()
        return await http.post(address, content=content, headers=given)


def test_only_requests_with_the_token_of_their_session_are_served(tmp_path: Path) -> None:
    async def requests() -> None:
        with HttpTools() as tools:
            serving = Serving(tools, tmp_path)
            one, at = await serving.open("one")
            other, elsewhere = await serving.open("other")
            own = f"Bearer {one.work.token}"
            port = urlsplit(at).port

            cases: list[tuple[int, str, str, dict[str, str]]] = [
                (200, "emit_exit", at, {}),
                (200, "emit_exit", at, {"Authorization": f"bearer {one.work.token}"}),
                (200, "emit_exit", at, {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}),
                (401, "the token is not", at, {"Authorization": ""}),
                (401, "the token is not", at, {"Authorization": one.work.token}),
                (401, "the token is not", at, {"Authorization": f"Basic {one.work.token}"}),
                (401, "the token is not", at, {"Authorization": f"{own}x"}),
                (401, "the token is not", at, {"Authorization": "Bearer \u00e9"}),
                (401, "the token is not", at, {"Authorization": f"Bearer {other.work.token}"}),
                (401, "the token is not", elsewhere, {}),
                (404, "no step is at work", at + "x", {}),
                (404, "no step is at work", f"http://127.0.0.1:{port}/", {}),
                (421, "the Host is another one", at, {"Host": "evil.example"}),
                (421, "the Host is another one", at, {"Host": f"127.0.0.1.evil.example:{port}"}),
                (421, "the Host is another one", at, {"Host": "localhost@evil.example"}),
                (421, "the Host is another one", at, {"Host": "localhost:x"}),
                (403, "the Origin is another one", at, {"Origin": "http://evil.example"}),
                (403, "the Origin is another one", at, {"Origin": "http://localhost.evil.example"}),
                (403, "the Origin is another one", at, {"Origin": "null"}),
            ]
            for status, words, address, headers in cases:
                said = await posted(address, **{"Authorization": own, **headers})
                assert (said.status_code, words in said.text) == (status, True), (address, headers, said.text)

            tools.close(assignment_of(one.work, one.step_exits))
            assert (await posted(at, Authorization=own)).status_code == 404
            assert (await posted(elsewhere, **bearer(other.work.token))).status_code == 200

    asyncio.run(requests())


def test_a_wrong_token_is_refused_with_its_reason(tmp_path: Path) -> None:
    async def session() -> None:
        with HttpTools() as tools:
            _, at = await Serving(tools, tmp_path).open("one")
            with pytest.raises(ExceptionGroup) as refused:
                async with client_at(at, bearer("wrong")):
                    pass
            assert "token" in repr(refused.value)

    asyncio.run(session())


def test_a_request_that_is_too_large_is_refused(tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 100_000

    async def requests() -> None:
        with HttpTools() as tools:
            it, at = await Serving(tools, tmp_path).open("one")
            own = bearer(it.work.token)
            said = await posted(at, b"x" * 4_000_000, **own)
            assert (said.status_code, "1000000" in said.text) == (413, True)
            assert (await posted(at, chunks(), **own)).status_code == 413
            # As large as an answer may be, written in the longest way, is heard.
            async with client_at(at, own) as client:
                large = await client.call_tool("emit_exit", {"exit": {"type": "RC", "message": "\u00e9" * 490_000}})
                assert text(large).startswith("RC: received")

    asyncio.run(requests())


def test_twenty_at_once(tmp_path: Path) -> None:
    async def session(it: Desk, at: str, number: int) -> None:
        async with client_at(at, bearer(it.work.token)) as client:
            assert (await client.call_tool("exit_RC", {"mesage": "x"})).is_error
            assert not (await client.call_tool("exit_RC", {"message": f"answer {number}"})).is_error

    async def sessions() -> None:
        with HttpTools() as tools:
            serving = Serving(tools, tmp_path)
            desks = [await serving.open(str(number)) for number in range(20)]
            assert len({urlsplit(at).port for _, at in desks}) == 1
            await asyncio.gather(*(session(it, at, number) for number, (it, at) in enumerate(desks)))
            for number, (it, _) in enumerate(desks):
                found = await read_answer(it.work, it.step_exits, Before())
                assert found.claim is not None
                assert (found.channel, found.claim.fields["message"]) == ("mcp", f"answer {number}")

    asyncio.run(sessions())


def test_every_request_stands_alone(tmp_path: Path) -> None:
    """Clients of an earlier version of the protocol, too, need no session that a restart would end."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    call = {"name": "exit_RC", "arguments": {}}

    async def requests() -> None:
        with HttpTools() as tools:
            it, at = await Serving(tools, tmp_path).open("one")
            own = bearer(it.work.token)
            begun = await posted(at, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, **own)
            assert begun.json()["result"]["serverInfo"]["name"] == "treadle"
            assert "treadle emit" in begun.json()["result"]["instructions"]
            assert "mcp-session-id" not in begun.headers
            assert (await posted(at, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **own)).is_success
            called = await posted(at, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, **own)
            assert called.json()["result"]["content"][0]["text"].startswith("RC: received")
            async with httpx2.AsyncClient(trust_env=False, headers={**HEADERS, **own}) as http:
                assert (await http.get(at)).status_code == 405  # no stream is kept open
                assert (await http.delete(at)).status_code == 405
            for rubbish in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
                assert (await posted(at, rubbish, **own)).status_code == 400

    asyncio.run(requests())


def test_several_drivers_have_separate_addresses(tmp_path: Path) -> None:
    async def drivers() -> None:
        it = desk(tmp_path, RED)
        task = assignment_of(it.work, it.step_exits)
        with HttpTools() as first, HttpTools() as second:
            at = await first.open(task, it.env)
            assert await first.open(task, it.env) == at
            other = await second.open(task, it.env, at)
            assert urlsplit(other).path == urlsplit(at).path
            assert urlsplit(other).port != urlsplit(at).port
        with HttpTools() as third:  # takes up what two others have begun
            assert await third.open(task, it.env, other) == other
            assert await third.open(task, it.env, at) == at
            for address in (at, other):
                assert (await posted(address, **bearer(it.work.token))).status_code == 200
        assert not answers(at)

    asyncio.run(drivers())


def test_connections_are_limited(tmp_path: Path) -> None:
    async def flood() -> None:
        with HttpTools() as tools:
            it, at = await Serving(tools, tmp_path).open("one")
            port = urlsplit(at).port or 0
            with ExitStack() as stack:
                doors = [("127.0.0.1", port)] * (MOST_CONNECTIONS + 1)
                *_, last = [stack.enter_context(socket.create_connection(door, PATIENCE)) for door in doors]
                assert await asyncio.to_thread(last.recv, 1) == b""  # hung up
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        assert (await posted(at, **bearer(it.work.token))).status_code == 200
                        return
                    except httpx2.TransportError:
                        await asyncio.sleep(0.01)

    asyncio.run(flood())


def test_the_sdk_is_imported_for_the_first_agent_that_wants_it() -> None:
    code = "import sys, treadle.cli.moves, treadle.cli.serve; sys.exit(bool({'mcp', 'uvicorn'} & {*sys.modules}))"
    subprocess.run([sys.executable, "-c", code], check=True)
