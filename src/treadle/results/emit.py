"""Channel 1: `out/answer.json`, which `treadle emit` and the MCP tool write."""

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from treadle.protocol.answers.answer import Claim
from treadle.results.faulty import Faulty, Stale, faulty
from treadle.results.fence import Fence
from treadle.results.files import LARGEST, look
from treadle.results.strict_json import decode, too_large
from treadle.results.ways import Ways

FILE: Final = "answer.json"
TAKEN: Final = "taken"
FORMAT: Final = 1
ENVELOPE: Final = 10_000
"""Bytes of the file besides the answer, at most."""
Via = Literal["emit", "mcp", "executor-result", "handoff", "final", "legacy"]
"""How the agent has answered; a hook puts here what it has found in the other ways."""
_OWN_WAY: Final = "answers come here by `treadle emit FILE` or the tool emit_exit only"


class Emitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer as it lies in its file."""

    format: int
    act: str
    token: str
    retry: int | None
    at: int
    """Milliseconds since the epoch, by the clock of whoever wrote it."""
    via: Via
    by: str = ""
    """The person who handed it in; empty if a program did."""
    answer: dict[str, Any]

    @property
    def fence(self) -> Fence:
        return Fence(self.act, self.token, self.retry)


def parse(data: bytes, ways: Ways, fence: Fence) -> tuple[Claim, Emitted] | Faulty | Stale:
    """An answer from the contents of the file."""
    found = unpack(data)
    if isinstance(found, Faulty):
        return found
    if stale := fence.refuses(found.fence):
        return stale
    if large := outsized(found.answer, ways):
        return large
    claim = ways.accept(found.answer)
    return claim if isinstance(claim, Faulty) else (claim, found)


def unpack(data: bytes) -> Emitted | Faulty:
    """The file's contents, not held against anything yet."""
    value = decode(data, FILE, LARGEST)
    if isinstance(value, Faulty):
        return value
    if isinstance(value, dict) and value.get("format", FORMAT) != FORMAT:
        return faulty(f"{FILE} has a format that this version does not know; {_OWN_WAY}")
    try:
        return msgspec.convert(value, Emitted)
    except msgspec.ValidationError as error:
        return faulty(f"{FILE} was written by something else ({str(error)[:200]}); {_OWN_WAY}")


def outsized(answer: dict[str, Any], ways: Ways) -> Faulty | None:
    """Why an answer is too large; its size is that of its JSON, without spaces."""
    size = len(msgspec.json.encode(answer))
    return too_large("the answer", size, ways.limit) if size > ways.limit else None


def pack(emitted: Emitted) -> bytes:
    """The contents of the file."""
    return msgspec.json.encode(emitted) + b"\n"


def is_taken(out: Path, token: str) -> bool:
    """Whether the answer of this token has been taken."""
    return look(out, TAKEN) == token.encode()
