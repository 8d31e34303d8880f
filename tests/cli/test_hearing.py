"""Chat bots that speak to `treadle serve`."""

import asyncio
import json
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from tests.cli.chores import Chores, until
from tests.cli.treadle import treadle
from treadle.cli.webhook import LARGEST, ChatWebhook
from treadle.config.project import Project
from treadle.mcp.endpoint import Listening
from treadle.mcp.http import bind_socket

TOKEN = "0123456789abcdef" * 2
BEGUN = f"POST /say HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 9\r\n\r\n{{".encode()


class Bot:
    """A program that knows where a project hears, and perhaps the token."""

    def __init__(self, file: Path) -> None:
        self.file = file
        found = json.loads(file.read_text())
        self.address, self.token = found["address"], found["token"]

    def says(self, text: str, actor: str = "", token: str = "") -> Any:
        status, answer = self.posts(json.dumps({"text": text, "actor": actor}).encode(), token or self.token)
        assert status == 200, answer
        return answer

    def posts(self, body: bytes, token: str, address: str = "") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(address or self.address, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture
def chores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chores:
    found = Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return found


@pytest.fixture
def bot(chores: Chores) -> Iterator[Bot]:
    assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml").code == 3
    file = chores.root / ".treadle/local/say.json"
    with chores.background("serve") as served:
        until(file.exists, "it listens")
        until(lambda: treadle("status", "sweep-1", "--json").json()["driver"], "it drives")
        yield Bot(file)
        served.terminate()
        served.wait(30)


def test_a_bot_answers_and_the_service_goes_on(chores: Chores, bot: Bot) -> None:
    assert stat.S_IMODE(bot.file.stat().st_mode) == 0o600
    asked = bot.says("status")
    assert (asked["result"]["type"], "Is it done?" in asked["text"]) == ("needs_human", True)
    unclear = bot.says("acept")
    assert (unclear["understood"], unclear["code"], "'accept'" in unclear["text"]) == (False, "say.unclear", True)
    again = bot.says("retry: the corners too", actor="alice\x1b")
    assert again["text"].startswith("Is it done?: retry\n")
    until(lambda: '"root:confirm#2.1"' in treadle("status", "sweep-1", "--json").out, "it asks again")
    bot.says("stop for today", actor="alice")
    assert bot.says("continue")["run"] == "sweep-1"
    done = bot.says("accept", actor="bob")
    until(lambda: bot.says("status")["result"]["type"] == "done", "it ends")
    log = treadle("log", "sweep-1").out
    assert "(alice, by chat) answers root:confirm#1.1: retry" in log
    assert "(bob, by chat) answers root:confirm#2.1: accept" in log
    assert done["project"] == chores.root.name


def test_a_request_without_the_token_is_refused(bot: Bot) -> None:
    abort = json.dumps({"text": "abort everything"}).encode()
    for token in ("", "0" * 32, bot.token[:-1], f"{bot.token}0", "ü"):
        status, why = bot.posts(abort, token.encode().decode("latin-1"))
        assert (status, "token" in why["error"]) == (401, True)
    assert bot.posts(b"", bot.token, bot.address.replace("/say", "/else"))[0] == 404
    assert "has ended" not in treadle("status").out


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"continue", 400),
        (b'{"text": 1}', 400),
        (b'{"text": "status", "run": "x"}', 400),
        (b"\xff\xfe", 400),
        (b'{"text": "' + b"x" * LARGEST + b'"}', 413),
    ],
)
def test_a_malformed_request_is_refused(body: bytes, status: int) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        headers = [(b"authorization", b"Bearer t")]
        scope = {"type": "http", "method": "POST", "path": "/say", "headers": headers, "query_string": b""}
        await ChatWebhook(Project(Path("/nowhere")), "t")(scope | {"server": ("x", 1), "scheme": "http"}, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == status


def test_the_address_stays_and_may_be_another_one(chores: Chores) -> None:
    file = chores.root / ".treadle/local/say.json"
    (chores.root / ".treadle/local").mkdir(parents=True)
    file.write_text("broken")
    found = []
    for _ in range(2):
        with chores.background("serve") as served:
            until(lambda: file.read_text() != "broken", "it listens")
            assert served.stdout
            until(lambda: "say.json" in served.stdout.readline(), "it says so")  # type: ignore[union-attr]
            found.append(file.read_text())
            served.terminate()
            served.wait(30)
    assert found[0] == found[1]
    assert json.loads(found[0])["address"].startswith("http://127.0.0.1:")
    wrong = treadle("serve", "--listen", "everywhere")
    assert (wrong.code, "is not HOST:PORT" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""),
        (b"POST /say HTTP/1.1\r\nHost: here\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\nPOST /say HTTP/1.1\r\n", b"HTTP/1.1 404"),
        (BEGUN, b"HTTP/1.1 408"),
    ],
)
def test_a_client_that_never_finishes_is_disconnected(tmp_path: Path, sent: bytes, answered: bytes) -> None:
    async def story() -> bytes:
        listening = Listening(ChatWebhook(Project(tmp_path), TOKEN, patience=0.05), patience=0.1)
        door = bind_socket("127.0.0.1", 0)
        listening.listen(door)
        reader, writer = await asyncio.open_connection(*door.getsockname())
        writer.write(sent)
        heard = await reader.read()  # to the end: it is the other side that closes
        writer.close()
        listening.end()
        await listening.until_over()
        return heard

    assert asyncio.run(story()).startswith(answered)
