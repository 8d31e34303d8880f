"""The HTTP endpoint for the tools of many activities and of the project, and the thread that answers its requests.

Each activity has an address and a token of its own. The endpoint answers programs on this machine only.
"""

import asyncio
import hmac
import logging
import socket
from asyncio import Transport
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from treadle.mcp.offer import OF_A_PROJECT, OF_A_STEP, Offer
from treadle.mcp.server import Context, tool_server

LOCAL: Final = frozenset({"127.0.0.1", "localhost"})
_SERVED: Final = "treadle.served"


class Refusal(NamedTuple):
    """The answer to a refused request."""

    status: HTTPStatus
    words: str
    headers: Mapping[str, str] = {}


class Endpoint:
    """An ASGI application; the set of served activities may change while it runs."""

    def __init__(self, served: Mapping[str, Offer]) -> None:
        self._served = served
        # Nothing reads the logs of libraries here; without a handler, warnings would end up on the user's terminal.
        for name in ("mcp", "uvicorn"):
            logging.getLogger(name).addHandler(logging.NullHandler())
        # Each request has a limit of its own, so that of the managers is out of reach.
        self._managers = {
            instructions: StreamableHTTPSessionManager(
                tool_server(_served_in, instructions), json_response=True, stateless=True, max_request_body_size=1 << 40
            )
            for instructions in (OF_A_STEP, OF_A_PROJECT)
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Requests are answered inside of this context."""
        async with AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        served = self._served.get(scope["path"])
        refusal = refuse_strangers(headers) or _refuse_request(served, scope["method"], headers)
        if refusal or served is None:
            refusal = refusal or _GONE
            # -32600 is JSON-RPC's code for an invalid request.
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": refusal.words}}
            await JSONResponse(error, refusal.status, dict(refusal.headers))(scope, receive, send)
            return
        scope[_SERVED] = served
        manager = self._managers[served.instructions]
        await RequestBodyLimitMiddleware(manager.asgi_app, _limit(served))(scope, receive, send)


def _served_in(context: Context) -> Offer:
    if context.request is None:
        raise LookupError("a request came in without passing the door")
    served: Offer = context.request.scope[_SERVED]
    return served


_GONE: Final = Refusal(
    HTTPStatus.NOT_FOUND,
    "no step is at work at this address: it has ended, or treadle has not taken it up again yet; if its answer was not"
    " accepted, `treadle emit` or the last line of your output hands one in",
)


def refuse_strangers(headers: Headers) -> Refusal | None:
    """Refuse a request from outside of this machine, judged by its headers: a web page, another host."""
    if _host(f"//{headers.get('host', '')}") not in LOCAL:
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this is for programs on this machine: the Host is another one")
    origin = headers.get("origin")
    if origin is not None and _host(origin) not in LOCAL:
        return Refusal(HTTPStatus.FORBIDDEN, "this is for programs on this machine: the Origin is another one")
    return None


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        return "" if parts.username is not None or parts.port == 0 else (parts.hostname or "")
    except ValueError:
        return ""


def _refuse_request(served: Offer | None, method: str, headers: Headers) -> Refusal | None:
    """Refuse a request to no activity, without its token, too large, or other than POST: the server pushes nothing."""
    if served is None:
        return _GONE
    scheme, _, token = headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(token.strip().encode(), served.token.encode())
    if scheme.lower() != "bearer" or not served.token or not is_right:
        words = f"the token is not that of the session at work here; {served.badge} has address and token"
        return Refusal(HTTPStatus.UNAUTHORIZED, words, {"WWW-Authenticate": "Bearer"})
    if method != "POST":
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "only POST is allowed here", {"Allow": "POST"})
    size = headers.get("content-length", "")
    if size.isascii() and size.isdigit() and int(size) > _limit(served):
        words = f"the request has {size} bytes; {served.limits}; shorten it"
        return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
    return None


def _limit(served: Offer) -> int:
    """Three times the longest text, because `\\u00e9` are six bytes and é are two, and some for the rest."""
    return 3 * served.limit + 64 * 1024


# The loop that answers HTTP requests, in its own thread, at every port that agents know.

MOST_CONNECTIONS: Final = 256
"""The maximum of open connections: a client must not use up the driver's file descriptors."""
PATIENCE: Final = 30.0
"""Seconds until a connection must have sent a request with all its headers; a slow client must not occupy one."""
_GRACE: Final = 1.0
"""Seconds for open requests when the server ends."""


class _Connection(H11Protocol):
    """A connection that closes if there are too many, or if no request comes."""

    patience: float = PATIENCE
    _glance: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._glance:
            self._glance.cancel()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._glance = self.loop.call_later(self.patience, self._look, self.cycle)

    def _look(self, before: object) -> None:
        """Abort the connection if no request has come since the last look and none is being answered."""
        is_answered = getattr(self.cycle, "response_complete", True)  # there is none before the first request
        if self.cycle is before and is_answered:
            self.transport.abort()
        else:
            self._look_later()


class Listening:
    """A server that answers requests until `end`; other threads may call `listen` and `end`."""

    def __init__(self, endpoint: ASGIApp, patience: float = PATIENCE) -> None:
        self._loop, self._patience = asyncio.get_running_loop(), patience
        self._over = asyncio.Event()
        self._opening: list[asyncio.Task[None]] = []
        self._doors: list[asyncio.Server] = []
        self._state = ServerState()
        # uvicorn's own server would look ten times a second whether it has to end, and take its time to do so.
        self._config = uvicorn.Config(
            endpoint,
            http=_Connection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        self._config.load()

    def listen(self, door: socket.socket) -> None:
        """Accept connections at a socket from now on."""
        self._loop.call_soon_threadsafe(lambda: self._opening.append(self._loop.create_task(self._listen(door))))

    def end(self) -> None:
        """Let go of every port; the thread ends soon."""
        self._loop.call_soon_threadsafe(self._over.set)

    async def until_over(self) -> None:
        """Answer requests until `end`, then finish the open ones."""
        await self._over.wait()
        await asyncio.gather(*self._opening)
        for door in self._doors:
            door.close()
        for connection in tuple(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=_GRACE)
        for task in self._state.tasks:
            task.cancel()
        for connection in tuple(self._state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # what was closed is gone

    async def _listen(self, door: socket.socket) -> None:
        def connection() -> _Connection:
            made = _Connection(self._config, self._state, {}, self._loop)
            made.patience = self._patience
            return made

        self._doors.append(await self._loop.create_server(connection, sock=door))


async def run_listener(served: Mapping[str, Offer], started: "Future[Listening]") -> None:
    """Serve until the listener ends; this is all that the thread does."""
    endpoint = Endpoint(served)
    async with endpoint.running():
        listening = Listening(endpoint)
        started.set_result(listening)
        await listening.until_over()
