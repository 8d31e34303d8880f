"""Everything that is stored about a run is held against its log."""

import asyncio
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from tests.store.runs import NOW, PROTOCOL, entries, says, start, store_with_run
from treadle.errors import ReplayDivergence
from treadle.kernel.events import Envelope, Exited, Upgraded
from treadle.kernel.reduce import reduce
from treadle.kernel.replay import link
from treadle.kernel.state import State, dump_state, load_state
from treadle.protocol.digest import digest
from treadle.protocol.model import Protocol
from treadle.store.batch import Batch
from treadle.store.entry import entry
from treadle.store.records import encode_protocol
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
    upgrade = entry(rows[-1].chain, after, moved, commands)
    more, last = entries(after, [says(WORK.format(2), "Retry", 3), says(WORK.format(3), "Stuck", 4)], upgrade.chain)

    async def append() -> None:
        lease = await store.claim("r1", NOW)
        await store.append(lease, Batch(entries=rows, state=state, taken=[1], snapshot=True), NOW)
        await store.append(lease, Batch(entries=[upgrade], state=after, snapshot=True), NOW)
        await store.append(lease, Batch(entries=more, state=last), NOW)
        await store.release(lease)

    store._db.execute("INSERT INTO protocols VALUES (?, ?)", (digest(NEWER), encode_protocol(NEWER)))
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
    rows = store._db.execute("SELECT seq, body FROM events ORDER BY seq").fetchall()
    last = bytes(32)
    for seq, body in rows:
        body = body.replace(b'"level":2', b'"level":1') if seq == 1 else body  # noqa: PLW2901
        body = body.replace(b'"ts":1700000000001', b'"ts":1700000000000')  # noqa: PLW2901
        last = link(last, body)
        store._db.execute("UPDATE events SET body = ?, chain = ? WHERE seq = ?", (body, last, seq))
    store._db.execute("UPDATE runs SET chain = ?", (last,))


def _another_state(store: Store) -> None:
    packed = store._db.execute("SELECT state FROM snapshots WHERE seq = 3").fetchone()[0]
    body = dump_state(msgspec.structs.replace(load_state(zlib.decompress(packed)), allowances=9))
    values = (zlib.compress(body), sha256(body).digest())
    store._db.execute("UPDATE snapshots SET state = ?, hash = ? WHERE seq = 3", values)


def _sql(text: str) -> Callable[[Store], None]:
    def change(store: Store) -> None:
        store._db.execute(text)

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
def test_whatever_was_changed_is_found(what: str, tmp_path: Path) -> None:
    change, said = CHANGES[what]
    store = recorded(tmp_path)
    change(store)
    with pytest.raises(ReplayDivergence, match=said):
        store.audit("r1")
    store.close()
