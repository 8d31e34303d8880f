"""The line to the witness in the test process: open files that it inherits, or a pipe by name where none cross over."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

VARIABLE: Final = "TREADLE_WITNESS"
THROUGH_A_PIPE: Final = "the witness reports from inside of a container, through a pipe by name"


class Line:
    """Where we hear the witness, and what its process is told about where to speak."""

    def __init__(self, reading: int, writing: int, address: str, fds: tuple[int, ...] = ()) -> None:
        self.reading = reading
        """Whoever listens closes it."""
        self.address = address
        self.fds = fds
        """What the process has to inherit."""
        self._writing: int | None = writing

    def hang_up(self) -> None:
        """From now on the line ends with the last process of the witness that holds it."""
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None


@contextmanager
def witness_line(order: bytes, scratch: Path, *, is_apart: bool) -> Iterator[Line]:
    """A line with the order at its end."""
    with tempfile.TemporaryFile() as file:
        line = _by_name(order, scratch / "line") if is_apart else _inherited(order, file)
        try:
            yield line
        finally:
            line.hang_up()


def _inherited(order: bytes, file: IO[bytes]) -> Line:
    file.write(order)
    file.seek(0)
    reading, writing = os.pipe()
    return Line(reading, writing, f"{file.fileno()}:{writing}", (file.fileno(), writing))


def _by_name(order: bytes, folder: Path) -> Line:
    """The witness takes both names away before any code of the project is loaded, so that nobody else finds them."""
    folder.mkdir(mode=0o700)
    (folder / "order").write_bytes(order)
    os.mkfifo(folder / "report", 0o600)
    reading = os.open(folder / "report", os.O_RDONLY | os.O_NONBLOCK)
    return Line(reading, os.open(folder / "report", os.O_WRONLY), str(folder))
