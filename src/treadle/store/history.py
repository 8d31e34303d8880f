"""History: a run read back from its log and its last snapshot, and the audit that works it out from the first event."""

import re
import sqlite3
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final

import msgspec

from treadle.errors import PortError, ReplayDivergence
from treadle.kernel.commands import SetTimer
from treadle.kernel.events import Checked, Event, Exited, Failed, Replied, RunStarted, Signalled, TimerFired, Upgraded
from treadle.kernel.reduce import outstanding
from treadle.kernel.replay import GENESIS, Row, apply_next, fold, link, verify_chain
from treadle.kernel.state import State, dump_state
from treadle.protocol.items import Item, Routed
from treadle.protocol.model import Protocol
from treadle.store import payloads
from treadle.store.records import Run

ROW: Final = "CAST(body AS BLOB), CAST(chain AS BLOB)"
"""The columns of a row of the log; cast to bytes, as manual edits may have changed their type."""

_STRIDE: Final = 500


class History(msgspec.Struct, frozen=True):
    """The position of a run: everything that is needed to continue it."""

    protocol: Protocol
    state: State
    chain: bytes
    since_snapshot: int


def read_history(db: sqlite3.Connection, run: Run, protocol: Protocol, state: State) -> History:
    """Fold the events after a state, and verify the hash chain of the whole log on the way."""
    rows = db.execute(f"SELECT {ROW} FROM events WHERE run = ? ORDER BY seq", (run.id,))
    before, last = 0, GENESIS
    # The events up to the state need no folding; their hashes are verified in batches, which is much faster.
    while before < state.seq and (stride := rows.fetchmany(min(_STRIDE, state.seq - before))):
        bodies, chains = zip(*stride, strict=True)
        if tuple(map(link, (last, *chains), bodies)) != chains:
            deque(verify_chain(stride, before, last), maxlen=0)  # raises, and names the event
        before, last = before + len(stride), chains[-1]
    tail: list[Row] = list(verify_chain(rows, before, last))
    if before + len(tail) != run.seq:
        raise ReplayDivergence(
            f"run {run.id}: {run.seq} events were recorded, {before + len(tail)} are in the store",
            code="log.incomplete",
        )
    state = fold(protocol, tail, state)
    if state.seq != run.seq:
        raise ReplayDivergence(
            f"run {run.id}: its log gives {state.seq} turns, {run.seq} were recorded", code="log.incomplete"
        )
    return History(protocol, state, tail[-1][1] if tail else last, len(tail))


# Stored snapshots of states; a damaged one is refused, never skipped.


class StoredSnapshot(msgspec.Struct, frozen=True):
    """A stored state, and the digest of its protocol."""

    seq: int
    protocol: str
    body: bytes


def newest_snapshot(db: sqlite3.Connection, run: str) -> StoredSnapshot | None:
    """Return the last snapshot of a run."""
    return next(_read(db, run, "ORDER BY seq DESC LIMIT 1"), None)


def all_snapshots(db: sqlite3.Connection, run: str) -> Iterator[StoredSnapshot]:
    """Yield all snapshots of a run, in order."""
    return _read(db, run, "ORDER BY seq")


def _read(db: sqlite3.Connection, run: str, order: str) -> Iterator[StoredSnapshot]:
    query = f"SELECT seq, protocol, CAST(state AS BLOB), hash FROM snapshots WHERE run = ? {order}"
    for seq, protocol, packed, hash_ in db.execute(query, (run,)):
        try:
            body = zlib.decompress(packed)
        except zlib.error:
            body = b""
        if sha256(body).digest() != hash_:
            raise ReplayDivergence(
                f"run {run}: the snapshot after event {seq} is damaged; restore a backup of .treadle/local",
                code="store.damaged",
            )
        yield StoredSnapshot(seq, protocol, body)


# The payloads that a run needs.

_REF: Final = re.compile(rb"sha256:[0-9a-f]{64}")
_OURS: Final = "sha256:"


def mentioned_references(body: bytes) -> set[str]:
    """Return all strings in some bytes that look like a reference; garbage collection may keep too much, never too
    little.
    """
    return {found.decode() for found in _REF.findall(body)}


def needed_payloads(event: Event) -> Iterator[str]:
    """Yield the payloads that must be there for an event to be read in full."""
    refs: list[str] = []
    match event:
        case RunStarted(input=item):
            refs += _within((item,))
        case Exited(envelope=envelope):
            refs += [envelope.payload_ref, *(result.report_ref for result in event.results)]
            refs += _fields(envelope.fields)
        case Checked():
            refs += [event.payload_ref, *(result.report_ref for result in event.results)]
            refs += _fields(event.derived)
        case Failed(detail_ref=ref) | TimerFired(detail_ref=ref) | Replied(note_ref=ref) | Signalled(data_ref=ref):
            refs.append(ref)
        case _:
            pass
    return (ref for ref in refs if ref.startswith(_OURS))


def _fields(fields: dict[str, Routed]) -> Iterator[str]:
    for value in fields.values():
        if isinstance(value, tuple):
            yield from _within(value)


def _within(parts: tuple[Item | str, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Item):
            yield part.ref
            yield from _fields(part.fields)


# The audit: replay a run from its first event, and compare all stored data with the result.


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of verified events, snapshots and payloads."""

    events: int
    snapshots: int
    upgrades: int
    payloads: int
    chain: str
    """The hash of the whole log."""
    outcome: str


def audit_run(db: sqlite3.Connection, run: Run, find: Callable[[str], Protocol]) -> AuditReport:
    """Replay the whole log; raise a `ReplayDivergence` that names the first event with a difference from the stored
    data.
    """
    snapshots = {stored.seq: stored for stored in all_snapshots(db, run.id)}
    refs: set[str] = set()
    protocol: Protocol | None = None
    state, chain, count, upgrades = State(), GENESIS, 0, 0
    for body, chain in verify_chain(_rows(db, run.id)):  # noqa: B007
        move = apply_next(find, protocol, state, body)
        protocol, state, count = move.protocol, move.state, count + 1
        upgrades += isinstance(move.event, Upgraded)
        stored = snapshots.get(state.seq)
        if stored and (stored.body, stored.protocol) != (dump_state(state), state.protocol):
            raise ReplayDivergence(
                f"event {state.seq} leads to another state than the snapshot that was taken after it",
                code="log.snapshot",
            )
        for ref in set(needed_payloads(move.event)) - refs:
            try:
                payloads.read(db, ref)
            except PortError as error:
                raise ReplayDivergence(f"event {state.seq}: {error}", code=error.code) from None
            refs.add(ref)
    late = sorted(seq for seq in snapshots if seq > count)
    if late:
        raise ReplayDivergence(
            f"there is a snapshot after event {late[0]}, but the log ends with event {count}", code="log.snapshot"
        )
    _compare_record(db, run, state, count, chain)
    return AuditReport(
        events=count, snapshots=len(snapshots), upgrades=upgrades, payloads=len(refs), chain=chain.hex(),
        outcome=state.outcome,
    )  # fmt: skip


def _rows(db: sqlite3.Connection, run: str) -> Iterator[Row]:
    query = f"SELECT seq, {ROW} FROM events WHERE run = ? ORDER BY seq"
    for number, (seq, body, chain) in enumerate(db.execute(query, (run,)), 1):
        if seq != number:
            raise ReplayDivergence(
                f"event {number} is missing from the log; the next one there is event {seq}", code="log.incomplete"
            )
        yield body, chain


def _compare_record(db: sqlite3.Connection, run: Run, state: State, count: int, chain: bytes) -> None:
    """Compare the data stored beside the log (the run's record, timers, outbox) with the replayed state."""
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
