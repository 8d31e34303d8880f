"""A store with a run in it, driven by hand: what tests of the store begin with."""

import asyncio
from pathlib import Path

from tests.kernel.protocols import WORK_AND_REVIEW
from treadle.kernel.events import Envelope, Event, Exited, RunStarted
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import GENESIS, decode_event
from treadle.kernel.state import State
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.store.batch import LogBatch, LogEntry, make_entry
from treadle.store.records import Run
from treadle.store.sqlite import Store

PROTOCOL = WORK_AND_REVIEW
NOW = 1_700_000_000_000


def start(run: str = "r1") -> RunStarted:
    return RunStarted(id="start", ts=NOW, run=run, protocol=digest(PROTOCOL), input=Item("spec", "text:spec"))


def record(run: str = "r1") -> Run:
    return Run(
        id=run, name=run, protocol="", settings={"level": 2}, created=NOW, changed=NOW, seq=0, acts=0, asks=0,
        outcome="", owner="",
    )  # fmt: skip


def store_with_run(path: Path, run: str = "r1") -> Store:
    store = Store(path / "store.db", create=True)
    store.create(record(run), PROTOCOL, start(run))
    return store


def says(act: str, exit_: str, number: int = 0) -> Exited:
    return Exited(id=f"{act}:{exit_}{number}", ts=NOW + number, act=act, envelope=Envelope(exit_))


def entries(state: State, events: list[Event], last: bytes = GENESIS) -> tuple[list[LogEntry], State]:
    """The rows that a driver would write for these events."""
    rows: list[LogEntry] = []
    for event in events:
        state, commands = reduce(PROTOCOL, state, event)
        rows.append(make_entry(rows[-1].chain if rows else last, state, event, commands))
    return rows, state


def begin(store: Store, run: str = "r1", extra: tuple[Event, ...] = ()) -> State:
    """Take up what waits in the inbox, and then some, as a driver would."""
    posted = store.posted(run)
    events: list[Event] = [*(decode_event(one.body) for one in posted), *extra]
    rows, state = entries(State(), events)

    async def append() -> None:
        lease = await store.take_lease(run, NOW)
        await store.append(lease, LogBatch(entries=rows, state=state, taken=[one.n for one in posted]), NOW)
        await store.release(lease)

    asyncio.run(append())
    return state
