"""What failures of SQLite mean to a person."""

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from tests.refusals import refused
from tests.sql import sql
from treadle.errors import PortError
from treadle.store.connection import (
    APPLICATION,
    MIGRATIONS,
    VERSION,
    connect,
    explain_failure,
    explaining_failures,
    glance,
    migrate,
    store_version,
    transaction,
)
from treadle.store.sqlite import Store

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
def test_every_failure_names_the_store_and_a_repair(code: int, said: str, retryable: bool) -> None:
    error = sqlite3.OperationalError("oops")
    error.sqlite_errorcode = code
    told = explain_failure(Path("a/store.db"), error)
    assert str(told).startswith(f"a/store.db: {said}")
    assert told.retryable is retryable


def test_other_errors_pass_through() -> None:
    with pytest.raises(KeyError), explaining_failures(Path("x")):
        raise KeyError


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for reading in (False, True):
        with pytest.raises(PortError, match="cannot be opened"), explaining_failures(tmp_path / "none.db"):
            connect(tmp_path / "none.db", reading=reading)
    assert list(tmp_path.iterdir()) == []


def test_a_store_path_may_contain_url_characters(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=ro&b#c %41.db"
    connect(path, create=True).close()
    assert path.exists()


def test_a_broken_transaction_is_rolled_back(tmp_path: Path) -> None:
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


def test_reads_inside_a_glance_see_one_snapshot(tmp_path: Path) -> None:
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
    with pytest.raises(PortError, match="cannot be written"), explaining_failures(tmp_path / "x.db"):
        reader.execute("INSERT INTO t VALUES (1)")
    reader.close()
    db.close()


# The shape of the store only ever grows, and what an older Treadle wrote is read for ever.

GOLDEN = Path(__file__).parent / "golden"
DIGESTS = ("90481ee8c810d91c", "0c25a6a8a9e83081")
"""How each migration begins its hash. A released one is never changed: add another below it, and a golden store."""


def golden(number: int, folder: Path) -> Path:
    path = folder / "store.db"
    db = sqlite3.connect(path)
    db.executescript((GOLDEN / f"store-{number}.sql").read_text(encoding="utf-8"))
    db.close()
    return path


def test_a_migration_is_never_changed() -> None:
    found = tuple(sha256(text.encode()).hexdigest()[: len(DIGESTS[0])] for text in MIGRATIONS)
    assert found[: len(DIGESTS)] == DIGESTS
    assert len(found) == len(DIGESTS), "give the new migration its digest and a golden store"


def test_there_is_a_golden_store_for_every_version() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == [f"store-{it}.sql" for it in range(1, VERSION + 1)]


@pytest.mark.parametrize("number", range(1, VERSION + 1))
def test_a_store_of_any_version_is_read_for_ever(number: int, tmp_path: Path) -> None:
    path = golden(number, tmp_path)
    store = Store(path)
    assert [(run.id, run.seq, run.outcome, run.settings) for run in store.runs()] == [("r1", 4, "", {"level": 2})]
    history = store.load("r1")
    assert (history.state.seq, sorted(history.state.asks), history.since_snapshot) == (4, ["root:human#1.1"], 2)
    audit = store.audit("r1")
    assert (audit.events, audit.snapshots, audit.payloads) == (4, 1, 1)
    assert [stray.detail for stray in store.strays("r1")] == ["too late"]
    assert [len(one.body) > 0 for one in store.posted("r1")] == [True]
    (ref,) = [ref for ref, size in sql(store.path, "SELECT ref, size FROM payloads") if size > 64 * 1024]
    assert store.payloads.get(ref) == {"long": "x" * 70_000}
    store.close()
    db = sqlite3.connect(path)
    assert store_version(db) == VERSION
    db.close()


def test_a_new_store_has_the_newest_shape(tmp_path: Path) -> None:
    Store(tmp_path / "store.db", create=True).close()
    db = sqlite3.connect(tmp_path / "store.db")
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert store_version(db) == VERSION
    db.close()


def test_a_failed_migration_leaves_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.store.connection.MIGRATIONS", ("CREATE TABLE a (b); CREATE TABLE a (b)",))
    db = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(db)
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    assert store_version(db) == 0
    db.close()


def test_opening_again_does_not_change_the_file(tmp_path: Path) -> None:
    Store(tmp_path / "store.db", create=True).close()
    before = (tmp_path / "store.db").read_bytes()
    Store(tmp_path / "store.db", create=True).close()
    assert (tmp_path / "store.db").read_bytes() == before


def test_an_empty_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    for reading in (False, True):
        with refused("store.damaged", "is empty"):
            Store(tmp_path / "store.db", reading=reading)
