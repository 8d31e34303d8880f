"""Write the result of one turn of a driver in one transaction."""

import sqlite3
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from treadle.errors import PortError
from treadle.kernel.commands import Cancel, CancelTimer, Command, Done, Nudge, SetTimer
from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, TimerFired
from treadle.kernel.replay import encode_event, link
from treadle.kernel.state import State, dump_state
from treadle.store import payloads
from treadle.store.records import Lease, Stray

# The rows that one event adds to the store: the event itself, and its changes to the outbox and the timers.

_NOT_KEPT: Final = (SetTimer, CancelTimer, Nudge, Done)
"""Timers have a table of their own, the end is the run's outcome, and a reminder missed is not worth repeating."""


class LogEntry(NamedTuple):
    """One row of the log, with its changes to the outbox and the timers."""

    seq: int
    id: str
    body: bytes
    chain: bytes
    opened: tuple[tuple[str, bytes], ...]
    """Commands that are now open, by their key in the outbox."""
    closed: tuple[str, ...]
    """The keys of commands that are no longer open."""
    set: tuple[tuple[str, int], ...]
    """Timers, and when they are due."""
    unset: tuple[str, ...]


def make_entry(last: bytes, state: State, event: Event, commands: tuple[Command, ...]) -> LogEntry:
    """Make the row for an event that led to this state and these commands."""
    body = encode_event(event)
    timers = [command for command in commands if isinstance(command, SetTimer)]
    dropped = [command.id for command in commands if isinstance(command, CancelTimer)]
    ended = [command.id for command in commands if isinstance(command, Cancel)]
    match event:
        case Exited(act=id_) | Checked(act=id_) | Failed(act=id_) if id_ not in state.acts:
            ended.append(id_)
        case Replied(ask=id_) if id_ not in state.asks:
            ended.append(id_)
        case _:
            pass
    return LogEntry(
        seq=state.seq,
        id=event.id,
        body=body,
        chain=link(last, body),
        opened=tuple(
            (outbox_key(command), msgspec.json.encode(command))
            for command in commands
            if not isinstance(command, _NOT_KEPT)
        ),
        closed=tuple(ended),
        set=tuple((command.id, command.due) for command in timers),
        unset=(*dropped, event.timer) if isinstance(event, TimerFired) else tuple(dropped),
    )


def outbox_key(command: Command) -> str:
    """Return a command's key in the outbox; a cancellation has its own key, so it does not replace the cancelled
    command.
    """
    return f"{command.id}!cancel" if isinstance(command, Cancel) else command.id


LEASE: Final = 60_000
"""Milliseconds after which a driver on another machine counts as gone."""


class LogBatch(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a turn, and all that goes with them."""

    entries: Sequence[LogEntry]
    state: State
    taken: Sequence[int] = ()
    """Rows of the inbox that are dealt with."""
    performed: Sequence[str] = ()
    """The keys of commands in the outbox that need not be repeated."""
    strays: Sequence[Stray] = ()
    snapshot: bool = False


def write_batch(db: sqlite3.Connection, lease: Lease, batch: LogBatch, bodies: dict[str, bytes], now: int) -> None:
    """Append a turn to a run's log; raise a `PortError` if another process has taken over the run."""
    state, run = batch.state, lease.run
    first, chain = (batch.entries[0].seq, batch.entries[-1].chain) if batch.entries else (state.seq + 1, None)
    # The fence comes first: a process that lost its lease meanwhile writes nothing of the batch.
    fenced = db.execute(
        "UPDATE runs SET seq = ?, chain = coalesce(?, chain), acts = ?, asks = ?, outcome = ?, changed = ?, "
        "lease_until = ? WHERE run = ? AND seq = ? AND epoch = ?",
        (
            state.seq,
            chain,
            len(state.acts),
            len(state.asks),
            state.outcome,
            now,
            now + LEASE,
            run,
            first - 1,
            lease.epoch,
        ),
    )
    if fenced.rowcount != 1:
        raise PortError(
            f"another process has taken over run {run}; this one must stop (nothing was written)", code="run.taken_over"
        )
    payloads.write(db, bodies)
    for entry in batch.entries:
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (run, entry.seq, entry.id, entry.body, entry.chain))
        # Closed before opened, and unset before set: an event may issue a command or timer of the same id again.
        for key in entry.closed:
            db.execute("DELETE FROM outbox WHERE run = ? AND id = ?", (run, key))
        for key, body in entry.opened:
            db.execute("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", (run, key, body))
        for id_ in entry.unset:
            db.execute("DELETE FROM timers WHERE run = ? AND id = ?", (run, id_))
        for id_, due in entry.set:
            db.execute("INSERT OR REPLACE INTO timers VALUES (?, ?, ?)", (run, id_, due))
    for n in batch.taken:
        db.execute("DELETE FROM inbox WHERE n = ?", (n,))
    for key in batch.performed:
        db.execute("DELETE FROM outbox WHERE run = ? AND id = ?", (run, key))
    for it in batch.strays:
        values = (run, it.at, it.act, it.what, it.detail)
        db.execute("INSERT INTO strays (run, at, act, what, detail) VALUES (?, ?, ?, ?, ?)", values)
    if batch.snapshot:
        body = dump_state(state)
        stored = (run, state.seq, state.protocol, zlib.compress(body, 1), sha256(body).digest())
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", stored)
    if state.outcome:
        db.execute("DELETE FROM timers WHERE run = ?", (run,))
