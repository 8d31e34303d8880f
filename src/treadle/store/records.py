"""The store's records of runs."""

from collections.abc import Sequence
from typing import Any

import msgspec


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run, without its history."""

    id: str
    name: str
    protocol: str
    """Digest of the protocol it is pinned to."""
    settings: dict[str, Any]
    """How it was started: everything that has to be the same when it is resumed."""
    created: int
    changed: int
    seq: int
    acts: int
    asks: int
    outcome: str
    owner: str


def default_run(runs: Sequence[Run]) -> Run | None:
    """Return the run for commands that name none: the latest that has not ended, else the latest. Expects the latest
    first.
    """
    return next((run for run in runs if not run.outcome), runs[0] if runs else None)


class Lease(msgspec.Struct, frozen=True):
    """The right to write to a run. A later epoch ends it."""

    run: str
    epoch: int


class Stray(msgspec.Struct, frozen=True, kw_only=True):
    """An ignored answer or message, and why."""

    at: int
    act: str
    what: str
    detail: str


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """Something another process has put into a run's inbox."""

    n: int
    run: str
    body: bytes
