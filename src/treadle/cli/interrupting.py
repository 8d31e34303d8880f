"""Ctrl-C: the first one ends in order, the second one at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from treadle.cli.guard import INTERRUPTED, complain

T = TypeVar("T")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_CURSOR: Final = "\033[?25h"


def run_interruptibly(work: Coroutine[Any, Any, T], advice: str) -> T | None:
    """The result of the work; None if it was interrupted and has ended in order."""

    async def interruptible() -> T | None:
        task = asyncio.ensure_future(work)
        with _listening(task, advice) as interrupted:
            try:
                return await task
            except asyncio.CancelledError:
                if not interrupted():
                    raise
                return None

    return asyncio.run(interruptible())


@contextmanager
def _listening(task: "asyncio.Future[T]", advice: str) -> Iterator[Callable[[], bool]]:
    loop, count = asyncio.get_running_loop(), 0

    def interrupt() -> None:
        nonlocal count
        count += 1
        if count > 1:
            _at_once()
        complain(advice)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt)
    try:
        yield lambda: count > 0
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def _at_once() -> None:
    """End without a word to anybody; agents are found again by whoever resumes the run."""
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout.write(_CURSOR)
        sys.stdout.flush()
    os._exit(INTERRUPTED)
