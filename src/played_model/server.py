"""The server: one port on loopback for all wire formats, a thread for each connection, and a record of everything."""

import http
import json
import re
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Final, Literal
from urllib.parse import parse_qs, urlsplit

import msgspec

from played_model import anthropic, chat, gemini, responses
from played_model.player import Player
from played_model.script import Library, ModelFailure
from played_model.wire import Document, ModelAnswer, ModelRequest, Wire, new_id, tokens_in

HOST: Final = "127.0.0.1"
LARGEST_BODY: Final = 64_000_000
REDACTED: Final = "(redacted)"
_SECRET_HEADERS: Final = {
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "proxy-authorization",
}


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the server: its address."""

    schema: Literal[1] = 1
    url: str
    """The address for a client that adds `/v1/…` itself."""
    port: int
    scripts: list[str]


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its answer."""

    schema: Literal[1] = 1
    wire: str = ""
    """The wire format: anthropic, responses, chat or gemini; empty for other requests."""
    method: str
    path: str
    model: str = ""
    script: str = ""
    """The script that the prompt names; empty: none that there is."""
    step: int = 0
    """How many turns of the model there were before, from 0."""
    status: int
    """The status that was answered."""
    note: str = ""
    """A problem with the request, or with the script for it."""
    headers: dict[str, str] = {}
    """The request's headers, with names in lower case and without keys."""
    body: Any = None
    """The request's body, if it is JSON."""

    def __str__(self) -> str:
        asked = f"{self.wire} {self.model}".strip() if self.wire else f"{self.method} {self.path}"
        played = f" {self.script}[{self.step}]" if self.script else ""
        return f"{asked}{played}: {self.status}" + (f", {self.note}" if self.note else "")


class ModelServer:
    """Plays scripts on loopback, from when it is made until it is closed; raises an `OSError` if the port is taken."""

    def __init__(self, scripts: Library, port: int = 0, listener: Callable[[Exchange], None] | None = None) -> None:
        self._http = _Http(port, Player(scripts), listener)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="model-server")
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The address for a client that adds `/v1/…` itself."""
        return f"http://{HOST}:{self.port}"

    @property
    def welcome(self) -> Welcome:
        return Welcome(url=self.url, port=self.port, scripts=list(self._http.player.scripts.names))

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges so far, in the order of the answers; empty if there is a listener."""
        return list(self._http.exchanges)

    def close(self) -> None:
        """Close every connection, even a hanging one."""
        self._http.shutdown()
        self._http.end_connections()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_MODEL: Final = "played-1"
_KEY: Final = "played"
"""A placeholder for an API key: the server does not check it."""


def client_variables(url: str, home: Path) -> dict[str, str]:
    """The variables that make all known agents talk to this server; in this HOME, none finds the user's login."""
    (home / ".codex").mkdir(parents=True, exist_ok=True)
    (home / ".codex" / "config.toml").write_text(f'model = "{_MODEL}"\n', encoding="utf-8")  # its plain set of tools
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": _KEY},
        "models": {_MODEL: {}},
    }
    opencode = {"provider": {_KEY: provider}, "model": f"{_KEY}/{_MODEL}", "small_model": f"{_KEY}/{_MODEL}"}
    return {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": _KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": _KEY,
        "GEMINI_MODEL": "gemini-2.5-flash",  # without a name, it asks another model which one to ask
        "OPENCODE_CONFIG_CONTENT": json.dumps(opencode),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


class _Http(ThreadingHTTPServer):
    """An HTTP server that closes all its connections when it ends."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int, player: Player, listener: Callable[[Exchange], None] | None) -> None:
        self.player, self.listener = player, listener
        self.exchanges: list[Exchange] = []
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((HOST, port), _ModelConnection)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # without asking a name server what this machine is called
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        self.ending.set()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def record(self, exchange: Exchange) -> None:
        with self._lock:
            (self.listener or self.exchanges.append)(exchange)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent if the client disconnected, which it may do at any time."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


# Addresses.

_ROUTES: Final[dict[str, tuple[Literal["turn", "count", "models", "greeting"], Wire | None]]] = {
    "/": ("greeting", None),
    "/v1/messages": ("turn", anthropic),
    "/v1/messages/count_tokens": ("count", anthropic),
    "/v1/responses": ("turn", responses),
    "/responses": ("turn", responses),
    "/v1/chat/completions": ("turn", chat),
    "/chat/completions": ("turn", chat),
    "/v1/models": ("models", None),
    "/models": ("models", None),
    "/v1beta/models": ("models", None),
}


class _Route(msgspec.Struct, frozen=True, kw_only=True):
    """The kind of request that an address stands for."""

    what: Literal["turn", "count", "models", "greeting"]
    wire: Wire | None = None
    model: str = ""
    is_streamed: bool = False
    as_list: bool = False
    """Whether a stream is a list of JSON instead of server-sent events."""


def _find_route(target: str) -> _Route | None:
    """Return the route of a request's target; None if it is unknown."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return None
    if known := _ROUTES.get(parts.path.rstrip("/") or "/"):
        return _Route(what=known[0], wire=known[1])
    if not (found := re.fullmatch(r"/v1(?:beta|alpha)?/models/([^/:]+):(\w+)", parts.path)):
        return None
    match found[2]:
        case "countTokens":
            return _Route(what="count", wire=gemini, model=found[1])
        case "generateContent":
            return _Route(what="turn", wire=gemini, model=found[1])
        case "streamGenerateContent":
            as_list = parse_qs(parts.query).get("alt") != ["sse"]
            return _Route(what="turn", wire=gemini, model=found[1], is_streamed=True, as_list=as_list)
        case _:
            return None


class _RequestRefused(Exception):
    """A request that is no good."""

    def __init__(self, status: int, message: str, *, ends: bool = False, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers
        self.ends = ends
        """Whether the start of the connection's next request is unknown, so that the connection ends."""


class _ModelConnection(BaseHTTPRequestHandler):
    """Answers the requests of one client, one after the other."""

    server: _Http
    protocol_version = "HTTP/1.1"
    server_version = "treadle-model-server"
    sys_version = ""
    timeout = 300.0
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """The exchanges are the log."""

    def _serve(self) -> None:
        self._body: Any = None
        self._place = self.path.partition("?")[0][:200]  # what comes after it may be a key
        route = _find_route(self.path)
        wire = route.wire if route else None
        try:
            body = self._read_body()
            # Only for the record: a body that is no JSON is refused by the wire formats themselves.
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self._body = msgspec.json.decode(body) if body else None
            if route is None:
                raise _RequestRefused(404, f"there is nothing at {self._place}")
            methods = ("POST",) if route.wire else ("GET", "HEAD")
            if self.command not in methods:
                raise _RequestRefused(405, f"{self._place} takes {methods[0]}", Allow=", ".join(methods))
            if route.what == "turn" and route.wire:
                self._take_turn(route, route.wire, body)
                return
            self._record(200, wire)
            match route.what:
                case "count":
                    about = tokens_in(len(body))
                    self._send(200, {"input_tokens": about} if wire is anthropic else {"totalTokens": about})
                case "models":
                    self._send(200, {"object": "list", "data": [], "models": [], "has_more": False})
                case _:
                    self._send(200, {"server": self.server_version, "scripts": list(self.server.player.scripts.names)})
        except _RequestRefused as error:
            self.close_connection |= error.ends
            failure = ModelFailure(status=error.status, message=f"model server: {error.message}", headers=error.headers)
            self._record(error.status, wire, note=error.message)
            self._send(error.status, (wire or anthropic).refusal(failure), error.headers)

    def _read_body(self) -> bytes:
        """Read a body that is complete and not too long, and decompress it; raise `_RequestRefused` otherwise."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raise _RequestRefused(411, "a body needs a Content-Length", ends=True)
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()):
            raise _RequestRefused(400, "Content-Length is no number", ends=True)
        if len(length) > 12 or int(length) > LARGEST_BODY:
            raise _RequestRefused(413, f"the body has more than {LARGEST_BODY} bytes", ends=True)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise _RequestRefused(400, "the body ends before its Content-Length", ends=True)

        encoding = self.headers.get("Content-Encoding", "identity").lower()
        if encoding in {"identity", ""}:
            return body
        if encoding != "gzip":
            raise _RequestRefused(415, f"the body is packed as {encoding[:40]}; send it as it is")
        try:
            unpacking = zlib.decompressobj(wbits=31)
            body = unpacking.decompress(body, LARGEST_BODY)
        except zlib.error:
            raise _RequestRefused(400, "the body is no gzip") from None
        if unpacking.unconsumed_tail:
            raise _RequestRefused(413, f"the body has more than {LARGEST_BODY} bytes")
        return body

    def _take_turn(self, route: _Route, wire: Wire, body: bytes) -> None:
        asked = _parse_request(route, wire, body)
        answer = self.server.player.answer(asked)
        failure = answer.failure
        self._record(failure.status if failure else 200, wire, answer, asked.model)
        if answer.sleep and self.server.ending.wait(answer.sleep):
            self.close_connection = True
        elif failure:
            told = msgspec.structs.replace(failure, message=failure.message or f"scripted {failure.status}")
            document = wire.refusal(told) if failure.body is None else failure.body
            self._send(failure.status, document, failure.headers)
        elif asked.is_streamed:
            frames = wire.stream(asked, answer)
            self._stream(_as_json_list(frames) if route.as_list else frames, answer, as_list=route.as_list)
        elif answer.misbehave:
            self._misbehave(answer)
        else:
            self._send(200, wire.whole(asked, answer))

    def _stream(self, frames: Iterator[bytes], answer: ModelAnswer, *, as_list: bool) -> None:
        parts = list(frames)
        kind = "application/json" if as_list else "text/event-stream"
        self._send_head(200, kind, {"Transfer-Encoding": "chunked"})
        for part in parts[: (len(parts) + 1) // 2] if answer.misbehave else parts:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if answer.misbehave:
            self._misbehave(answer)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _misbehave(self, answer: ModelAnswer) -> None:
        """Send nothing more: hang until the client disconnects, or cut the connection."""
        self.close_connection = True
        self.connection.settimeout(0.1)
        while answer.misbehave == "hang" and not self.server.ending.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(4096):
                    return

    def _record(
        self, status: int, wire: Wire | None, answer: ModelAnswer | None = None, model: str = "", note: str = ""
    ) -> None:
        answer = answer or ModelAnswer()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.record(
            Exchange(
                wire=wire.NAME if wire else "",
                method=self.command,
                path=self._place,
                model=model,
                script=answer.script,
                step=answer.step,
                status=status,
                note=note or answer.note,
                headers={name: REDACTED if name in _SECRET_HEADERS else value for name, value in headers.items()},
                body=self._body,
            )
        )

    def _send(self, status: int, document: Document, headers: dict[str, str] | None = None) -> None:
        body = msgspec.json.encode(document)
        self._send_head(status, "application/json", {"Content-Length": str(len(body)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_head(self, status: int, kind: str, headers: dict[str, str]) -> None:
        phrases = {each.value: each.phrase for each in http.HTTPStatus} | {529: "Overloaded"}
        self.send_response(status, phrases.get(status, "Scripted"))
        for name, value in {"Content-Type": kind, "request-id": new_id("req"), **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _parse_request(route: _Route, wire: Wire, body: bytes) -> ModelRequest:
    try:
        asked = wire.read(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _RequestRefused(400, f"the body is no request of this kind: {str(error)[:300]}") from None
    except RecursionError:
        raise _RequestRefused(400, "the body is nested too deeply") from None
    named = {"model": route.model, "is_streamed": route.is_streamed} if route.model else {}
    return msgspec.structs.replace(asked, length=len(body), **named)


def _as_json_list(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Turn server-sent events into a list of JSON."""
    before = b"["
    for frame in frames:
        yield before + frame.removeprefix(b"data: ").rstrip()
        before = b",\n"
    yield b"]"
