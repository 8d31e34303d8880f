"""The thread that writes: many jobs to a transaction, and nobody suffers for another's fault."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from treadle.errors import PortError, TreadleError
from treadle.store.connection import connect, explained
from treadle.store.writer import Job, Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    db = connect(tmp_path / "x.db", create=True)
    db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    db.close()
    return tmp_path / "x.db"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(lambda: connect(path), lambda error: explained(path, error))
    yield writer
    writer.close()


def numbers(path: Path) -> list[int]:
    db = sqlite3.connect(path)
    found = [n for (n,) in db.execute("SELECT n FROM t ORDER BY n")]
    db.close()
    return found


def insert(number: int) -> Job[int]:
    def job(db: sqlite3.Connection) -> int:
        db.execute("INSERT INTO t VALUES (?)", (number,))
        return number

    return job


def together(writer: Writer, jobs: list[Job[int]]) -> list[int | BaseException]:
    """The results of jobs that certainly lie in the queue together."""
    gate = Event()

    async def all_() -> list[int | BaseException]:
        first = asyncio.ensure_future(writer.run(lambda _: gate.wait(10)))
        await asyncio.sleep(0)
        rest = [asyncio.ensure_future(writer.run(job)) for job in jobs]
        await asyncio.sleep(0)
        gate.set()
        await first
        return await asyncio.gather(*rest, return_exceptions=True)

    return asyncio.run(all_())


def test_what_waits_together_is_committed_together(writer: Writer, path: Path) -> None:
    assert together(writer, [insert(n) for n in range(20)]) == list(range(20))
    assert numbers(path) == list(range(20))
    assert writer.commits <= 2


def test_a_job_that_breaks_takes_nobody_with_it(writer: Writer, path: Path) -> None:
    def breaks(db: sqlite3.Connection) -> int:
        db.execute("INSERT INTO t VALUES (99)")
        db.execute("INSERT INTO nowhere VALUES (1)")
        return 0

    one, broken, two = together(writer, [insert(1), breaks, insert(2)])
    assert (one, two, numbers(path)) == (1, 2, [1, 2])
    assert isinstance(broken, PortError)
    assert "no such table: nowhere" in str(broken)


def test_a_job_that_refuses_takes_nobody_with_it(writer: Writer, path: Path) -> None:
    def refuses(_: sqlite3.Connection) -> int:
        raise TreadleError("no")

    one, refused, two = together(writer, [insert(1), refuses, insert(2)])
    assert (one, str(refused), two, numbers(path)) == (1, "no", 2, [1, 2])


def test_a_job_that_is_no_longer_awaited_is_done_all_the_same(writer: Writer, path: Path) -> None:
    async def gives_up() -> None:
        task = asyncio.ensure_future(writer.run(insert(1)))
        await asyncio.sleep(0)
        task.cancel()
        await writer.run(insert(2))

    asyncio.run(gives_up())
    assert numbers(path) == [1, 2]


def test_closing_finishes_what_was_handed_in(path: Path) -> None:
    writer = Writer(lambda: connect(path), lambda error: explained(path, error))

    async def hand_in() -> None:
        tasks = [asyncio.ensure_future(writer.run(insert(number))) for number in range(5)]
        await asyncio.sleep(0)
        assert not any(task.cancelled() for task in tasks)

    asyncio.run(hand_in())
    writer.close()
    assert numbers(path) == [0, 1, 2, 3, 4]
    writer.close()


def test_a_closed_writer_starts_again(writer: Writer, path: Path) -> None:
    asyncio.run(writer.run(insert(1)))
    writer.close()
    asyncio.run(writer.run(insert(2)))
    assert numbers(path) == [1, 2]
