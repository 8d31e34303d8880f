"""Payloads: by content, once, in chunks, and never handed out damaged."""

import json
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from treadle.errors import PortError
from treadle.protocol.items import Json, canonical, content_ref
from treadle.store.connection import migrate
from treadle.store.payloads import CHUNK, SqlitePayloads, read, write

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    yield db
    db.close()


def put(db: sqlite3.Connection, value: Json) -> str:
    payloads = SqlitePayloads(db)
    ref = payloads.put(value)
    with payloads.writing() as bodies:
        write(db, bodies)
    return ref


@given(VALUES)
@settings(max_examples=80)
def test_a_stored_value_reads_back(value: Json) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    migrate(db)
    ref = put(db, value)
    assert ref == content_ref(value)
    assert SqlitePayloads(db).get(ref) == value
    assert put(db, json.loads(canonical(value))) == ref
    db.close()


@pytest.mark.parametrize("size", [CHUNK - 2, CHUNK - 1, CHUNK, 2 * CHUNK - 2, 3 * CHUNK])
def test_large_values_are_cut_and_put_together(size: int, db: sqlite3.Connection) -> None:
    text = "ab" * (size // 2)
    ref = put(db, text)
    assert SqlitePayloads(db).get(ref) == text
    length = len(canonical(text))
    pieces = [len(body) for (body,) in db.execute("SELECT body FROM chunks ORDER BY n")]
    assert sum(pieces) == (length if length > CHUNK else 0)
    assert all(piece <= CHUNK for piece in pieces)


def test_the_same_value_is_kept_once(db: sqlite3.Connection) -> None:
    refs = {put(db, {"a": [1, 2], "b": "x" * CHUNK}), put(db, {"b": "x" * CHUNK, "a": [1, 2]})}
    assert len(refs) == 1
    assert db.execute("SELECT count(*) FROM payloads").fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM chunks").fetchone() == (2,)


def test_a_value_can_be_read_before_it_is_written(db: sqlite3.Connection) -> None:
    payloads = SqlitePayloads(db)
    ref = payloads.put([1])
    assert payloads.get(ref) == [1]

    def fail() -> None:
        with payloads.writing():
            assert payloads.get(ref) == [1]
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        fail()
    with payloads.writing() as bodies:
        assert list(bodies) == [ref]
        assert payloads.get(ref) == [1]
        write(db, bodies)
    with payloads.writing() as bodies:
        assert (payloads.get(ref), bodies) == ([1], {})


def test_short_texts_of_the_kernel_are_their_own_reference(db: sqlite3.Connection) -> None:
    assert SqlitePayloads(db).get("text:the deadline has passed") == "the deadline has passed"


DAMAGE = {
    "a byte": "UPDATE payloads SET body = X'5B325D' WHERE body IS NOT NULL",
    "a chunk": "UPDATE chunks SET body = zeroblob(length(body)) WHERE n = 1",
    "a lost chunk": "DELETE FROM chunks WHERE n = 0",
    "swapped chunks": "UPDATE chunks SET n = 9 WHERE n = 0",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_not_handed_out(what: str, db: sqlite3.Connection) -> None:
    ref = put(db, [1]) if what == "a byte" else put(db, "".join(map(str, range(30_000))))
    db.execute(DAMAGE[what])
    with refused("store.damaged", ref):
        read(db, ref)


def test_a_missing_payload_is_named(db: sqlite3.Connection) -> None:
    with pytest.raises(PortError, match="sha256:00") as failure:
        read(db, "sha256:00")
    assert failure.value.code == "store.incomplete"
