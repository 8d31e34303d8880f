"""Runs driven for real, by the store, the desk and the loop, with agents that answer at once."""

from bench.ring import first_event
from treadle.kernel.commands import ActivityCommand, AskHuman, Notify
from treadle.kernel.events import Envelope, Event, Exited
from treadle.kernel.replay import decode_event
from treadle.kernel.state import State
from treadle.ports import Clock
from treadle.protocol.digest import digest
from treadle.protocol.model import Protocol
from treadle.runtime.desk import Desk, Inbox
from treadle.runtime.loop import Tasks, Timers, has_ended, run_loop
from treadle.runtime.world import SystemClock
from treadle.store.batch import outbox_key
from treadle.store.records import Run
from treadle.store.sqlite import Store


class Instant:
    """Performs everything by saying that it is done."""

    def __init__(self, desk: Desk, clock: Clock) -> None:
        self._desk, self._clock = desk, clock

    async def job(self, job: ActivityCommand, state: State) -> Event:  # noqa: ARG002
        return Exited(id=f"{job.id}:exited", ts=self._clock.now(), act=job.id, envelope=Envelope("Next"))

    async def nudge(self, act: str, count: int) -> None: ...

    async def ask(self, question: AskHuman, state: State) -> None: ...

    async def notify(self, message: Notify) -> None:
        self._desk.performed(outbox_key(message))

    def stop_driving(self, *, orderly: bool) -> None: ...


def create(store: Store, run: str, protocol: Protocol, width: int = 1) -> None:
    """A run in the store, with nobody to drive it yet."""
    now = SystemClock().now()
    record = Run(
        id=run, name=run, protocol=digest(protocol), settings={}, created=now, changed=now, seq=0, acts=0, asks=0,
        outcome="", owner="",
    )  # fmt: skip
    store.create(record, protocol, first_event(run, width, now, record.protocol))


async def drive_to_end(store: Store, run: str) -> State:
    """Everything that a process does with a run, from taking its lease to giving it back."""
    clock, inbox = SystemClock(), Inbox()
    lease = await store.take_lease(run, clock.now())
    desk = Desk(store, lease, clock)
    for posted in store.posted(run):
        inbox.put(decode_event(posted.body), posted.n)
    tasks = Tasks(desk, Instant(desk, clock), inbox, Timers(clock, inbox))
    state = await run_loop(desk, inbox, tasks, has_ended)
    await store.release(lease)
    return state
