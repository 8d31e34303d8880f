"""The web application for chat bots while `treadle serve` runs: one address, a token, the words of `treadle say`."""

import asyncio
import hmac
import os
import time
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from treadle.cli.serve import CHAT_PATH
from treadle.config.project import Project
from treadle.config.projects import Projects
from treadle.errors import TreadleError
from treadle.mcp.endpoint import PATIENCE
from treadle.store.sqlite import Store
from treadle.talk.speaker import Speaker, take_up_here

LARGEST: Final = 16 * 1024
"""Bytes of a request that is read at all."""
_LONGEST_ACTOR: Final = 60
_AT_ONCE: Final = 4
_GLANCE: Final = 0.05
_PATIENCE: Final = 10.0
"""Seconds to wait until the runs driven here accept a posted event."""


class ChatMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request: the text, and its author."""

    text: str
    actor: str = ""


class ChatWebhook:
    """An ASGI application; requests without the token are refused before their body is read."""

    def __init__(self, project: Project, token: str, patience: float = PATIENCE) -> None:
        self._project, self._token, self._patience = project, token.encode(), patience
        self._seats = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                response = await self._answer(Request(scope, receive))
            except ClientDisconnect:
                return
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.url.path != CHAT_PATH:
            return _refused(HTTPStatus.NOT_FOUND, f"post sentences to {CHAT_PATH}")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if not hmac.compare_digest(given.strip().encode(), self._token) or scheme.lower() != "bearer":
            return _refused(HTTPStatus.UNAUTHORIZED, "the token is not the one of this `treadle serve`")
        if request.method != "POST":
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "only POST is allowed here")
        try:
            async with asyncio.timeout(self._patience):
                body = await _body(request)
        except TimeoutError:
            return _refused(HTTPStatus.REQUEST_TIMEOUT, "the request is incomplete; send it again")
        if body is None:
            return _refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request may have at most {LARGEST} bytes; shorten it"
            )
        try:
            words = msgspec.json.decode(body, type=ChatMessage)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return _refused(HTTPStatus.BAD_REQUEST, f'this is not {{"text": …, "actor": …}}: {error}')
        async with self._seats:
            return await asyncio.to_thread(self._said, words)

    def _said(self, words: ChatMessage) -> Response:
        try:
            reply = Speaker(Projects(os.environ), self._project, _named(words.actor), self._take_up).hear(words.text)
        except TreadleError as error:
            return _refused(HTTPStatus.CONFLICT, str(error))
        return Response(msgspec.json.encode(reply.document), media_type="application/json")

    def _take_up(self, project: Project, store: Store, run: str) -> None:
        """Deliver a posted event; this process drives the runs of its own project, so those only need some time."""
        if project.root != self._project.root:
            take_up_here(project, store, run)
            return
        end = time.monotonic() + _PATIENCE
        while store.posted(run) and time.monotonic() < end:
            time.sleep(_GLANCE)


async def _body(request: Request) -> bytes | None:
    """Read the request body; return None if it is too large, before reading all of it."""
    size = request.headers.get("content-length", "")
    if size.isdigit() and int(size) > LARGEST:
        return None
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            return None
    return body


def _named(actor: str) -> str:
    plain = "".join(char for char in actor if char.isprintable()).strip()[:_LONGEST_ACTOR]
    return f"{plain}, by chat" if plain else "chat"


def _refused(status: HTTPStatus, why: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status is HTTPStatus.UNAUTHORIZED else {}
    return JSONResponse({"error": why}, status, headers)
