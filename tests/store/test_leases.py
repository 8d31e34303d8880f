"""One writer per run: taking over needs a dead owner, or one of another machine that has gone silent."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.refusals import refused
from treadle.errors import PortError
from treadle.store.connection import migrate
from treadle.store.leases import (
    Owner,
    claim_lease,
    is_alive,
    parse_owner,
    release_lease,
    renew_lease,
    this_process,
)
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


def test_a_free_run_can_be_claimed(db: sqlite3.Connection) -> None:
    assert claim_lease(db, "r", NOW, NOW + 60) == Lease("r", 1)
    assert db.execute("SELECT owner, epoch, lease_until FROM runs").fetchone() == (str(this_process()), 1, NOW + 60)


def test_a_living_owner_keeps_it_for_as_long_as_it_lives(db: sqlite3.Connection) -> None:
    held_by(db, this_process(), until=0)
    with refused("run.driven", "run r;", f"process {this_process().pid}"):
        claim_lease(db, "r", NOW, NOW + 60)


@pytest.mark.parametrize("changes", [{"start": "1"}, {"boot": "x"}, {"pid": 2**22 + 1}])
def test_a_dead_owner_is_succeeded_at_once(changes: dict[str, object], db: sqlite3.Connection) -> None:
    held_by(db, this_process()._replace(**changes), until=NOW + 10**9)  # type: ignore[arg-type]
    assert claim_lease(db, "r", NOW, NOW + 60) == Lease("r", 8)


def test_an_owner_on_another_machine_is_succeeded_when_it_falls_silent(db: sqlite3.Connection) -> None:
    held_by(db, this_process()._replace(host="elsewhere"), until=NOW)
    with refused("run.driven", " on elsewhere"):
        claim_lease(db, "r", NOW - 1, NOW + 60)
    assert claim_lease(db, "r", NOW, NOW + 60) == Lease("r", 8)


def test_an_older_lease_can_neither_renew_nor_release(db: sqlite3.Connection) -> None:
    old = claim_lease(db, "r", NOW, NOW + 60)
    release_lease(db, old)
    new = claim_lease(db, "r", NOW, NOW + 60)
    renew_lease(db, old, NOW + 999)
    release_lease(db, old)
    assert db.execute("SELECT owner, lease_until FROM runs").fetchone() == (str(this_process()), NOW + 60)
    renew_lease(db, new, NOW + 999)
    assert db.execute("SELECT lease_until FROM runs").fetchone() == (NOW + 999,)
    release_lease(db, new)
    assert db.execute("SELECT owner, lease_until FROM runs").fetchone() == ("", 0)


def test_a_lease_of_an_unknown_run_is_refused(db: sqlite3.Connection) -> None:
    with pytest.raises(PortError) as failure:
        claim_lease(db, "x", NOW, NOW)
    assert failure.value.code == "run.unknown"


# A dead process never looks alive, whoever has its number now.

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")


@pytest.fixture
def child() -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def owner_of(pid: int) -> Owner:
    """The owner that a process would call itself."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return this_process()._replace(pid=pid, start=fields[19])


def test_this_process_is_alive_and_its_text_parses_back() -> None:
    assert is_alive(this_process()) is True
    assert parse_owner(str(this_process())) == this_process()


def test_another_process_is_alive_until_it_ends(child: "subprocess.Popen[bytes]") -> None:
    owner = owner_of(child.pid)
    assert is_alive(owner) is True
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(owner) is False, "a zombie is dead"
    child.wait()
    assert is_alive(owner) is False


@pytest.mark.parametrize(
    "changes",
    [{"start": "1"}, {"start": ""}, {"boot": "another"}, {"pid": 2**22 + 1, "start": "1"}],
    ids=["a recycled number", "no start", "before a reboot", "no such process"],
)
def test_a_recycled_or_missing_process_is_dead(changes: dict[str, object]) -> None:
    assert is_alive(this_process()._replace(**changes)) is False  # type: ignore[arg-type]


def test_the_owner_on_another_machine_is_neither_alive_nor_dead() -> None:
    assert is_alive(this_process()._replace(host="elsewhere")) is None


@pytest.mark.parametrize("text", ["", "a|b|c", "a|b|x|d", "a|b|-1|d", "a|b|1|d|e"])
def test_a_malformed_owner_is_none(text: str) -> None:
    assert parse_owner(text) is None
