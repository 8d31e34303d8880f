"""One connection of a client: HTTP on one side, requests and answers of a model on the other."""

import http
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final

import msgspec

from treadle.testing.model_server import anthropic
from treadle.testing.model_server.answer import Answer, new_id
from treadle.testing.model_server.body import Refused, json_in, read_body
from treadle.testing.model_server.counting import tokens_in
from treadle.testing.model_server.exchange import Exchange, without_keys
from treadle.testing.model_server.request import Asked
from treadle.testing.model_server.routes import Route, route
from treadle.testing.model_server.script import Failure
from treadle.testing.model_server.wire import Document, Wire

if TYPE_CHECKING:
    from treadle.testing.model_server.server import Http

_PATIENCE: Final = 300.0
_ROUND: Final = 0.1
_LONGEST_PLACE: Final = 200
_JSON: Final = "application/json"


class Connection(BaseHTTPRequestHandler):
    """Answers the requests of one client, one after the other."""

    server: "Http"
    protocol_version = "HTTP/1.1"
    server_version = "treadle-model-server"
    sys_version = ""
    timeout = _PATIENCE
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """The exchanges are the log."""

    def _serve(self) -> None:
        self._body: Any = None
        self._place = self.path.partition("?")[0][:_LONGEST_PLACE]  # what comes after it may be a key
        found = route(self.path)
        wire = found.wire if found else None
        try:
            body = read_body(self.headers, self.rfile)
            self._body = json_in(body)
            if found is None:
                raise Refused(404, f"there is nothing at {self._place}")
            if self.command not in found.methods:
                raise Refused(405, f"{self._place} takes {found.methods[0]}", Allow=", ".join(found.methods))
            self._serve_route(found, body)
        except Refused as error:
            self.close_connection |= error.ends
            failure = Failure(status=error.status, message=f"model server: {error.message}", headers=error.headers)
            self._keep(error.status, wire, note=error.message)
            self._send(error.status, (wire or anthropic).refusal(failure), error.headers)

    def _serve_route(self, found: Route, body: bytes) -> None:
        if found.what == "turn" and found.wire:
            self._take_turn(found, found.wire, body)
            return
        self._keep(200, found.wire)
        match found.what:
            case "count":
                about = tokens_in(len(body))
                self._send(200, {"input_tokens": about} if found.wire is anthropic else {"totalTokens": about})
            case "models":
                self._send(200, {"object": "list", "data": [], "models": [], "has_more": False})
            case _:
                self._send(200, {"server": self.server_version, "scripts": list(self.server.player.scripts.names)})

    def _take_turn(self, found: Route, wire: Wire, body: bytes) -> None:
        asked = _asked(found, wire, body)
        answer = self.server.player.answer(asked)
        self._keep(answer.failure.status if answer.failure else 200, wire, answer, asked.model)
        if answer.sleep and self.server.ending.wait(answer.sleep):
            self.close_connection = True
        elif answer.failure:
            self._fail(wire, answer.failure)
        elif asked.is_streamed:
            frames = wire.stream(asked, answer)
            self._stream(_as_list(frames) if found.as_list else frames, answer, found)
        elif answer.misbehave:
            self._misbehave(answer)
        else:
            self._send(200, wire.whole(asked, answer))

    def _fail(self, wire: Wire, failure: Failure) -> None:
        told = msgspec.structs.replace(failure, message=failure.message or f"scripted {failure.status}")
        self._send(failure.status, failure.body if failure.body is not None else wire.refusal(told), failure.headers)

    def _stream(self, frames: Iterator[bytes], answer: Answer, found: Route) -> None:
        parts = list(frames)
        self._head(200, _JSON if found.as_list else "text/event-stream", {"Transfer-Encoding": "chunked"})
        for part in parts[: (len(parts) + 1) // 2] if answer.misbehave else parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if answer.misbehave:
            self._misbehave(answer)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _misbehave(self, answer: Answer) -> None:
        """Say nothing more: until the client goes, or go first."""
        self.close_connection = True
        self.connection.settimeout(_ROUND)
        while answer.misbehave == "hang" and not self.server.ending.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(4096):
                    return

    def _keep(
        self, status: int, wire: Wire | None, answer: Answer | None = None, model: str = "", note: str = ""
    ) -> None:
        answer = answer or Answer()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.keep(
            Exchange(
                wire=wire.NAME if wire else "",
                method=self.command,
                path=self._place,
                model=model,
                script=answer.script,
                step=answer.step,
                status=status,
                note=note or answer.note,
                headers=without_keys(headers),
                body=self._body,
            )
        )

    def _send(self, status: int, document: Document, headers: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(document)
        self._head(status, _JSON, {"Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status, _phrase(status))
        for name, value in {"Content-Type": kind, "request-id": new_id("req"), **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _asked(found: Route, wire: Wire, body: bytes) -> Asked:
    try:
        asked = wire.read(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body is no request of this kind: {str(error)[:300]}") from None
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
    named = {"model": found.model, "is_streamed": found.is_streamed} if found.model else {}
    return msgspec.structs.replace(asked, length=len(body), **named)


def _as_list(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Server-sent events as a list of JSON."""
    before = b"["
    for frame in frames:
        yield before + frame.removeprefix(b"data: ").rstrip()
        before = b",\n"
    yield b"]"


def _phrase(status: int) -> str:
    known = {each.value: each.phrase for each in http.HTTPStatus}
    return known.get(status, "Overloaded" if status == 529 else "Scripted")
