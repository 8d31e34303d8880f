"""The loop that answers HTTP requests, in a thread of its own, at as many ports as agents have been told."""

import asyncio
import socket
from asyncio import Transport
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from treadle.mcp.endpoint import Endpoint
from treadle.mcp.offer import Guarded

MOST_CONNECTIONS: Final = 256
"""A client that opens more must not take the driver's last file descriptors."""
PATIENCE: Final = 30.0
"""Seconds for a request to begin in earnest: with all of its headers. Who is slower must not hold a connection."""
_GRACE: Final = 1.0
"""Seconds for what is being answered at the end."""


class _Connection(H11Protocol):
    """Hangs up if there are too many, or if nothing is asked."""

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
        """Nothing has been asked since the last look, and nothing is being answered."""
        is_answered = getattr(self.cycle, "response_complete", True)  # there is none before the first request
        if self.cycle is before and is_answered:
            self.transport.abort()
        else:
            self._look_later()


class Listening:
    """Answers requests until it is told to end. What it is told comes from other threads."""

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
        """Answer what comes in at a socket from now on."""
        self._loop.call_soon_threadsafe(lambda: self._opening.append(self._loop.create_task(self._listen(door))))

    def end(self) -> None:
        """Let go of every port; the thread ends soon."""
        self._loop.call_soon_threadsafe(self._over.set)

    async def until_over(self) -> None:
        """Answer requests, and in the end those that have begun."""
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


async def run(served: Mapping[str, Guarded], started: "Future[Listening]") -> None:
    """Everything that the thread does."""
    endpoint = Endpoint(served)
    async with endpoint.running():
        listening = Listening(endpoint)
        started.set_result(listening)
        await listening.until_over()
