"""What a program's own stream of events says about a conversation; a reader for each kind of agent makes it."""

from collections.abc import Iterator
from typing import Any, Final, Protocol

import msgspec

from treadle.kernel.events import Outages, Usage
from treadle.ports import Progress

MAX_LINE: Final = 8 << 20
"""A longer line is no event; it is dropped as it comes in."""
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """All that counts of a stream. What it says of success is a claim like any other."""

    session: str = ""
    """The conversation, in the program's own words."""
    final: str = ""
    """The last message of the agent, or what it answered by a schema."""
    usage: Usage = Usage()
    is_over: bool = False
    """Whether the event that ends a stream has come."""
    trouble: str = ""
    """What went wrong, as the program says it; empty: nothing."""
    outage: Outages | None = None
    wait: int = 0
    refused: tuple[str, ...] = ()
    """What it was not allowed while it worked, and why."""
    notes: tuple[str, ...] = ()
    """What people should know: a server of tools that is not there, a refused permission."""


class Reader(Protocol):
    """Reads the events of one stream, one after the other. No event, however odd, makes it fail."""

    def take(self, event: dict[str, Any]) -> Progress | None:
        """The next event; what of it shows that the agent lives."""
        ...

    def told(self) -> Told:
        """What all events so far say."""
        ...


class Lines:
    """Cuts a stream into events: a JSON object on each line; anything else is passed over."""

    def __init__(self) -> None:
        self._part = b""
        self._is_long = False

    def cut(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that are whole now; what has no end yet waits for it."""
        *lines, rest = (self._part + data).split(b"\n")
        for line in lines:
            if not self._is_long and (event := event_of(line)) is not None:
                yield event
            self._is_long = False
        self._is_long = self._is_long or len(rest) > MAX_LINE
        self._part = b"" if self._is_long else rest

    def last(self) -> Iterator[dict[str, Any]]:
        """The event that the stream broke off after, if it is whole all the same."""
        if not self._is_long and (event := event_of(self._part)) is not None:
            yield event
        self._part = b""


def event_of(line: bytes) -> dict[str, Any] | None:
    """The event on a line; None if there is none."""
    try:
        return _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_all(reader: Reader, data: bytes) -> Told:
    """What a whole stream says."""
    lines = Lines()
    for event in (*lines.cut(data), *lines.last()):
        reader.take(event)
    return reader.told()


# what is taken from an event: a wrong shape counts as absent


def part(event: object, *path: str) -> dict[str, Any]:
    """An object inside of an event; empty if there is none."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    return event if isinstance(event, dict) else {}


def text(event: dict[str, Any], name: str) -> str:
    """A text inside of an event."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def whole(event: dict[str, Any], name: str) -> int:
    """A number of things inside of an event; never negative."""
    value = event.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def money(event: dict[str, Any], name: str) -> float | None:
    """A price inside of an event; None if it is not told."""
    value = event.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else None


def each(event: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list inside of an event."""
    value = event.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
