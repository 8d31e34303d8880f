"""The log: a hash chain over events, and folding it back into a state."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from treadle.errors import ReplayDivergence
from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol

GENESIS: Final = bytes(32)
_DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)

Row = tuple[bytes, bytes]
"""An event as it is stored, and the hash of the log that ends with it."""


def encode_event(event: Event) -> bytes:
    """An event as it is stored: canonical JSON with its type."""
    return msgspec.json.encode(event, order="deterministic")


def decode_event(data: bytes) -> Event:
    return _DECODER.decode(data)


def link(previous: bytes, body: bytes) -> bytes:
    """The hash of a log that goes on with this event."""
    return hashlib.sha256(previous + body).digest()


def unbroken(log: Iterable[Row], seq: int = 0, last: bytes = GENESIS) -> Iterator[Row]:
    """The same log, each row held against the chain; the first one that was changed is named."""
    for number, row in enumerate(log, seq + 1):
        last = link(last, row[0])
        if last != row[1]:
            raise ReplayDivergence(
                f"event {number} is not the one that was recorded; the log was changed after the fact"
            )
        yield row


def fold(protocol: Protocol, log: Iterable[Row], state: State | None = None) -> State:
    """Apply a log to the empty state, or to that of a snapshot."""
    state = state or State()
    for body, _ in log:
        state, _ = reduce(protocol, state, decode_event(body))
    return state
