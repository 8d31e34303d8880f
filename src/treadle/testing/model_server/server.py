"""The server: one port on loopback for all wire formats, a thread for each connection."""

import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Final

from treadle.errors import PortError
from treadle.testing.model_server.connection import Connection
from treadle.testing.model_server.exchange import Exchange, Welcome
from treadle.testing.model_server.playing import Player
from treadle.testing.model_server.script import Library

HOST: Final = "127.0.0.1"


class ModelServer:
    """Plays scripts on loopback, from when it is made until it is closed."""

    def __init__(self, scripts: Library, port: int = 0, listener: Callable[[Exchange], None] | None = None) -> None:
        try:
            self._http = Http((HOST, port), Player(scripts), listener)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PortError(
                f"port {port} of {HOST} cannot be listened on: {why}; choose another, or 0 for any",
                code="listen.unavailable",
            ) from None
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
        """What was asked so far, in the order of the answers; nothing if a listener takes it."""
        return list(self._http.exchanges)

    def close(self) -> None:
        """End every connection, also those that hang."""
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


class Http(ThreadingHTTPServer):
    """Knows its connections, so that none outlives it."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], player: Player, listener: Callable[[Exchange], None] | None) -> None:
        self.player, self.listener = player, listener
        self.exchanges: list[Exchange] = []
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(address, Connection)

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

    def keep(self, exchange: Exchange) -> None:
        with self._lock:
            (self.listener or self.exchanges.append)(exchange)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may go at any time."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)
