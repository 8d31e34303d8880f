"""Channel 1: `out/answer.json`, which `treadle emit` and the MCP tool write."""

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from treadle.ports import Work
from treadle.protocol.answers.claim import Claim
from treadle.results.exits import Ways
from treadle.results.intake import LARGEST, Faulty, Stale, decode, faulty, read_file, too_large

# The activity that an answer is for. A session that outlives its activity can still answer, but not for another one.


class Fence(msgspec.Struct, frozen=True):
    """The identity of an activity: its id, its token, and the number of times it was issued again."""

    act: str
    token: str
    retry: int | None = None
    """None if the writer did not know it; the token differs from retry to retry anyway."""

    def refuses(self, other: "Fence") -> Stale | None:
        """Why an answer of `other` is not one of this activity's."""
        if other.act != self.act:
            return Stale(f"it is for the activity {other.act[:80]!r}, not for {self.act!r}")
        if self.retry is not None and other.retry is not None and other.retry != self.retry:
            return Stale(f"it is from try {other.retry} of this activity, not from try {self.retry}")
        return None if other.token == self.token else Stale("its token is not the one of this activity")


def fence_of(work: Work) -> Fence:
    """The fence around an activity."""
    return Fence(work.act, work.token, work.retry)


FILE: Final = "answer.json"
TAKEN: Final = "taken"
FORMAT: Final = 1
ENVELOPE: Final = 10_000
"""Bytes of the file besides the answer, at most."""
Via = Literal["emit", "mcp", "executor-result", "handoff", "final", "legacy"]
"""The channel of an answer; a hook records here where it found the answer."""
_OWN_WAY: Final = "answers come here by `treadle emit FILE` or the tool emit_exit only"


class EmittedAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer as it lies in its file."""

    format: int
    act: str
    token: str
    retry: int | None
    at: int
    """Milliseconds since the epoch, by the writer's clock."""
    via: Via
    by: str = ""
    """The person handing it in; empty for a program."""
    answer: dict[str, Any]

    @property
    def fence(self) -> Fence:
        return Fence(self.act, self.token, self.retry)


def parse(data: bytes, ways: Ways, fence: Fence) -> tuple[Claim, EmittedAnswer] | Faulty | Stale:
    """An answer from the contents of the file."""
    found = unpack(data)
    if isinstance(found, Faulty):
        return found
    if stale := fence.refuses(found.fence):
        return stale
    if large := outsized(found.answer, ways):
        return large
    claim = ways.parse(found.answer)
    return claim if isinstance(claim, Faulty) else (claim, found)


def unpack(data: bytes) -> EmittedAnswer | Faulty:
    """Decode the file, without checking its activity or its exit."""
    value = decode(data, FILE, LARGEST)
    if isinstance(value, Faulty):
        return value
    if isinstance(value, dict) and value.get("format", FORMAT) != FORMAT:
        return faulty(f"{FILE} has a format that this version does not know; {_OWN_WAY}")
    try:
        return msgspec.convert(value, EmittedAnswer)
    except msgspec.ValidationError as error:
        return faulty(f"{FILE} was written by something else ({str(error)[:200]}); {_OWN_WAY}")


def outsized(answer: dict[str, Any], ways: Ways) -> Faulty | None:
    """Why an answer is too large; its size is that of its JSON, without spaces."""
    size = len(msgspec.json.encode(answer))
    return too_large("the answer", size, ways.limit) if size > ways.limit else None


def pack(emitted: EmittedAnswer) -> bytes:
    """The contents of the file."""
    return msgspec.json.encode(emitted) + b"\n"


def is_taken(out: Path, token: str) -> bool:
    """Whether the run has collected the answer of this token."""
    return read_file(out, TAKEN) == token.encode()


# Notes that an agent leaves for its successor with its tool: `out/handoff.md`.

NOTES_FILE: Final = "handoff.md"
MAX_NOTES: Final = 100_000
"""In characters."""
