"""The runs of a project, one line each."""

from typing import Literal

import msgspec

from treadle.store.records import Run
from treadle.views.moment import moment
from treadle.views.status import Condition


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A run, without its history."""

    run: str
    name: str
    protocol: str
    status: Condition
    outcome: str
    driver: str
    """Who drives it; empty: nobody does."""
    events: int
    activities: int
    questions: int
    began: str
    changed: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """All runs, the latest first: `treadle runs --json`."""

    schema: Literal[1] = 1
    runs: tuple[Listed, ...]


def listed(run: Run, protocol: str, driver: str, status: Condition) -> Listed:
    """A run as its record has it, and how it stands."""
    return Listed(
        run=run.id,
        name=run.name,
        protocol=protocol,
        status=status,
        outcome=run.outcome,
        driver=driver,
        events=run.seq,
        activities=run.acts,
        questions=run.asks,
        began=moment(run.created),
        changed=moment(run.changed),
    )
