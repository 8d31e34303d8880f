"""The one thread that writes: whatever is asked for in one turn of the event loop shares a transaction and its fsync.

So do later turns, as long as the thread is busy with an earlier one. Runs that share a commit go on together and ask
again in one turn, which keeps them together.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from treadle.errors import PortError

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
_FULL: Final = "PRAGMA synchronous = FULL"
_NORMAL: Final = "PRAGMA synchronous = NORMAL"
_ENOUGH: Final = 512
"""Jobs in one transaction; those of later turns wait for the next one."""


class _Order(NamedTuple):
    job: Job[Any]
    durable: bool
    done: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop


class Writer:
    """Runs jobs on its own connection, in order, several to a transaction.

    A job that refuses must do so before it writes anything; one that breaks takes nobody else with it.
    """

    def __init__(self, open_: Callable[[], sqlite3.Connection], explain: Callable[[sqlite3.Error], PortError]) -> None:
        self._open, self._explain = open_, explain
        self._gathered: list[_Order] = []
        self._turn: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[_Order] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.commits = 0

    async def run(self, job: Job[T], *, durable: bool = True) -> T:
        """What the job returns, once it is durable; one that need not survive the machine is only seen by everybody."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._gathered.append(_Order(job, durable, done, loop))
        if self._turn is not loop:  # later ones of the same turn go along
            self._turn = loop
            loop.call_soon(self._hand_in)
        return await done

    def close(self) -> None:
        """Finishes what was asked for, and stops."""
        self._hand_in()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _hand_in(self) -> None:
        self._turn = None
        if not self._gathered:
            return
        orders, self._gathered = self._gathered, []
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="treadle-store", daemon=True)
            self._thread.start()
        self._queue.put(orders)

    def _work(self) -> None:
        db = self._open()
        try:
            while (orders := self._next()) is not None:
                self._settle(orders, self._together(db, orders))
        finally:
            db.close()

    def _next(self) -> list[_Order] | None:
        orders = self._queue.get()
        while orders is not None and len(orders) < _ENOUGH and not self._queue.empty():
            more = self._queue.get()
            if more is None:
                self._queue.put(None)
                break
            orders += more
        return orders

    def _together(self, db: sqlite3.Connection, orders: list[_Order]) -> list[Any]:
        """Each job's result, or the exception it ended with."""
        try:
            db.execute(_FULL if any(order.durable for order in orders) else _NORMAL)
            db.execute("BEGIN IMMEDIATE")
            results = [_attempt(order.job, db) for order in orders]
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            if len(orders) > 1:
                return [result for order in orders for result in self._together(db, [order])]
            return [self._explain(error)]
        self.commits += 1
        return results

    def _settle(self, orders: list[_Order], results: list[Any]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for order, result in zip(orders, results, strict=True):
            by_loop.setdefault(order.loop, []).append((order.done, result))
        for loop, settled in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, settled)


def _attempt(job: Job[Any], db: sqlite3.Connection) -> Any:
    try:
        return job(db)
    except sqlite3.Error:
        raise
    except Exception as error:
        return error


def _tell(settled: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for done, result in settled:
        if done.cancelled():
            continue
        if isinstance(result, BaseException):
            done.set_exception(result)
        else:
            done.set_result(result)
