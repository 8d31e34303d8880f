"""The store as a whole: what is appended is there, in one piece or not at all."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from tests.store.runs import NOW, PROTOCOL, begin, entries, record, says, start, store_with_run
from treadle.errors import PortError, TreadleError
from treadle.kernel.commands import Cancel, CancelTimer, Command, Done, Notify, Nudge, RunEffect, SetTimer
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Event,
    Exited,
    Replied,
    Signalled,
    TimerFired,
    Unavailable,
    Usage,
)
from treadle.kernel.reduce import outstanding, reduce
from treadle.kernel.replay import GENESIS, decode_event, link
from treadle.kernel.state import State
from treadle.protocol.digest import digest
from treadle.store.batch import LogBatch, make_entry, outbox_key
from treadle.store.connection import connect, explain_failure
from treadle.store.records import Lease, Stray
from treadle.store.sqlite import Store
from treadle.store.writer import Job, Writer

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


def test_the_outbox_has_only_open_commands(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    begin(store, extra=(says(WORK, "Retry", 1),))
    assert list(store.unfinished("r1")) == ["root:work#1.2"]


def test_timers_follow_the_state(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    state = begin(store, extra=(says(WORK, "Retry", 1),))
    db = connect(store.path)
    assert dict(db.execute("SELECT id, due FROM timers WHERE run = 'r1'")) == dict(state.timers.items())
    db.close()


def test_loading_starts_from_the_last_snapshot(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start(), says(WORK, "Retry", 1)])
    asyncio.run(_append(store, LogBatch(entries=rows, state=state, snapshot=True)))
    more, state = entries(state, [says("root:work#1.2", "Stuck", 2)], rows[-1].chain)
    asyncio.run(_append(store, LogBatch(entries=more, state=state)))
    history = store.load("r1")
    assert (history.state, history.since_snapshot, history.chain) == (state, 1, more[-1].chain)


def test_an_older_lease_cannot_append(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start()])

    async def race() -> None:
        first = await store.take_lease("r1", NOW)
        await store.release(first)
        await store.take_lease("r1", NOW)
        with pytest.raises(PortError) as failure:
            await store.append(first, LogBatch(entries=rows, state=state), NOW)
        assert failure.value.code == "run.taken_over"

    asyncio.run(race())
    assert store.run("r1").seq == 0
    assert list(store.events("r1")) == []


def test_a_gap_in_the_log_is_refused(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    rows, state = entries(State(), [start(), says(WORK, "Retry", 1)])

    async def skip() -> None:
        lease = await store.take_lease("r1", NOW)
        with pytest.raises(PortError, match="taken over"):
            await store.append(lease, LogBatch(entries=rows[1:], state=state), NOW)

    asyncio.run(skip())


def test_two_drivers_of_one_run_are_refused_also_in_one_process(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)

    async def twice() -> None:
        await store.take_lease("r1", NOW)
        with pytest.raises(PortError, match=r"process \d+") as failure:
            await store.take_lease("r1", NOW)
        assert failure.value.code == "run.driven"

    asyncio.run(twice())


def test_a_payload_of_a_refused_turn_is_not_lost(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    ref = store.payloads.put({"a": 1})
    rows, state = entries(State(), [start()])

    async def refused() -> None:
        with pytest.raises(PortError):
            await store.append(Lease("r1", 99), LogBatch(entries=rows, state=state), NOW)

    asyncio.run(refused())
    assert store.payloads.get(ref) == {"a": 1}
    asyncio.run(_append(store, LogBatch(entries=rows, state=state)))
    assert Store(tmp_path / "store.db").payloads.get(ref) == {"a": 1}


def test_an_event_posted_twice_is_stored_once(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    signal = Signalled(id="s1", ts=NOW, inst="root", name="pause")
    store.post("r1", signal)
    store.post("r1", signal)
    assert [decode_event(one.body) for one in store.posted("r1")] == [start(), signal]


def test_strays_are_kept_in_order(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    strays = [Stray(at=NOW, act=WORK, what="answer", detail=text) for text in ("first", "second")]
    asyncio.run(_append(store, LogBatch(entries=(), state=State(), strays=strays)))
    assert store.strays("r1") == strays


def test_a_name_is_used_once(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    with pytest.raises(TreadleError) as failure:
        store.create(record(), PROTOCOL, start())
    assert failure.value.code == "run.exists"


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
        await store.append(await store.take_lease(name, NOW), LogBatch(entries=rows, state=state), NOW)

    async def everyone() -> None:
        await asyncio.gather(*map(one, names))

    asyncio.run(everyone())
    assert all(store.run(name).seq == 1 for name in names)
    assert store.writer.commits < len(names)


async def _append(store: Store, batch: LogBatch) -> None:
    lease = await store.take_lease("r1", NOW)
    await store.append(lease, batch, NOW)
    await store.release(lease)


# What all runs have used since a moment.


def used(at: int, usage: Usage) -> Exited:
    return msgspec.structs.replace(says(WORK, "Ready", at), usage=usage)


def test_usage_is_summed_over_all_runs_since_a_time(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    begin(store, extra=(Unavailable(id="out", ts=NOW - 9, act=WORK, why="rate", usage=Usage(1, 2, 0.5, 1, 3)),))
    store.create(record("r2"), PROTOCOL, start("r2"))
    begin(store, "r2", extra=(used(-5, Usage(100)),))
    assert store.spent(NOW - 5) == Usage(100)
    assert store.spent(NOW - 9) == Usage(101, 2, 0.5, 1, 3)
    assert store.spent(NOW - 4) == Usage()
    assert store.spent(NOW + 1) == Usage(), "no run has changed since"
    store.close()


# What one event adds to the store follows from its commands alone.

ATTEMPT = "root:work#1.{}"
GOOD = (CheckResult("scope", True), CheckResult("green", True))
LOG: list[Event] = [
    start(),
    says(ATTEMPT.format(1), "Retry", 1),
    says(ATTEMPT.format(2), "Ready", 2),
    Checked(id="k", ts=NOW, act=ATTEMPT.format(2), results=GOOD),
    says("root:review#1.1", "More", 3),
    says("root:work#2.1", "Stuck", 4),
    Replied(id="r", ts=NOW, ask="root:human#1.1", choice="retry"),
    TimerFired(id="t", ts=NOW + 9_000_000, timer="root:work#3.1"),
]


def test_replayed_rows_leave_the_outbox_and_timers_of_the_state() -> None:
    state, outbox, timers = State(), set[str](), dict[str, int]()
    for event in LOG:
        state, commands = reduce(PROTOCOL, state, event)
        row = make_entry(GENESIS, state, event, commands)
        outbox = outbox - set(row.closed) | {id_ for id_, _ in row.opened if not id_.endswith("!cancel")}
        timers = {id_: due for id_, due in timers.items() if id_ not in row.unset} | dict(row.set)
        owed = {it.id for it in outstanding(state) if not isinstance(it, SetTimer | Done)}
        assert outbox == owed, event
        assert timers == dict(state.timers.items()), event
    assert state.outcome == "Failed"


def test_rows_are_chained() -> None:
    rows, _ = entries(State(), LOG)
    assert rows[0].chain == link(GENESIS, rows[0].body)
    assert all(two.chain == link(one.chain, two.body) for one, two in pairwise(rows))
    assert [row.seq for row in rows] == list(range(1, len(LOG) + 1))


KEPT: list[tuple[Command, bool]] = [
    (RunEffect(id="a", inst="root", graph="g", step="s", visit=1, attempt=1, effect="merge"), True),
    (Notify(id="a", inst="root", what="reminder"), True),
    (Cancel(id="a", why="ended"), True),
    (Nudge(id="a", count=1), False),
    (SetTimer(id="a", due=1), False),
    (CancelTimer(id="a"), False),
    (Done(id="a", outcome="x"), False),
]


@pytest.mark.parametrize(("command", "is_kept"), KEPT, ids=[type(command).__name__ for command, _ in KEPT])
def test_only_repeatable_commands_enter_the_outbox(command: Command, is_kept: bool) -> None:
    row = make_entry(GENESIS, State(seq=1), start(), (command,))
    assert row.opened == (((outbox_key(command), msgspec.json.encode(command)),) if is_kept else ())


def test_a_cancellation_has_its_own_key_in_the_outbox() -> None:
    assert outbox_key(Cancel(id="a", why="ended")) == "a!cancel"
    assert outbox_key(Nudge(id="a", count=1)) == "a"


# The thread that writes: many jobs to a transaction, and nobody suffers for another's fault.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    db = connect(tmp_path / "x.db", create=True)
    db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
    db.close()
    return tmp_path / "x.db"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(lambda: connect(path), lambda error: explain_failure(path, error))
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
    gate = threading.Event()

    async def all_() -> list[int | BaseException]:
        first = asyncio.ensure_future(writer.run(lambda _: gate.wait(10)))
        await asyncio.sleep(0)
        rest = [asyncio.ensure_future(writer.run(job)) for job in jobs]
        await asyncio.sleep(0)
        gate.set()
        await first
        return await asyncio.gather(*rest, return_exceptions=True)

    return asyncio.run(all_())


def test_waiting_jobs_share_a_commit(writer: Writer, path: Path) -> None:
    assert together(writer, [insert(n) for n in range(20)]) == list(range(20))
    assert numbers(path) == list(range(20))
    assert writer.commits <= 2


def test_a_broken_job_fails_alone(writer: Writer, path: Path) -> None:
    def breaks(db: sqlite3.Connection) -> int:
        db.execute("INSERT INTO t VALUES (99)")
        db.execute("INSERT INTO nowhere VALUES (1)")
        return 0

    one, broken, two = together(writer, [insert(1), breaks, insert(2)])
    assert (one, two, numbers(path)) == (1, 2, [1, 2])
    assert isinstance(broken, PortError)
    assert "no such table: nowhere" in str(broken)


def test_a_refusing_job_fails_alone(writer: Writer, path: Path) -> None:
    def refuses(_: sqlite3.Connection) -> int:
        raise TreadleError("no")

    one, refused, two = together(writer, [insert(1), refuses, insert(2)])
    assert (one, str(refused), two, numbers(path)) == (1, "no", 2, [1, 2])


def test_a_cancelled_job_is_still_committed(writer: Writer, path: Path) -> None:
    async def gives_up() -> None:
        task = asyncio.ensure_future(writer.run(insert(1)))
        await asyncio.sleep(0)
        task.cancel()
        await writer.run(insert(2))

    asyncio.run(gives_up())
    assert numbers(path) == [1, 2]


def test_closing_finishes_the_queued_jobs(path: Path) -> None:
    writer = Writer(lambda: connect(path), lambda error: explain_failure(path, error))

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
