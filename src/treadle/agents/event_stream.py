"""The stream of events that an agent's program prints: split into JSON objects and summed up.

And the outages of its service, recognised by a status code or by the words of an error message.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final, Protocol

import msgspec

from treadle.kernel.events import Outages, Usage
from treadle.ports import Progress

MAX_EVENT: Final = 8 << 20
"""The longest event in bytes; longer lines are dropped as they come in."""
_DECODE: Final = msgspec.json.Decoder(dict[str, Any]).decode


class StreamSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a stream. A success that it reports is a claim like any other."""

    session: str = ""
    """The program's own name for the conversation."""
    final: str = ""
    """The agent's last message, or its answer by a schema."""
    usage: Usage = Usage()
    is_over: bool = False
    """Whether the event that ends a stream has arrived."""
    trouble: str = ""
    """The program's own error message; empty if there was none."""
    outage: Outages | None = None
    wait: int = 0
    refused: tuple[str, ...] = ()
    """Actions that were refused while it worked, with the reasons."""


class Reader(Protocol):
    """Reads the events of one stream in order. No malformed event makes it fail."""

    def take(self, event: dict[str, Any]) -> Progress | None:
        """Process the next event and return the progress that it shows, if any."""
        ...

    def summary(self) -> StreamSummary:
        """Return the summary of all events so far."""
        ...


class EventLines:
    """Splits a stream into events, one JSON object on each line; other lines are skipped."""

    def __init__(self) -> None:
        self._part = b""
        self._is_long = False

    def cut(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the complete events; an incomplete line waits for more data."""
        *lines, rest = (self._part + data).split(b"\n")
        for line in lines:
            if not self._is_long and (event := event_of(line)) is not None:
                yield event
            self._is_long = False
        self._is_long = self._is_long or len(rest) > MAX_EVENT
        self._part = b"" if self._is_long else rest

    def last(self) -> Iterator[dict[str, Any]]:
        """Yield the last event of a stream without a final newline, if it is complete."""
        if not self._is_long and (event := event_of(self._part)) is not None:
            yield event
        self._part = b""


def event_of(line: bytes) -> dict[str, Any] | None:
    """Parse the event on a line; None if the line is no JSON object."""
    try:
        return _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_all(reader: Reader, data: bytes) -> StreamSummary:
    """Return the summary of a whole stream."""
    lines = EventLines()
    for event in (*lines.cut(data), *lines.last()):
        reader.take(event)
    return reader.summary()


# Fields of an event: a value of the wrong type counts as absent.


def part(event: object, *path: str) -> dict[str, Any]:
    """Return an object inside an event, or an empty one."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    return event if isinstance(event, dict) else {}


def text(event: dict[str, Any], name: str) -> str:
    """Return a text inside an event, or an empty one."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def whole(event: dict[str, Any], name: str) -> int:
    """Return a count inside an event; never negative."""
    value = event.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def money(event: dict[str, Any], name: str) -> float | None:
    """Return a price inside an event; None if there is none."""
    value = event.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 else None


def each(event: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a list inside an event."""
    value = event.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def one_line(words: str, length: int) -> str:
    """Return the words on one line, shortened and without control characters."""
    line = " ".join("".join(one if one.isprintable() else " " for one in words[: 2 * length]).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


# Outages of a service.

_BY_STATUS: Final[dict[int, Outages]] = {
    401: "login",
    402: "billing",
    403: "login",
    408: "network",
    429: "rate",
    500: "overload",
    502: "overload",
    503: "overload",
    504: "overload",
    529: "overload",
}
_WORDS: Final[dict[Outages, tuple[str, ...]]] = {
    "billing": ("credit balance", "billing", "payment required", "insufficient[ _](?:funds|credit|quota)"),
    "login": (
        "invalid (?:x-)?api[ -]?key",
        "incorrect api key",
        "not logged in",
        "please run /login",
        "unauthori[sz]ed",
        "authentication",
        "(?:log|sign) in again",
    ),
    "quota": ("usage limit", "quota", "(?<!rate )limit reached", "limit will reset", "resource.exhausted"),
    "rate": ("rate.?limit", "too many requests", r"\b429\b"),
    "overload": (
        "overloaded",
        "at capacity",
        "high demand",
        "internal server error",
        "bad gateway",
        "service unavailable",
        "gateway time.?out",
        r"\b5(?:0[0234]|29)\b",
    ),
    "network": (
        "connection (?:error|refused|reset|closed)",
        r"econn\w+",
        "enotfound",
        "etimedout",
        "fetch failed",
        "error sending request",
        "network (?:error|is unreachable)",
        "stream disconnected",
        "(?:could not|unable to) connect",
    ),
}
_BY_WORDS: Final = {kind: re.compile("|".join(words), re.IGNORECASE) for kind, words in _WORDS.items()}
_TIME: Final = r"(\d+(?:\.\d+)?)\s*(ms|s|sec\w*|m|min\w*|h|hours?|d|days?)\b"
_WAIT: Final = re.compile(rf"(?:retry|try again|reset\w*)\D{{0,20}}?((?:{_TIME}(?:,|\s|and\b)*)+)", re.IGNORECASE)
_PARTS: Final = re.compile(_TIME, re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST_WAIT: Final = 7 * 24 * 3600


def outage_of(words: str, status: int | None = None) -> Outages | None:
    """Return the kind of outage behind a failure, or None. Some statuses may also mean a quota or a bill."""
    by_words = next((kind for kind, pattern in _BY_WORDS.items() if pattern.search(words[:4000])), None)
    by_status = _BY_STATUS.get(status) if status is not None else None
    if status in (400, 429) and by_words in ("quota", "billing"):
        return by_words
    return by_status if status is not None else by_words


def wait_of(words: str) -> int:
    """Return the seconds until the service is available again, from its message; 0 if unknown."""
    found = _WAIT.search(words[:4000])
    if found is None:
        return 0
    units = [(float(number), unit.lower()) for number, unit in _PARTS.findall(found[1])]
    seconds = sum(number * (_SECONDS.get(unit) or _SECONDS[unit[0]]) for number, unit in units)
    return math.ceil(min(seconds, LONGEST_WAIT))
