"""How long it takes to go on with a long run, against merely reading the rows of its log."""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from bench.driven import create
from bench.ring import ring
from treadle.kernel.commands import RunAgent
from treadle.kernel.events import Envelope, Event, Exited
from treadle.kernel.replay import decode_event
from treadle.runtime.desk import Arrival, Desk
from treadle.runtime.world import SystemClock
from treadle.store.sqlite import Store

EVENTS = 100_000
WIDTH = 100
ROUNDS = 5
RUN = "long"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        since = asyncio.run(write(path))
        work: dict[str, Callable[[], int]] = {
            "reading the rows": lambda: rows(path),
            "resuming": lambda: resume(path),
        }
        rounds = [{name: seconds(it) for name, it in work.items()} for _ in range(ROUNDS)]
    medians = {name: median(found[name] for found in rounds) for name in work}
    print(f"a run of {EVENTS} events, {since} of them after its last snapshot")
    print(f"{'':<18} {'ms':>7} {'ratio':>6}   (median of {ROUNDS} interleaved rounds)")
    for name, middle in medians.items():
        print(f"{name:<18} {middle * 1000:7.1f} {middle / medians['reading the rows']:6.2f}")


async def write(path: Path) -> int:
    """A log that ends just before a snapshot is due, which makes for the longest way back; how many events that is."""
    store, clock = Store(path, create=True), SystemClock()
    create(store, RUN, ring(10 * EVENTS), WIDTH)
    desk = Desk(store, await store.take_lease(RUN, clock.now()), clock)
    events: list[Event] = [decode_event(posted.body) for posted in store.posted(RUN)]
    while events:
        orders = await desk.process([Arrival(event) for event in events])
        jobs = [command for command, _ in orders if isinstance(command, RunAgent)]
        answers = [Exited(id=f"{job.id}:exited", ts=clock.now(), act=job.id, envelope=Envelope("Next")) for job in jobs]
        events = [*answers[: EVENTS - desk.state.seq]]
    since = store.load(RUN).since_snapshot
    store.close()
    return since


def rows(path: Path) -> int:
    """What nobody can go below who reads the whole log."""
    db = sqlite3.connect(path)
    count = sum(1 for _ in db.execute("SELECT body, chain FROM events WHERE run = ? ORDER BY seq", (RUN,)))
    db.close()
    return count


def resume(path: Path) -> int:
    """What a driver does before it goes on: the log is held against its chain, and folded from the last snapshot."""
    store = Store(path)
    seq = store.load(RUN).state.seq
    store.close()
    return seq


def seconds(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    found = work()
    taken = time.perf_counter() - start
    if found != EVENTS:
        raise AssertionError(f"{found} events instead of {EVENTS}")
    return taken
