"""The shape of the store only ever grows, and what an older Treadle wrote is read for ever."""

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from treadle.errors import PortError
from treadle.store.migrations import APPLICATION, MIGRATIONS, VERSION, migrate, version
from treadle.store.sqlite import Store

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
    (ref,) = [ref for ref, size in store._db.execute("SELECT ref, size FROM payloads") if size > 64 * 1024]
    assert store.payloads.get(ref) == {"long": "x" * 70_000}
    store.close()
    db = sqlite3.connect(path)
    assert version(db) == VERSION
    db.close()


def test_a_new_store_has_the_newest_shape(tmp_path: Path) -> None:
    Store(tmp_path / "store.db", create=True).close()
    db = sqlite3.connect(tmp_path / "store.db")
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    assert version(db) == VERSION
    db.close()


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.store.migrations.MIGRATIONS", ("CREATE TABLE a (b); CREATE TABLE a (b)",))
    db = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(db)
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    assert version(db) == 0
    db.close()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    Store(tmp_path / "store.db", create=True).close()
    before = (tmp_path / "store.db").read_bytes()
    Store(tmp_path / "store.db", create=True).close()
    assert (tmp_path / "store.db").read_bytes() == before


def test_an_empty_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    for reading in (False, True):
        with pytest.raises(PortError, match="is empty; remove it, and start again"):
            Store(tmp_path / "store.db", reading=reading)
