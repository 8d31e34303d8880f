"""What all runs have used since a moment."""

from pathlib import Path

import msgspec

from tests.store.runs import NOW, PROTOCOL, begin, record, says, start, store_with_run
from treadle.kernel.events import Exited, Unavailable, Usage

WORK = "root:work#1.1"


def used(at: int, usage: Usage) -> Exited:
    return msgspec.structs.replace(says(WORK, "Ready", at), usage=usage)


def test_only_what_was_used_since_then_counts_whatever_has_used_it(tmp_path: Path) -> None:
    store = store_with_run(tmp_path)
    begin(store, extra=(Unavailable(id="out", ts=NOW - 9, act=WORK, why="rate", usage=Usage(1, 2, 0.5, 1, 3)),))
    store.create(record("r2"), PROTOCOL, start("r2"))
    begin(store, "r2", extra=(used(-5, Usage(100)),))
    assert store.spent(NOW - 5) == Usage(100)
    assert store.spent(NOW - 9) == Usage(101, 2, 0.5, 1, 3)
    assert store.spent(NOW - 4) == Usage()
    assert store.spent(NOW + 1) == Usage(), "no run has changed since"
    store.close()
