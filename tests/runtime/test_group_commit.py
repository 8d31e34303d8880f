"""How many commits a transition costs: one for a run alone, and the same one for all runs that are driven together."""

import asyncio
from pathlib import Path

import pytest

from bench.driven import create, drive_to_end
from bench.ring import ring
from treadle.store.sqlite import Store

LENGTH = 8
AROUND = 3
"""Commits that are no transition of the ring: to take the lease, to begin, to give the lease back."""


def commits(folder: Path, runs: int) -> int:
    store, names = Store(folder / "store.db", create=True), [f"r{number}" for number in range(runs)]
    for name in names:
        create(store, name, ring(LENGTH))

    async def everyone() -> list[str]:
        return [state.outcome for state in await asyncio.gather(*(drive_to_end(store, name) for name in names))]

    assert asyncio.run(everyone()) == ["Done"] * runs
    assert [store.run(name).seq for name in names] == [LENGTH + 1] * runs
    store.close()
    return store.writer.commits


def test_each_transition_of_a_run_is_committed_before_the_next(tmp_path: Path) -> None:
    assert commits(tmp_path, 1) == LENGTH + AROUND


@pytest.mark.parametrize("runs", [2, 40])
def test_runs_that_are_driven_together_share_their_commits(tmp_path: Path, runs: int) -> None:
    assert commits(tmp_path, runs) <= LENGTH + AROUND
