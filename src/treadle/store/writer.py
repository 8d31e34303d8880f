"""The one thread that writes to the store: a group commit.

Theory of operation. A commit costs an fsync, so jobs share them. `run` collects the jobs of one turn of the event loop;
at the end of the turn, `_submit` hands them to the thread as one list. The thread adds the lists of later turns that
have come while it was busy, and `_run_together` performs all of them in one transaction. If SQLite reports an error,
the transaction is rolled back and each job runs again in a transaction of its own, so that a job that breaks does not
take the others with it. `_settle` then wakes each event loop once for all of its results: runs that share a commit go
on together and write again in one turn, which keeps them together.
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
    """A thread that runs jobs on its own connection, in order, several to a transaction.

    A job must raise a refusal before its first write; a job that breaks does not affect the others.
    """

    def __init__(self, open_: Callable[[], sqlite3.Connection], explain: Callable[[sqlite3.Error], PortError]) -> None:
        self._open, self._explain = open_, explain
        self._orders: list[_Order] = []
        self._submitting: asyncio.AbstractEventLoop | None = None
        """The event loop that will hand over the orders of its present turn."""
        self._queue: SimpleQueue[list[_Order] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.commits = 0

    async def run(self, job: Job[T], *, durable: bool = True) -> T:
        """Return the job's result once it is durable; without `durable`, once other connections see it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._orders.append(_Order(job, durable, done, loop))
        if self._submitting is not loop:  # the first order of this turn; later ones go along
            self._submitting = loop
            loop.call_soon(self._submit)
        return await done

    def close(self) -> None:
        """Finish the pending jobs, and stop."""
        self._submit()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _submit(self) -> None:
        """Hand the orders of a turn over to the thread, as one list."""
        self._submitting = None
        if not self._orders:
            return
        orders, self._orders = self._orders, []
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="treadle-store", daemon=True)
            self._thread.start()
        self._queue.put(orders)

    def _work(self) -> None:
        """Take lists of orders from the queue until it ends, several to a transaction (the thread)."""
        db = self._open()
        try:
            while (orders := self._queue.get()) is not None:
                while len(orders) < _ENOUGH and not self._queue.empty():
                    more = self._queue.get()
                    if more is None:
                        self._queue.put(None)
                        break
                    orders += more
                self._settle(orders, self._run_together(db, orders))
        finally:
            db.close()

    def _run_together(self, db: sqlite3.Connection, orders: list[_Order]) -> list[Any]:
        """Run jobs in one transaction; return the result of each, or the exception it ended with."""
        try:
            # Before BEGIN: SQLite does not change it inside a transaction.
            db.execute(_FULL if any(order.durable for order in orders) else _NORMAL)
            db.execute("BEGIN IMMEDIATE")
            results: list[Any] = []
            for order in orders:
                try:
                    results.append(order.job(db))
                except sqlite3.Error:
                    raise
                except Exception as error:  # noqa: BLE001, RUF100 - a refusal before the first write: its own result
                    results.append(error)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            if len(orders) > 1:  # each by itself, so that one that breaks does not take the others with it
                return [result for order in orders for result in self._run_together(db, [order])]
            return [self._explain(error)]
        self.commits += 1
        return results

    def _settle(self, orders: list[_Order], results: list[Any]) -> None:
        """Wake each event loop once: its runs then go on together, and write again in one turn."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for order, result in zip(orders, results, strict=True):
            by_loop.setdefault(order.loop, []).append((order.done, result))

        def wake(settled: list[tuple["asyncio.Future[Any]", Any]]) -> None:
            for done, result in settled:
                if done.cancelled():
                    continue
                if isinstance(result, BaseException):
                    done.set_exception(result)
                else:
                    done.set_result(result)

        for loop, settled in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake, settled)
