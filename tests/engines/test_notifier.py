"""People are told as the settings say, and only of what they say."""

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.refusals import refused
from treadle.config.model import Notifications
from treadle.engines.notifications import SettingsNotifier
from treadle.errors import PortError
from treadle.kernel.advance import LIMIT_ASK, OUTAGE

NOTE = (
    "import json, os, sys; json.dump([sys.argv[2:], os.environ['TREADLE_RUN'], os.environ['TREADLE_EVENT'],"
    " os.environ['TREADLE_TEXT']], open(sys.argv[1], 'w'))"
)


def notify(what: str, text: str, *, on: tuple[str, ...] = ("ask", "failed", "outage"), **settings: object) -> None:
    made = Notifications(bell=False, on=on, **settings)  # type: ignore[arg-type]
    asyncio.run(SettingsNotifier(made).notify("r1", what, text))


@pytest.mark.parametrize(
    ("what", "text", "event", "said"),
    [
        (
            "question",
            "root:confirm#1.1",
            "ask",
            "r1: waits for your answer (root:confirm#1.1); see `treadle status r1`",
        ),
        ("failed", "--version\x1b[2J", "failed", "r1: --version [2J"),
        ("question", OUTAGE, "outage", "r1: waits for your answer (run!outage); see `treadle status r1`"),
        (
            "outage",
            "an agent is held up, its quota is used up; continues at 14:00:00 UTC",
            "outage",
            "r1: an agent is held up, its quota is used up; continues at 14:00:00 UTC; see `treadle status r1`",
        ),
    ],
)
def test_a_program_gets_the_text_as_a_word_and_in_its_environment(
    tmp_path: Path, what: str, text: str, event: str, said: str
) -> None:
    notify(what, text, command=(sys.executable, "-c", NOTE, str(tmp_path / "told")))
    assert json.loads((tmp_path / "told").read_text()) == [["r1", event, said], "r1", event, said]


@pytest.mark.parametrize(("what", "text"), [("refused", "no"), ("done", "ended"), ("question", LIMIT_ASK)])
def test_an_event_that_the_settings_leave_out_is_not_notified(tmp_path: Path, what: str, text: str) -> None:
    notify(what, text, command=(sys.executable, "-c", NOTE, str(tmp_path / "told")))
    assert not (tmp_path / "told").exists()


def test_a_program_that_fails_is_an_error_that_names_it() -> None:
    with pytest.raises(PortError, match="ended with code 7"):
        notify("failed", "x", command=(sys.executable, "-c", "raise SystemExit(7)"))
    with pytest.raises(PortError, match="/no/such cannot be started"):
        notify("failed", "x", command=("/no/such",))


def test_an_address_is_sent_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[object] = []

    class Ear(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Ear) as server:
        listening = threading.Thread(target=server.handle_request)
        listening.start()
        monkeypatch.setenv("MY_WEBHOOK", f"http://127.0.0.1:{server.server_port}/hook")
        notify("failed", "ended with Aborted", webhook="env:MY_WEBHOOK")
        listening.join()
    said = "r1: ended with Aborted"
    assert heard == [{"run": "r1", "event": "failed", "text": said, "message": said}]


def test_an_address_that_cannot_be_reached_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_WEBHOOK", "http://127.0.0.1:1/secret")
    with pytest.raises(PortError) as error:
        notify("failed", "x", webhook="env:MY_WEBHOOK")
    assert "secret" not in str(error.value)
    with refused("notify.settings", "NO_SUCH"):
        notify("failed", "x", webhook="env:NO_SUCH")
