"""What the store says about runs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from treadle.protocol.model import Protocol


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


def foremost(runs: Sequence[Run]) -> Run | None:
    """Of runs, the latest first, the one that somebody asks about who names none: that goes on, else the latest."""
    return next((run for run in runs if not run.outcome), runs[0] if runs else None)


class Lease(msgspec.Struct, frozen=True):
    """The right to write to a run. A later epoch ends it."""

    run: str
    epoch: int


class Stray(msgspec.Struct, frozen=True, kw_only=True):
    """An answer or a message that was not obeyed, and why."""

    at: int
    act: str
    what: str
    detail: str


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """Something another process has put into a run's inbox."""

    n: int
    run: str
    body: bytes


def encode_protocol(protocol: Protocol) -> bytes:
    """A pinned protocol, complete with its templates."""
    return msgspec.json.encode(protocol)


def decode_protocol(body: bytes) -> Protocol:
    return msgspec.json.decode(body, type=Protocol)
