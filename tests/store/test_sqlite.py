"""The store as a whole: what is appended is there, in one piece or not at all."""

import asyncio
from pathlib import Path

import pytest

from tests.store.runs import NOW, PROTOCOL, begin, entries, record, says, start, store_with_run
from treadle.errors import PortError, TreadleError
from treadle.kernel.events import Signalled
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.protocol.digest import digest
from treadle.store.batch import Batch
from treadle.store.records import Lease, Stray
from treadle.store.sqlite import Store

WORK = "root:work#1.1"


def test_a_new_run_waits_with_its_first_event(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    assert [decode_event(one.body) for one in store.posted("r1")] == [start()]
    assert store.run("r1").settings == {"level": 2}
    assert store.protocol(digest(PROTOCOL)) == PROTOCOL


def test_a_turn_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    state = begin(store, extra=(says(WORK, "Retry", 1),))
    store.close()
    again = Store(tmp_path / "store.db")
    history = again.load("r1")
    assert (history.state, history.protocol, history.since_snapshot) == (state, PROTOCOL, 2)
    assert again.posted("r1") == []
    assert (again.run("r1").seq, again.run("r1").acts) == (2, 1)


def test_a_project_has_one_key_and_no_other_project_has_it(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    key = store.key()
    assert (len(key), store.key()) == (32, key)
    store.close()
    (tmp_path / "other").mkdir()
    assert Store(tmp_path / "store.db").key() == key != Store(tmp_path / "other" / "store.db", create=True).key()


def test_the_outbox_has_what_is_open_and_nothing_else(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    begin(store, extra=(says(WORK, "Retry", 1),))
    assert list(store.unfinished("r1")) == ["root:work#1.2"]


def test_timers_follow_the_state(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    state = begin(store, extra=(says(WORK, "Retry", 1),))
    assert dict(store.timers("r1")) == dict(state.timers.items())


def test_a_snapshot_shortens_the_way(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start(), says(WORK, "Retry", 1)])
    asyncio.run(_append(store, Batch(entries=rows, state=state, snapshot=True)))
    more, state = entries(state, [says("root:work#1.2", "Stuck", 2)], rows[-1].chain)
    asyncio.run(_append(store, Batch(entries=more, state=state)))
    history = store.load("r1")
    assert (history.state, history.since_snapshot, history.chain) == (state, 1, more[-1].chain)


def test_an_older_lease_writes_nothing(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start()])

    async def race() -> None:
        first = await store.claim("r1", NOW)
        await store.release(first)
        await store.claim("r1", NOW)
        with pytest.raises(PortError, match="another process has taken over run r1"):
            await store.append(first, Batch(entries=rows, state=state), NOW)

    asyncio.run(race())
    assert store.run("r1").seq == 0
    assert list(store.events("r1")) == []


def test_a_gap_in_the_log_is_refused(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start(), says(WORK, "Retry", 1)])

    async def skip() -> None:
        lease = await store.claim("r1", NOW)
        with pytest.raises(PortError, match="taken over"):
            await store.append(lease, Batch(entries=rows[1:], state=state), NOW)

    asyncio.run(skip())


def test_two_drivers_of_one_run_are_refused_also_in_one_process(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)

    async def twice() -> None:
        await store.claim("r1", NOW)
        with pytest.raises(PortError, match=r"run r1 is driven by process \d+"):
            await store.claim("r1", NOW)

    asyncio.run(twice())


def test_a_payload_of_a_refused_turn_is_not_lost(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    ref = store.payloads.put({"a": 1})
    rows, state = entries(State(), [start()])

    async def refused() -> None:
        with pytest.raises(PortError):
            await store.append(Lease("r1", 99), Batch(entries=rows, state=state), NOW)

    asyncio.run(refused())
    assert store.payloads.get(ref) == {"a": 1}
    asyncio.run(_append(store, Batch(entries=rows, state=state)))
    assert Store(tmp_path / "store.db").payloads.get(ref) == {"a": 1}


def test_what_is_posted_twice_is_there_once(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    signal = Signalled(id="s1", ts=NOW, inst="root", name="pause")
    store.post("r1", signal)
    store.post("r1", signal)
    assert [decode_event(one.body) for one in store.posted("r1")] == [start(), signal]


def test_strays_are_kept_in_order(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    strays = [Stray(at=NOW, act=WORK, what="answer", detail=text) for text in ("first", "second")]
    asyncio.run(_append(store, Batch(entries=(), state=State(), strays=strays)))
    assert store.strays("r1") == strays


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    with pytest.raises(TreadleError, match="there is a run r1 already"):
        store.create(record(), PROTOCOL, start())


def test_an_unknown_run_gets_a_suggestion(tmp_path: Path) -> None:
    store = store_with_run(tmp_path, "parser")
    with pytest.raises(TreadleError, match="did you mean 'parser'"):
        store.run("parsr")


def test_many_runs_share_a_commit(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", create=True)
    names = [f"r{number}" for number in range(50)]
    for name in names:
        store.create(record(name), PROTOCOL, start(name))

    async def one(name: str) -> None:
        rows, state = entries(State(), [start(name)])
        await store.append(await store.claim(name, NOW), Batch(entries=rows, state=state), NOW)

    async def everyone() -> None:
        await asyncio.gather(*map(one, names))

    asyncio.run(everyone())
    assert all(store.run(name).seq == 1 for name in names)
    assert store.writer.commits < len(names)


async def _append(store: Store, batch: Batch) -> None:
    lease = await store.claim("r1", NOW)
    await store.append(lease, batch, NOW)
    await store.release(lease)
