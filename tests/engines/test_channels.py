"""People are told through Apprise, here by an address on this machine."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chores import Chores
from tests.cli.treadle import treadle
from tests.refusals import refused
from treadle.config.kinds import CHANNELS
from treadle.config.model import Notifications
from treadle.engines.notifications import SettingsNotifier, notify_channels
from treadle.errors import PortError

# one of Apprise's own channels imports it
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@contextmanager
def listening() -> Iterator[tuple[str, list[Any]]]:
    """An address that Apprise can post to, and what came in."""
    heard: list[Any] = []

    class Channel(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if "/broken" in self.path else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Channel) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"json://127.0.0.1:{server.server_port}", heard
        finally:
            server.shutdown()
            thread.join()


def test_a_question_reaches_every_channel_whole() -> None:
    with listening() as (address, heard):
        settings = Notifications(bell=False, on=("ask",), channels=("env:CHATS", address))
        notifier = SettingsNotifier(settings, "cart-app", lambda ask: f"# Review\n\n{ask}: approve?\n- approve\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CHATS", f"{address}/one {address}/two")
            asyncio.run(notifier.notify("us-005", "question", "root:review#1.1"))
            asyncio.run(notifier.notify("us-005", "done", "ended with Done"))
    assert [(it["title"], it["message"].splitlines()[2]) for it in heard] == [
        ("cart-app · us-005", "root:review#1.1: approve?")
    ] * 3


def test_a_channel_gets_the_question_and_the_outcome_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    with listening() as (address, heard):
        monkeypatch.setenv("MY_CHATS", address)
        channels = 'notifications.channels=["env:MY_CHATS"]'
        assert treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml", "--set", channels).code == 3
        assert [it["title"] for it in heard] == [f"{tmp_path.name} · sweep-1"]
        assert "# Is it done?" in heard[0]["message"]
        assert "- accept: take it\n- retry: " in heard[0]["message"]
        assert treadle("say", "accept").code == 0
        assert heard[1]["message"].startswith("sweep-1: ended with Finished")
        assert [it["type"] for it in heard] == ["info", "success"]


def test_a_failed_notification_is_shown_where_the_run_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Chores(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    with listening() as (address, heard):
        monkeypatch.setenv("MY_CHATS", f"{address}/broken")
        channels = 'notifications.channels=["env:MY_CHATS"]'
        begun = treadle("run", "chore.yaml", "-p", "ask", "--agent", "scripted:did.yaml", "--set", channels)
        (failure,) = treadle("status", "sweep-1", "--json").json()["untold"]
        assert failure.startswith("notifications.channels: MY_CHATS ")
        assert (begun.code, f"root: {failure}\n" in begun.out) == (3, True)
        status = treadle("status").out
        assert f": {failure}\n" in status
        assert " ignored; " not in status
        again = treadle("say", "retry").out
        assert again.count(failure) == 1, "once, though more notifications have failed"
        monkeypatch.setenv("MY_CHATS", address)
        assert treadle("say", "accept").code == 0
        assert "ended with Finished" in heard[-1]["message"]


def test_a_failed_channel_is_named_without_its_address() -> None:
    with listening() as (address, heard), pytest.raises(PortError) as error:
        notify_channels(["env:CHAT"], {"CHAT": f"{address}/broken {address} nonsense://secret"}, "t", "x")
    assert (error.value.code, "CHAT, CHAT" in str(error.value), "secret" in str(error.value)) == (
        "notify.failed", True, False,
    )  # fmt: skip
    assert len(heard) == 2, "the others are told all the same"
    with refused("notify.settings", "NO_SUCH"):
        notify_channels(["env:NO_SUCH"], {}, "t", "x")


def test_without_apprise_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(PortError, match=r"pip install 'treadle\[channels\]'"):
        notify_channels(["dbus://"], {}, "t", "x")


@pytest.mark.parametrize("text", ["env:MY_CHATS", "dbus://", "json://127.0.0.1:8080/x", "macosx://"])
def test_an_address_without_a_secret_may_stand_in_the_settings(text: str) -> None:
    assert CHANNELS.read([text]) == (text,)


@pytest.mark.parametrize(
    "text",
    [
        "tgram://token/chat",
        "slack://a/b/c",
        "json://example.org",
        "json://me:pw@127.0.0.1",
        "mailto://x",
        "x",
        "json://[::",
    ],
)
def test_an_address_that_may_hold_a_secret_must_be_in_a_variable(text: str) -> None:
    with pytest.raises(ValueError, match="env:NAME"):
        CHANNELS.read([text])
