"""What `treadle` alone says of runs."""

import pytest

from tests.cli.kept import Kept, run
from tests.cli.treadle import treadle

pytestmark = pytest.mark.usefixtures("kept")


def test_alone_it_mentions_runs_that_have_not_ended(kept: Kept) -> None:
    run("--level", "0")
    result = treadle()
    assert "Unfinished: the run sweep-1, which has work in hand." in result.out
    assert "treadle status sweep-1 " in result.out
    treadle("abort", "sweep-1")
    assert "Unfinished" not in treadle().out
    (kept.root / ".treadle/local/store.db").write_bytes(b"no store")
    assert (treadle().code, "Unfinished" in treadle().out) == (0, False)
