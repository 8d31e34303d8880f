"""The log: a hash chain over events, and folding it back into a state."""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from treadle.errors import ReplayDivergence
from treadle.kernel.events import Event
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol

GENESIS = "0" * 64
_DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)


def encode_event(event: Event) -> bytes:
    """An event as it is stored: canonical JSON with its type."""
    return msgspec.json.encode(event, order="deterministic")


def decode_event(data: bytes) -> Event:
    return _DECODER.decode(data)


def chain(previous: str, event: Event) -> str:
    """The hash of a log that ends with this event."""
    return hashlib.sha256(previous.encode() + encode_event(event)).hexdigest()


def fold(
    protocol: Protocol, log: Iterable[tuple[Event, str]], state: State | None = None, last: str = GENESIS
) -> State:
    """Replay a log from the beginning, or from a snapshot; a hash that disagrees names the first diverging event."""
    state = state or State()
    for number, (event, recorded) in enumerate(log, state.seq + 1):
        last = chain(last, event)
        if last != recorded:
            raise ReplayDivergence(f"event {number} ({event.id}) is not the one that was recorded")
        state, _ = reduce(protocol, state, event)
    return state
