"""Channel 1: `out/answer.json`, which `treadle emit` and the MCP tool write."""

from typing import Any, Final, Literal

import msgspec

from treadle.ports import Work
from treadle.protocol.answers.claim import Claim
from treadle.results.exits import StepExits
from treadle.results.intake import LARGEST, Faulty, Stale, decode, faulty, too_large

FILE: Final = "answer.json"
TAKEN: Final = "taken"
"""The file with the token of the answer that the run has collected."""
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
    """None if the writer did not know it; the token differs from retry to retry anyway."""
    at: int
    """Milliseconds since the epoch, by the writer's clock."""
    via: Via
    by: str = ""
    """The person handing it in; empty for a program."""
    answer: dict[str, Any]

    def stale_for(self, work: Work) -> Stale | None:
        """Return why this answer does not belong to an activity; None if it does.

        A session that outlives its activity can still answer, but not for another one.
        """
        if self.act != work.act:
            return Stale(f"it is for the activity {self.act[:80]!r}, not for {work.act!r}")
        if self.retry is not None and self.retry != work.retry:
            return Stale(f"it is from try {self.retry} of this activity, not from try {work.retry}")
        return None if self.token == work.token else Stale("its token is not the one of this activity")


def parse(data: bytes, step_exits: StepExits, work: Work) -> tuple[Claim, EmittedAnswer] | Faulty | Stale:
    """Parse the contents of the file: the claim with its answer, a fault, or an answer of another session."""
    found = unpack(data)
    if isinstance(found, Faulty):
        return found
    if stale := found.stale_for(work):
        return stale
    if large := outsized(found.answer, step_exits):
        return large
    claim = step_exits.parse(found.answer)
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
        return faulty(f"{FILE} was not written by `treadle emit` or emit_exit ({str(error)[:200]}); {_OWN_WAY}")


def outsized(answer: dict[str, Any], step_exits: StepExits) -> Faulty | None:
    """Return the refusal of an answer that is too large; its size is that of its JSON, without spaces."""
    size = len(msgspec.json.encode(answer))
    return too_large("the answer", size, step_exits.limit) if size > step_exits.limit else None


def pack(emitted: EmittedAnswer) -> bytes:
    """Encode the contents of the file."""
    return msgspec.json.encode(emitted) + b"\n"


# Notes that an agent leaves for its successor with its tool: `out/handoff.md`.

NOTES_FILE: Final = "handoff.md"
MAX_NOTES: Final = 100_000
"""In characters."""
