"""The tools of agents, served over HTTP on loopback by the process that drives their runs: no agent starts a server.

The server has its own thread and event loop, so a caller never blocks the driver; it starts, and the SDK is imported,
when the first agent needs it. The next driver listens at the addresses that agents still have.
"""

import asyncio
import re
import secrets
import socket
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from treadle.errors import writing
from treadle.mcp.offer import Offer, ProjectMemory, ServedActivity, memory_in
from treadle.memory.store import Memory
from treadle.results.assignment import Assignment
from treadle.results.intake import read_file, replace_file
from treadle.results.tools import mcp_config_at

if TYPE_CHECKING:
    from treadle.mcp.endpoint import Listening


# The file with which a user's own agent reaches a project's memory while `treadle serve` runs.
#
# Address and token stay the same from one start to the next, so users copy them only once.

CONFIGURATION: Final = "mcp.json"
_SERVER: Final = "memory"
"""The server's name in configurations of the public server."""
_TOKEN: Final = re.compile(r"Bearer ([0-9a-f]{32})")


class MemoryAddress(NamedTuple):
    """The address of the memory, and its token."""

    address: str
    token: str


def last_address(local: Path) -> MemoryAddress:
    """Return the last address and token; an empty address and a new token if there is none or the file was changed."""
    data = read_file(local, CONFIGURATION)
    try:
        found = msgspec.json.decode(data, type=_File).mcpServers[_SERVER] if isinstance(data, bytes) else None
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        found = None
    token = _TOKEN.fullmatch(found.headers.get("Authorization", "")) if found else None
    return MemoryAddress(found.url, token[1]) if found and token else MemoryAddress("", secrets.token_hex(16))


def write_configuration(local: Path, reached: MemoryAddress) -> None:
    """Write the file, readable by its owner alone, unless it is up to date."""
    config: dict[str, Any] = mcp_config_at(*reached, server=_SERVER)
    data = msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n"
    if read_file(local, CONFIGURATION) != data:
        with writing(local / CONFIGURATION):
            replace_file(local, CONFIGURATION, data, mode=0o600)


class _Server(msgspec.Struct):
    url: str
    headers: dict[str, str]


class _File(msgspec.Struct):
    mcpServers: dict[str, _Server]


HOST: Final = "127.0.0.1"
OF_THE_PROJECT: Final = "/memory"
"""The place of a project's own graph; those of activities end with a digest."""


class HttpTools:
    """Serves the tools of all activities of this process; at the end of the context nothing listens any more."""

    def __init__(self) -> None:
        self._served: dict[str, Offer] = {}
        self._ports: list[int] = []
        self._thread: threading.Thread | None = None
        self._started: Future[Listening] = Future()
        self._memories: dict[Path, Memory] = {}

    def __enter__(self) -> Self:
        return self

    async def open(self, task: Assignment, env: Mapping[str, str], at: str = "") -> str:
        """Serve an activity, where it was served before (`at`) if that can be; the address, empty if it cannot be."""
        path = memory_in(env)
        return await self._open(path_of(task), ServedActivity(task, env, self._memory(path) if path else None), at)

    async def open_memory(self, path: Path, token: str, badge: str, at: str = "") -> str:
        """Serve a project's own graph to programs with the token, as `open` serves an activity."""
        return await self._open(OF_THE_PROJECT, ProjectMemory(self._memory(path), token, badge), at)

    def close(self, task: Assignment) -> None:
        """Stop serving an activity that has ended."""
        self._served.pop(path_of(task), None)

    def __exit__(self, *_: object) -> None:
        self._served.clear()
        if self._thread:
            self._started.add_done_callback(lambda it: None if it.exception() else it.result().end())
            self._thread.join(5.0)  # requests that are being answered may end
        for memory in self._memories.values():
            memory.close()

    async def _open(self, place: str, served: Offer, at: str) -> str:
        self._served[place] = served  # known before a client can ask for it
        try:
            listening = await self._running()
            return f"http://{HOST}:{self._port(listening, _port_in(at))}{place}"
        except (OSError, ImportError):
            self._served.pop(place, None)
            return ""

    def _memory(self, path: Path) -> Memory:
        """Return the memory in a file; all activities share it, so they wait for its lock and not for the file's."""
        return self._memories.setdefault(path, Memory(path))

    async def _running(self) -> "Listening":
        """Start the thread, and wait until it has imported everything: an agent's own SDK must not be imported at the
        same time.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=_serve, args=(self._served, self._started), daemon=True)
            self._started.set_running_or_notify_cancel()  # a waiting caller may be cancelled, the start may not
            self._thread.start()
        return await asyncio.wrap_future(self._started)

    def _port(self, listening: "Listening", wanted: int) -> int:
        """Listen at the wanted port if it is free, else at another; return the port."""
        if wanted in self._ports or (self._ports and not wanted):
            return wanted or self._ports[0]
        try:
            door = bind_socket(HOST, wanted)
        except OSError:
            if self._ports:
                return self._ports[0]
            door = bind_socket(HOST, 0)
        self._ports.append(door.getsockname()[1])
        listening.listen(door)
        return self._ports[-1]


def path_of(task: Assignment) -> str:
    """Return the path of an activity, which stays the same whichever process drives it."""
    name = re.sub(r"[^a-z0-9]+", "-", task.act.lower()).strip("-")[:40]
    return f"/{name}-{sha256(str(task.bundle).encode(errors='surrogateescape')).hexdigest()[:16]}"


def _serve(served: Mapping[str, Offer], started: "Future[Listening]") -> None:
    try:
        from treadle.mcp.endpoint import run_listener  # noqa: PLC0415 - the SDK takes its time to import

        asyncio.run(run_listener(served, started))
    except Exception as error:
        if started.done():
            raise
        started.set_exception(error)


def _port_in(address: str) -> int:
    with suppress(ValueError):
        parts = urlsplit(address)
        return (parts.port or 0) if parts.hostname == HOST else 0
    return 0


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a driver that was killed linger
        door.bind((host, port))
        door.listen()
    except OSError:
        door.close()
        raise
    return door
