"""What failures of SQLite mean to a person."""

import sqlite3
from pathlib import Path

import pytest

from treadle.errors import PortError
from treadle.store.connection import connect, explained, glance, spoken, transaction

MEANINGS = [
    (sqlite3.SQLITE_BUSY, "another process keeps the store busy; try again", True),
    (sqlite3.SQLITE_FULL, "the disk is full; the last event was not stored. Make room, then `treadle resume`", True),
    (sqlite3.SQLITE_CORRUPT, "the store is damaged, and nothing was written to it", False),
    (sqlite3.SQLITE_NOTADB, "the store is damaged, and nothing was written to it", False),
    (sqlite3.SQLITE_READONLY, "the store cannot be written; make the file and its folder writable", False),
    (sqlite3.SQLITE_CANTOPEN, "the store cannot be opened; is the folder there", False),
    (sqlite3.SQLITE_IOERR | (3 << 8), "reading or writing the store failed; is the disk full", False),
    (sqlite3.SQLITE_MISUSE, "the store failed: oops", False),
]


@pytest.mark.parametrize(("code", "said", "retryable"), MEANINGS)
def test_every_failure_says_where_and_what_to_do(code: int, said: str, retryable: bool) -> None:
    error = sqlite3.OperationalError("oops")
    error.sqlite_errorcode = code
    told = explained(Path("a/store.db"), error)
    assert str(told).startswith(f"a/store.db: {said}")
    assert told.retryable is retryable


def test_what_is_no_failure_of_sqlite_passes() -> None:
    with pytest.raises(KeyError), spoken(Path("x")):
        raise KeyError


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for reading in (False, True):
        with pytest.raises(PortError, match="cannot be opened"), spoken(tmp_path / "none.db"):
            connect(tmp_path / "none.db", reading=reading)
    assert list(tmp_path.iterdir()) == []


def test_odd_names_are_just_names(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro&b#c %41.db"
    connect(path, create=True).close()
    assert path.exists()


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    db = connect(tmp_path / "x.db", create=True)
    db.execute("CREATE TABLE t (n)")
    with pytest.raises(sqlite3.OperationalError, match="no such table"), transaction(db):
        _insert_and_break(db)
    with transaction(db):
        db.execute("INSERT INTO t VALUES (2)")
    assert db.execute("SELECT n FROM t").fetchall() == [(2,)]
    db.close()


def _insert_and_break(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("INSERT INTO nowhere VALUES (1)")


def test_a_glance_sees_one_moment(tmp_path: Path) -> None:
    db = connect(tmp_path / "x.db", create=True)
    db.execute("CREATE TABLE t (n)")
    reader = connect(tmp_path / "x.db", reading=True)
    with glance(reader):
        assert reader.execute("SELECT count(*) FROM t").fetchone() == (0,)
        db.execute("INSERT INTO t VALUES (1)")
        assert reader.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert reader.execute("SELECT count(*) FROM t").fetchone() == (1,)
    reader.close()
    db.close()


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    db = connect(tmp_path / "x.db", create=True)
    db.execute("CREATE TABLE t (n)")
    reader = connect(tmp_path / "x.db", reading=True)
    with pytest.raises(PortError, match="cannot be written"), spoken(tmp_path / "x.db"):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()
    db.close()
