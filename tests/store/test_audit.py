"""Everything that is stored about a run is held against its log."""

import asyncio
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tests.sql import sql
from tests.store.runs import NOW, PROTOCOL, entries, says, start, store_with_run
from treadle.errors import ReplayDivergence
from treadle.kernel.events import (
    Checked,
    CheckResult,
    Envelope,
    Event,
    Exited,
    Failed,
    Idle,
    Replied,
    Signalled,
    Upgraded,
)
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import encode_event, link
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.digest import digest
from treadle.protocol.items import Item
from treadle.protocol.model import Protocol
from treadle.store.batch import LogBatch, make_entry
from treadle.store.history import mentioned_references, needed_payloads
from treadle.store.sqlite import Store

WORK = "root:work#1.{}"
NEWER: Protocol = msgspec.structs.replace(PROTOCOL, version="2")


def recorded(path: Path) -> Store:
    """Five events with a snapshot after the second, a payload, and an upgrade in the middle."""
    store = store_with_run(path)
    ref = store.payloads.put({"tried": "this"})
    first = Exited(id="e1", ts=NOW + 1, act=WORK.format(1), envelope=Envelope("Retry", payload_ref=ref))
    rows, state = entries(State(), [start(), first])
    moved = Upgraded(id="up", ts=NOW + 2, protocol=digest(NEWER))
    after, commands = reduce(NEWER, state, moved)
    upgrade = make_entry(rows[-1].chain, after, moved, commands)
    more, last = entries(after, [says(WORK.format(2), "Retry", 3), says(WORK.format(3), "Stuck", 4)], upgrade.chain)

    async def append() -> None:
        lease = await store.take_lease("r1", NOW)
        await store.append(lease, LogBatch(entries=rows, state=state, taken=[1], snapshot=True), NOW)
        await store.append(lease, LogBatch(entries=[upgrade], state=after, snapshot=True), NOW)
        await store.append(lease, LogBatch(entries=more, state=last), NOW)
        await store.release(lease)

    sql(store.path, "INSERT INTO protocols VALUES (?, ?)", digest(NEWER), msgspec.json.encode(NEWER))
    asyncio.run(append())
    return store


def test_a_run_is_folded_across_snapshots_and_upgrades(tmp_path: Path) -> None:
    store = recorded(tmp_path)
    audit = store.audit("r1")
    assert (audit.events, audit.snapshots, audit.upgrades, audit.payloads) == (5, 2, 1, 1)
    assert audit.chain == store.load("r1").chain.hex()
    store.close()


def _another_body(store: Store) -> None:
    """A different answer, with a chain that fits: only the snapshots know better."""
    rows = sql(store.path, "SELECT seq, body FROM events ORDER BY seq")
    last = bytes(32)
    for seq, body in rows:
        body = body.replace(b'"level":2', b'"level":1') if seq == 1 else body  # noqa: PLW2901
        body = body.replace(b'"ts":1700000000001', b'"ts":1700000000000')  # noqa: PLW2901
        last = link(last, body)
        sql(store.path, "UPDATE events SET body = ?, chain = ? WHERE seq = ?", body, last, seq)
    sql(store.path, "UPDATE runs SET chain = ?", last)


def _another_state(store: Store) -> None:
    [(packed,)] = sql(store.path, "SELECT state FROM snapshots WHERE seq = 3")
    body = dump_state(msgspec.structs.replace(load_state(zlib.decompress(packed)), allowances=9))
    values = (zlib.compress(body), sha256(body).digest())
    sql(store.path, "UPDATE snapshots SET state = ?, hash = ? WHERE seq = 3", *values)


def _sql(text: str) -> Callable[[Store], None]:
    def change(store: Store) -> None:
        sql(store.path, text)

    return change


CHANGES: dict[str, tuple[Callable[[Store], None], str]] = {
    "an event": (_sql("UPDATE events SET body = replace(body, 'e1', 'e2') WHERE seq = 2"), "event 2 is not the one"),
    "a link": (_sql("UPDATE events SET chain = zeroblob(32) WHERE seq = 3"), "event 3 is not the one"),
    "a lost event": (_sql("DELETE FROM events WHERE seq = 3"), "event 3 is missing from the log; .* event 4"),
    "a lost end": (_sql("DELETE FROM events WHERE seq = 5"), "event 5: 5 were recorded, the log has 4"),
    "a lost beginning": (
        _sql("DELETE FROM events"),
        "there is a snapshot after event 2, but the log ends with event 0",
    ),
    "a rewritten past": (_another_body, "event 2 leads to another state than the snapshot"),
    "a rewritten snapshot": (_another_state, "event 3 leads to another state than the snapshot"),
    "a damaged snapshot": (
        _sql("UPDATE snapshots SET state = X'00' WHERE seq = 2"),
        "snapshot after event 2 is damaged",
    ),
    "a lost payload": (_sql("DELETE FROM payloads"), "event 1|event 2: payload sha256:.* is missing"),
    "the record's chain": (
        _sql("UPDATE runs SET chain = zeroblob(32)"),
        "event 5 is not the one that the run's record",
    ),
    "the record's counts": (_sql("UPDATE runs SET asks = 7"), "event 5 leads to another state than the run's record"),
    "a timer": (_sql("INSERT INTO timers VALUES ('r1', 'x', 1)"), "event 5 leads to other timers"),
    "the outbox": (_sql("DELETE FROM outbox"), "event 5 leaves root:human#1.1 to be done, but it is not in the outbox"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_detected(what: str, tmp_path: Path) -> None:
    change, said = CHANGES[what]
    store = recorded(tmp_path)
    change(store)
    with pytest.raises(ReplayDivergence, match=said):
        store.audit("r1")
    store.close()


A, B, C = (f"sha256:{letter * 64}" for letter in "abc")
EVENTS: list[tuple[Event, set[str]]] = [
    (start(), set()),
    (Exited(id="e", ts=NOW, act="a", envelope=Envelope("X", payload_ref=A)), {A}),
    (Exited(id="e", ts=NOW, act="a", envelope=Envelope("X"), results=(CheckResult("suite", True, B),)), {B}),
    (
        Exited(
            id="e", ts=NOW, act="a", envelope=Envelope("X", fields={"l": (Item("k", A, {"m": (Item("n", B),)}), C)})
        ),
        {A, B},
    ),
    (Checked(id="e", ts=NOW, act="a", results=(CheckResult("c", True, A),), payload_ref=B), {A, B}),
    (Failed(id="e", ts=NOW, act="a", why="crash", detail_ref=A), {A}),
    (Replied(id="e", ts=NOW, ask="a", choice="x", note_ref=A), {A}),
    (Signalled(id="e", ts=NOW, inst="a", name="go", data_ref="text:short"), set()),
    (Idle(id=A, ts=NOW, act="a", idle_s=1), set()),
]


@pytest.mark.parametrize(("event", "refs"), EVENTS)
def test_an_event_needs_only_its_real_references(event: Event, refs: set[str]) -> None:
    assert set(needed_payloads(event)) == refs
    assert refs <= mentioned_references(encode_event(event))


def test_every_text_like_a_reference_is_mentioned() -> None:
    assert mentioned_references(f'{{"said": "see {A} and {B}x"}}'.encode()) == {A, B}
    assert mentioned_references(b"sha256:abc") == set()
