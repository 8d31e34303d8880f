"""A run worked out again from its first event, and everything that is stored about it held against that."""

import sqlite3
from collections.abc import Callable, Iterator

import msgspec

from treadle.errors import PortError, ReplayDivergence
from treadle.kernel.commands import SetTimer
from treadle.kernel.events import Upgraded
from treadle.kernel.reduce import outstanding
from treadle.kernel.replay import GENESIS, Move, Row, move, unbroken
from treadle.kernel.state import State, dump_state
from treadle.protocol.model import Protocol
from treadle.store import payloads
from treadle.store.history import ROW
from treadle.store.records import Run
from treadle.store.references import needed
from treadle.store.snapshots import Stored, every

Find = Callable[[str], Protocol]


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was found to be as it should be."""

    events: int
    snapshots: int
    upgrades: int
    payloads: int
    chain: str
    """The hash of the whole log."""
    outcome: str


def audit(db: sqlite3.Connection, run: Run, find: Find) -> Audit:
    """Fold the whole log; a `ReplayDivergence` that names the first event where what is stored differs."""
    snapshots = {stored.seq: stored for stored in every(db, run.id)}
    refs: set[str] = set()
    state, chain, count, upgrades = State(), GENESIS, 0, 0
    for made, chain in _moves(db, run.id, find):  # noqa: B007
        state, count = made.state, count + 1
        upgrades += isinstance(made.event, Upgraded)
        if state.seq in snapshots:
            _compare(snapshots[state.seq], state)
        for ref in set(needed(made.event)) - refs:
            _readable(db, ref, state.seq)
            refs.add(ref)
    late = sorted(seq for seq in snapshots if seq > count)
    if late:
        raise ReplayDivergence(
            f"there is a snapshot after event {late[0]}, but the log ends with event {count}", code="log.snapshot"
        )
    _record(db, run, state, count, chain)
    return Audit(
        events=count, snapshots=len(snapshots), upgrades=upgrades, payloads=len(refs), chain=chain.hex(),
        outcome=state.outcome,
    )  # fmt: skip


def _moves(db: sqlite3.Connection, run: str, find: Find) -> Iterator[tuple[Move, bytes]]:
    protocol, state = None, State()
    for body, chain in unbroken(_rows(db, run)):
        made = move(find, protocol, state, body)
        protocol, state = made.protocol, made.state
        yield made, chain


def _rows(db: sqlite3.Connection, run: str) -> Iterator[Row]:
    query = f"SELECT seq, {ROW} FROM events WHERE run = ? ORDER BY seq"
    for number, (seq, body, chain) in enumerate(db.execute(query, (run,)), 1):
        if seq != number:
            raise ReplayDivergence(
                f"event {number} is missing from the log; the next one there is event {seq}", code="log.incomplete"
            )
        yield body, chain


def _compare(stored: Stored, state: State) -> None:
    if stored.body != dump_state(state) or stored.protocol != state.protocol:
        raise ReplayDivergence(
            f"event {state.seq} leads to another state than the snapshot that was taken after it", code="log.snapshot"
        )


def _readable(db: sqlite3.Connection, ref: str, seq: int) -> None:
    try:
        payloads.read(db, ref)
    except PortError as error:
        raise ReplayDivergence(f"event {seq}: {error}", code=error.code) from None


def _record(db: sqlite3.Connection, run: Run, state: State, count: int, chain: bytes) -> None:
    """What is stored beside the log only so that nobody need fold it."""
    if count != run.seq:
        raise ReplayDivergence(
            f"event {min(count, run.seq) + 1}: {run.seq} were recorded, the log has {count}", code="log.incomplete"
        )
    recorded = db.execute("SELECT chain FROM runs WHERE run = ?", (run.id,)).fetchone()[0]
    if count and recorded != chain:
        raise ReplayDivergence(f"event {count} is not the one that the run's record ends with", code="log.record")
    if (run.acts, run.asks, run.outcome) != (len(state.acts), len(state.asks), state.outcome):
        raise ReplayDivergence(f"event {count} leads to another state than the run's record says", code="log.record")
    timers = dict(db.execute("SELECT id, due FROM timers WHERE run = ?", (run.id,)).fetchall())
    if timers != dict(state.timers.items()):
        raise ReplayDivergence(f"event {count} leads to other timers than those that are stored", code="log.record")
    outbox = {id_ for (id_,) in db.execute("SELECT id FROM outbox WHERE run = ?", (run.id,))}
    owed = [] if state.outcome else [it.id for it in outstanding(state) if not isinstance(it, SetTimer)]
    if lost := [id_ for id_ in owed if id_ not in outbox]:
        raise ReplayDivergence(
            f"event {count} leaves {lost[0]} to be done, but it is not in the outbox", code="log.record"
        )
