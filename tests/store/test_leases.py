"""One writer per run: taking over needs a dead owner, or one of another machine that has gone silent."""

import sqlite3
from collections.abc import Iterator

import pytest

from treadle.errors import PortError
from treadle.store.leases import claim, release, renew
from treadle.store.migrations import migrate
from treadle.store.owner import me
from treadle.store.records import Lease

NOW = 1_000_000


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    values = ("r", "r", "p", "{}", 0, 0)
    db.execute("INSERT INTO runs (run, name, protocol, settings, created, changed) VALUES (?, ?, ?, ?, ?, ?)", values)
    yield db
    db.close()


def held_by(db: sqlite3.Connection, owner: object, until: int = NOW + 1) -> None:
    db.execute("UPDATE runs SET owner = ?, epoch = 7, lease_until = ?", (str(owner), until))


def test_a_free_run_is_anybodys(db: sqlite3.Connection) -> None:
    assert claim(db, "r", NOW, NOW + 60) == Lease("r", 1)
    assert db.execute("SELECT owner, epoch, lease_until FROM runs").fetchone() == (str(me()), 1, NOW + 60)


def test_a_living_owner_keeps_it_for_as_long_as_it_lives(db: sqlite3.Connection) -> None:
    held_by(db, me(), until=0)
    with pytest.raises(PortError, match=rf"run r is driven by process {me().pid}; wait until it ends"):
        claim(db, "r", NOW, NOW + 60)


@pytest.mark.parametrize("changes", [{"start": "1"}, {"boot": "x"}, {"pid": 2**22 + 1}])
def test_a_dead_owner_is_succeeded_at_once(changes: dict[str, object], db: sqlite3.Connection) -> None:
    held_by(db, me()._replace(**changes), until=NOW + 10**9)  # type: ignore[arg-type]
    assert claim(db, "r", NOW, NOW + 60) == Lease("r", 8)


def test_an_owner_on_another_machine_is_succeeded_when_it_falls_silent(db: sqlite3.Connection) -> None:
    held_by(db, me()._replace(host="elsewhere"), until=NOW)
    with pytest.raises(PortError, match=r"is driven by process \d+ on elsewhere"):
        claim(db, "r", NOW - 1, NOW + 60)
    assert claim(db, "r", NOW, NOW + 60) == Lease("r", 8)


def test_an_older_lease_can_neither_renew_nor_release(db: sqlite3.Connection) -> None:
    old = claim(db, "r", NOW, NOW + 60)
    release(db, old)
    new = claim(db, "r", NOW, NOW + 60)
    renew(db, old, NOW + 999)
    release(db, old)
    assert db.execute("SELECT owner, lease_until FROM runs").fetchone() == (str(me()), NOW + 60)
    renew(db, new, NOW + 999)
    assert db.execute("SELECT lease_until FROM runs").fetchone() == (NOW + 999,)
    release(db, new)
    assert db.execute("SELECT owner, lease_until FROM runs").fetchone() == ("", 0)


def test_there_must_be_such_a_run(db: sqlite3.Connection) -> None:
    with pytest.raises(PortError, match="there is no run x"):
        claim(db, "x", NOW, NOW)
