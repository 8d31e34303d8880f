"""How the client of an ACP agent tells what happens: a JSON object on each line of its standard output."""

import sys
from typing import Final

import msgspec

_SHOWN: Final = 200


def tell(kind: str, **event: object) -> None:
    """Print an event."""
    sys.stdout.buffer.write(msgspec.json.encode({"type": kind, **event}) + b"\n")
    sys.stdout.buffer.flush()


def short(words: str, length: int = _SHOWN) -> str:
    """On one line, and nothing that a terminal would obey."""
    line = " ".join("".join(one if one.isprintable() else " " for one in words[: 2 * length]).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
