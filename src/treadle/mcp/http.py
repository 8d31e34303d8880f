"""The tools of agents, served over HTTP on loopback by the process that drives their runs: no agent starts a server.

It has a thread and a loop of its own, so that nobody who calls keeps the driver waiting; both begin, and the SDK is
imported, when the first agent wants it. A driver that comes after listens at the addresses that agents still have.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

from treadle.mcp.offer import Guarded, ProjectMemory
from treadle.mcp.served import Served, memory_in
from treadle.memory.store import Memory
from treadle.results.assignment import Assignment

if TYPE_CHECKING:
    from treadle.mcp.listening import Listening

HOST: Final = "127.0.0.1"
OF_THE_PROJECT: Final = "/memory"
"""The place of a project's own graph; those of activities end with a digest."""
_PATIENCE: Final = 5.0
"""Seconds for requests that are being answered when the process ends."""
_PLAIN: Final = re.compile(r"[^a-z0-9]+")


class HttpTools:
    """Serves the tools of all activities of this process; at the end of the context nothing listens any more."""

    def __init__(self) -> None:
        self._served: dict[str, Guarded] = {}
        self._ports: list[int] = []
        self._thread: threading.Thread | None = None
        self._started: Future[Listening] = Future()
        self._memories: dict[Path, Memory] = {}

    def __enter__(self) -> Self:
        return self

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        """Serve an activity, where it was served before (`at`) if that can be; the address, empty if it cannot be."""
        path = memory_in(env)
        return await self._open(path_of(task), Served(task, env, self._memory(path) if path else None), at)

    async def open_memory(self, path: Path, token: str, badge: str, at: str = "") -> str:
        """Serve a project's own graph to whoever knows the token, as `open` does an activity."""
        return await self._open(OF_THE_PROJECT, ProjectMemory(self._memory(path), token, badge), at)

    def close(self, task: Assignment) -> None:
        """The activity has ended: nothing is taken at its address any more."""
        self._served.pop(path_of(task), None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._served.clear()
        if self._thread:
            self._started.add_done_callback(_end)
            self._thread.join(_PATIENCE)
        for memory in self._memories.values():
            memory.close()

    async def _open(self, place: str, served: Guarded, at: str) -> str:
        self._served[place] = served  # known before anybody can ask for it
        try:
            listening = await self._running()
            return f"http://{HOST}:{self._port(listening, _port_in(at))}{place}"
        except (OSError, ImportError):
            self._served.pop(place, None)
            return ""

    def _memory(self, path: Path) -> Memory:
        """The memory in a file; one for all, so that they wait here and not at the file."""
        return self._memories.setdefault(path, Memory(path))

    async def _running(self) -> "Listening":
        """Until all is imported: an agent's own SDK must not be imported at the same time, in parts."""
        if self._thread is None:
            self._thread = threading.Thread(target=_serve, args=(self._served, self._started), daemon=True)
            self._started.set_running_or_notify_cancel()  # who waits may be cancelled, the start may not
            self._thread.start()
        return await asyncio.wrap_future(self._started)

    def _port(self, listening: "Listening", wanted: int) -> int:
        """A port that is listened at: the one that is wanted, if nobody else has it."""
        if wanted in self._ports or (self._ports and not wanted):
            return wanted or self._ports[0]
        door = _door(wanted, self._ports)
        if door is None:
            return self._ports[0]
        self._ports.append(door.getsockname()[1])
        listening.listen(door)
        return self._ports[-1]


def path_of(task: Assignment) -> str:
    """Where an activity is found: the same for the same activity, whichever process drives it."""
    name = _PLAIN.sub("-", task.act.lower()).strip("-")[:40]
    return f"/{name}-{sha256(str(task.bundle).encode(errors='surrogateescape')).hexdigest()[:16]}"


def _serve(served: Mapping[str, Guarded], started: "Future[Listening]") -> None:
    try:
        from treadle.mcp.listening import run  # noqa: PLC0415 - the SDK takes its time to import

        asyncio.run(run(served, started))
    except Exception as error:
        if started.done():
            raise
        started.set_exception(error)


def _end(started: "Future[Listening]") -> None:
    if not started.exception():
        started.result().end()


def _port_in(address: str) -> int:
    with suppress(ValueError):
        parts = urlsplit(address)
        return (parts.port or 0) if parts.hostname == HOST else 0
    return 0


def _door(port: int, others: list[int]) -> socket.socket | None:
    """A socket at a port; if somebody else has it, at any, or none if there are others already."""
    with suppress(OSError):
        return _bound(port)
    return None if others else _bound(0)


def _bound(port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a driver that was killed linger
        door.bind((HOST, port))
        door.listen()
    except OSError:
        door.close()
        raise
    return door
