"""The log: a hash chain over events, and folding it back into a state."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from treadle.errors import IllegalEvent, ReplayDivergence
from treadle.kernel.commands import Command
from treadle.kernel.events import Event, RunStarted, Upgraded
from treadle.kernel.reduce import reduce
from treadle.kernel.state import State
from treadle.protocol.model import Protocol

GENESIS: Final = bytes(32)
_DECODER: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)

Row = tuple[bytes, bytes]
"""An event as it is stored, and the hash of the log that ends with it."""


def encode_event(event: Event) -> bytes:
    """Encode an event for the log: canonical JSON with its type."""
    return msgspec.json.encode(event, order="deterministic")


def decode_event(data: bytes) -> Event:
    return _DECODER.decode(data)


def link(previous: bytes, body: bytes) -> bytes:
    """Return the hash of a log after this event, from its hash before the event."""
    return hashlib.sha256(previous + body).digest()


def verify_chain(log: Iterable[Row], seq: int = 0, last: bytes = GENESIS) -> Iterator[Row]:
    """Yield the log after comparing each row with the hash chain; raise an error at the first changed row."""
    for number, row in enumerate(log, seq + 1):
        last = link(last, row[0])
        if last != row[1]:
            raise ReplayDivergence(
                f"event {number} is not the one that was recorded; the log was changed after the fact",
                code="log.changed",
            )
        yield row


def fold(protocol: Protocol, log: Iterable[Row], state: State | None = None) -> State:
    """Apply a log to the empty state, or to that of a snapshot."""
    state = state or State()
    for body, _ in log:
        state, _ = reduce(protocol, state, decode_event(body))
    return state


class Move(NamedTuple):
    """One event of a log, and its effect under the run's protocol at that time."""

    event: Event
    protocol: Protocol
    """The protocol after the event."""
    before: State
    state: State
    commands: tuple[Command, ...]


def apply_next(find: Callable[[str], Protocol], protocol: Protocol | None, state: State, body: bytes) -> Move:
    """Apply the next event of a log; an upgrade is judged by the protocol that it leads to, found by its digest."""
    try:
        event = decode_event(body)
        rules = find(event.protocol) if isinstance(event, RunStarted | Upgraded) else protocol
        if rules is None:
            raise IllegalEvent("the run has not started", code="event.order")
        after, commands = reduce(rules, state, event)
    except (msgspec.MsgspecError, IllegalEvent) as error:
        raise ReplayDivergence(f"event {state.seq + 1} cannot have happened: {error}", code="log.impossible") from None
    if after is state:
        raise ReplayDivergence(
            f"event {state.seq + 1} changes nothing, and such events are not recorded", code="log.impossible"
        )
    return Move(event, rules if after.protocol != state.protocol else protocol or rules, state, after, commands)
