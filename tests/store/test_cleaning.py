"""What may be forgotten, and what never is."""

import asyncio
import sqlite3
import zlib
from pathlib import Path

import pytest

from tests.refusals import refused
from tests.sql import sql
from tests.store.runs import NOW, PROTOCOL, entries, record, start
from treadle.errors import PortError
from treadle.kernel.events import Envelope, Event, Exited, Signalled
from treadle.kernel.state import State
from treadle.protocol.digest import digest
from treadle.store.batch import LogBatch
from treadle.store.leases import this_process
from treadle.store.sqlite import Store

WORK = "root:work#1.1"


def add(store: Store, run: str, *, payload: object = None, ends: bool = True) -> str:
    """A run that tried once, with a payload that refers to another; the reference of the first."""
    store.create(record(run), PROTOCOL, start(run))
    inner = store.payloads.put({"inner": payload})  # type: ignore[dict-item]
    ref = store.payloads.put({"report": inner})
    events: list[Event] = [
        start(run),
        Exited(id="e", ts=NOW, act=WORK, envelope=Envelope("Retry", payload_ref=ref)),
        *([Signalled(id="s", ts=NOW, inst="root", name="abort")] if ends else []),
    ]
    rows, state = entries(State(), events)

    async def append() -> None:
        lease = await store.take_lease(run, NOW)
        taken = [one.n for one in store.posted(run)]
        await store.append(lease, LogBatch(entries=rows, state=state, taken=taken, snapshot=True), NOW)
        await store.release(lease)

    asyncio.run(append())
    return ref


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.db", create=True)


def count(store: Store, table: str) -> int:
    [(number,)] = sql(store.path, f"SELECT count(*) FROM {table}")
    return int(number)


def test_a_run_that_has_ended_goes_with_everything_it_had(store: Store) -> None:
    add(store, "old", payload="x" * 200_000)
    sql(store.path, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = store.path.stat().st_size
    freed = store.clean(["old"])
    assert (freed.runs, freed.events, freed.payloads, freed.is_busy) == (("old",), 3, 2, False)
    assert freed.bytes > 200_000
    for table in ("runs", "events", "snapshots", "outbox", "timers", "inbox", "payloads", "chunks", "protocols"):
        assert count(store, table) == 0, table
    assert store.path.stat().st_size < before
    store.close()


def test_an_unfinished_run_is_never_touched(store: Store) -> None:
    add(store, "old", ends=False)
    freed = store.clean(["old", "never was"])
    assert (freed.runs, freed.events, freed.payloads) == ((), 0, 0)
    assert store.audit("old").events == 2
    store.close()


def test_payloads_that_another_run_needs_are_kept_at_any_depth(store: Store) -> None:
    shared = add(store, "old", payload="shared")
    assert add(store, "young", payload="shared", ends=False) == shared
    lonely = add(store, "lone", payload="lonely")
    assert store.clean(["old", "lone"]).payloads == 2
    assert store.payloads.get(store.payloads.get(shared)["report"]) == {"inner": "shared"}  # type: ignore[index,call-overload,arg-type]
    with pytest.raises(PortError, match="missing"):
        store.payloads.get(lonely)
    assert store.audit("young").payloads == 1
    assert store.protocol(digest(PROTOCOL)) == PROTOCOL
    store.close()


def test_a_dry_cleaning_removes_no_run(store: Store) -> None:
    add(store, "old", payload="x")
    dry = store.clean(["old"], dry=True)
    assert store.audit("old").events == 3
    assert store.clean(["old"]) == dry
    store.close()


def test_payloads_are_kept_while_a_run_is_driven(store: Store) -> None:
    add(store, "old", payload="x")
    add(store, "young", ends=False)
    asyncio.run(store.take_lease("young", NOW))
    freed = store.clean(["old"])
    assert (freed.runs, freed.payloads, freed.is_busy) == (("old",), 0, True)
    assert count(store, "payloads") == 4
    store.close()


@pytest.mark.parametrize("host", ["", "elsewhere"])
def test_a_run_with_an_owner_is_not_removed(host: str, store: Store) -> None:
    add(store, "old")
    sql(store.path, "UPDATE runs SET owner = ?", str(this_process()._replace(host=host or this_process().host)))
    assert store.clean(["old"]).runs == ()
    store.close()


def test_damage_stops_the_cleaning_before_a_run_is_removed(store: Store) -> None:
    add(store, "old")
    add(store, "young", ends=False)
    sql(store.path, "UPDATE snapshots SET state = ? WHERE run = 'young'", zlib.compress(b"{}"))
    with refused("store.damaged", "run young: "):
        store.clean(["old"])
    assert (count(store, "runs"), store.audit("old").events) == (2, 3)
    store.close()


def test_a_reader_does_not_block_cleaning(store: Store) -> None:
    add(store, "old")
    reader = sqlite3.connect(store.path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchone()
    assert store.clean(["old"]).runs == ("old",)
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (3,)
    reader.close()
    store.close()
