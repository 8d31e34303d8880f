"""The tools of many activities, and those of a project, at one HTTP endpoint: each has an address and a token of its
own, no request needs an earlier one, and nobody but a program on this machine that knows the token gets further than
the door."""

import hmac
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import RequestBodyLimitMiddleware
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from treadle.mcp.offer import OF_A_PROJECT, OF_A_STEP, Guarded
from treadle.mcp.tools import Context, tool_server

LOCAL: Final = frozenset({"127.0.0.1", "localhost"})
_SERVED: Final = "treadle.served"
_AROUND: Final = 64 * 1024
"""Bytes of a request besides the answer."""
_ESCAPED: Final = 3
"""How much longer a text may be as a client writes it: `\\u00e9` are six bytes, é are two."""
_LARGEST: Final = 1 << 40
_INVALID: Final = -32600
"""What JSON-RPC calls an invalid request."""


class Refusal(NamedTuple):
    """Why a request is not heard."""

    status: HTTPStatus
    words: str
    headers: Mapping[str, str] = {}


class Endpoint:
    """An ASGI application; who is served may change while it runs."""

    def __init__(self, served: Mapping[str, Guarded]) -> None:
        self._served = served
        # Nobody listens to what libraries log here; without a handler, warnings would end up on the user's terminal.
        for name in ("mcp", "uvicorn"):
            logging.getLogger(name).addHandler(logging.NullHandler())
        self._managers = {instructions: _manager(instructions) for instructions in (OF_A_STEP, OF_A_PROJECT)}

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
        refusal = stranger(headers) or _uninvited(served, headers) or _unheard(served, scope["method"], headers)
        if refusal or served is None:
            await _say(refusal or _GONE)(scope, receive, send)
            return
        scope[_SERVED] = served
        manager = self._managers[served.instructions]
        await RequestBodyLimitMiddleware(manager.asgi_app, _limit(served))(scope, receive, send)


def _manager(instructions: str) -> StreamableHTTPSessionManager:
    server = tool_server(_served_in, instructions)
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=_LARGEST)


def _served_in(context: Context) -> Guarded:
    if context.request is None:
        raise LookupError("a request came in without passing the door")
    served: Guarded = context.request.scope[_SERVED]
    return served


_GONE: Final = Refusal(
    HTTPStatus.NOT_FOUND,
    "no step is at work at this address: it has ended, or treadle has not taken it up again yet; if its answer was not"
    " accepted, `treadle emit` or the last line of your output hands one in",
)


def stranger(headers: Headers) -> Refusal | None:
    """Why a request does not come from this machine, as far as its headers say: a page in a browser, another host."""
    if _name(f"//{headers.get('host', '')}") not in LOCAL:
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this is for programs on this machine: the Host is another one")
    origin = headers.get("origin")
    if origin is not None and _name(origin) not in LOCAL:
        return Refusal(HTTPStatus.FORBIDDEN, "this is for programs on this machine: the Origin is another one")
    return None


def _name(address: str) -> str:
    try:
        parts = urlsplit(address)
        return "" if parts.username is not None or parts.port == 0 else (parts.hostname or "")
    except ValueError:
        return ""


def _uninvited(served: Guarded | None, headers: Headers) -> Refusal | None:
    if served is None:
        return _GONE
    scheme, _, given = headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode(), served.token.encode())
    if scheme.lower() == "bearer" and served.token and is_right:
        return None
    words = f"the token is not that of the session at work here; {served.badge} has address and token"
    return Refusal(HTTPStatus.UNAUTHORIZED, words, {"WWW-Authenticate": "Bearer"})


def _unheard(served: Guarded | None, method: str, headers: Headers) -> Refusal | None:
    """Why a request of somebody who may ask is not read: nothing is pushed from here, and no session is kept."""
    if method != "POST":
        return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "every request is a POST here", {"Allow": "POST"})
    size = headers.get("content-length", "")
    if served and size.isascii() and size.isdigit() and int(size) > _limit(served):
        words = f"the request has {size} bytes; {served.limits}; shorten it"
        return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
    return None


def _limit(served: Guarded) -> int:
    return _ESCAPED * served.limit + _AROUND


def _say(refusal: Refusal) -> JSONResponse:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID, "message": refusal.words}}
    return JSONResponse(error, refusal.status, dict(refusal.headers))
