"""What a stretch of work took: seconds, and fsyncs where they are counted."""

import time
from types import TracebackType
from typing import Self

import msgspec

from bench.fsyncs import fsyncs


class Taken(msgspec.Struct, frozen=True):
    """What a stretch of work has taken."""

    seconds: float
    fsyncs: int | None


class Meter:
    """Runs while its block does."""

    taken: Taken

    def __enter__(self) -> Self:
        self._before, self._start = fsyncs(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds, now = time.perf_counter() - self._start, fsyncs()
        self.taken = Taken(seconds, None if now is None or self._before is None else now - self._before)
