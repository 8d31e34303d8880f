"""How long a server that is a process of its own goes on: until a signal, or until whoever started it is gone."""

import os
import select
import signal
import socket
import stat
import sys
from types import TracebackType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class UntilTold:
    """Takes the signals that end a process, for as long as it is entered; for the main thread."""

    def __enter__(self) -> "UntilTold":
        self._told, self._telling = socket.socketpair()
        self._before = {number: signal.signal(number, lambda *_: self.tell()) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._told.close()
        self._telling.close()

    def tell(self) -> None:
        """End it, from any thread."""
        self._telling.send(b".")

    def wait(self) -> None:
        """Until it is told to end, or the pipe that is its standard input closes."""
        told, pipe = self._told.fileno(), _pipe()
        while True:
            ready, _, _ = select.select([told, *pipe], [], [])
            if told in ready or not os.read(pipe[0], 4096):
                return


def _pipe() -> list[int]:
    """Standard input, if somebody is at its other end; a terminal has Ctrl-C, and a file says nothing."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return []
    return [sys.stdin.fileno()] if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) else []
