"""Runs, read without a lease: what others have committed, while they go on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from treadle.cli.picking import pick
from treadle.config.project import Project, open_project
from treadle.errors import ReplayDivergence, TreadleError
from treadle.kernel.replay import GENESIS, Move, unbroken
from treadle.store.owner import is_alive, parse
from treadle.store.records import Run, foremost
from treadle.store.sqlite import Store
from treadle.views.chronicle import Chronicle

NO_RUNS: Final = "no runs yet; `treadle run SPEC` starts one"
_MEND: Final = "restore a backup of .treadle/local; the other runs are not touched by it"
_GLANCE: Final = 0.2
"""Seconds between two looks at a run that is followed."""
_PATIENCE: Final = 1.0
"""Seconds for which nobody has to have driven a run: between two processes that do, there is nobody for a moment."""


@contextmanager
def reading(project: Project | None = None) -> Iterator[Store]:
    """The project's store, for reading only."""
    project = project or open_project()
    if not project.store.exists():
        from treadle.cli.left_off import before_any_run  # nobody with a run has to wait for it

        raise TreadleError("; ".join([NO_RUNS, *before_any_run()]), code="run.none")
    store = Store(project.store, reading=True)
    try:
        yield store
    finally:
        store.close()


def find_run(store: Store, word: str | None, *, going: bool = False) -> Run:
    """The run that is meant; the latest if none is named, or the latest that goes on, if there is one."""
    runs = store.runs()
    first = foremost(runs) if going else next(iter(runs), None)
    if first is None:
        raise TreadleError(NO_RUNS, code="run.none")
    return first if word is None else store.run(pick(word, [run.id for run in runs], "run"))


def driver(run: Run) -> str:
    """Who drives a run, in words; empty if nobody does."""
    owner = parse(run.owner)
    alive = is_alive(owner) if owner else False
    if owner is None or alive is False:
        return ""
    return f"process {owner.pid}" + ("" if alive else f" on {owner.host}")


class Follower:
    """A run's log as it grows, each event held against the chain."""

    def __init__(self, store: Store, run: Run) -> None:
        self._store, self._last = store, GENESIS
        self.record = run
        self.chronicle = Chronicle(cache(store.protocol))

    def catch_up(self) -> Iterator[Move]:
        """What has happened since the last time, until now."""
        seq = self.chronicle.state.seq
        self.record, rows = self._store.tail(self.record.id, seq)
        try:
            for row in unbroken(rows, seq, self._last):
                self._last = row[1]
                yield self.chronicle.take(row[0])
        except ReplayDivergence as error:
            raise ReplayDivergence(f"run {self.record.id}: {error}; {_MEND}", code=error.code) from None
        if seq + len(rows) != self.record.seq:
            raise ReplayDivergence(
                f"run {self.record.id}: {self.record.seq} events were recorded, {seq + len(rows)} are in the store; "
                f"{_MEND}",
                code="log.incomplete",
            )

    def follow(self) -> Iterator[Move | None]:
        """Everything that happens until the run ends, or nobody drives it; None whenever all of it was told."""
        seen = time.monotonic()
        while True:
            yield from self.catch_up()
            yield None
            if self.record.outcome:
                return
            if driver(self.record):
                seen = time.monotonic()
            elif time.monotonic() - seen > _PATIENCE:
                return
            time.sleep(_GLANCE)


def read_run(store: Store, word: str | None) -> Follower:
    """A run with its whole history."""
    found = Follower(store, find_run(store, word))
    for _ in found.catch_up():
        pass
    return found
