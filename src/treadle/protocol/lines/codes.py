"""What an agent answers, as a line: `→[CODE,message]`, or `→CODE: message`.

A message stands there as it is; one that could not (it has several lines, say) is a JSON string. A quotation that need
not be one is a message with quotation marks.
"""

import re
from typing import Final

import msgspec

from treadle.protocol.lines.quoting import is_clean, quoted, unquoted

ARROW: Final = "→"
_LONGEST: Final = 100
_BRACKETED: Final = re.compile(rf"→\s*\[\s*([^\s,\[\]]{{1,{_LONGEST}}})\s*(?:,(.*))?\]\s*\Z")
_PLAIN: Final = re.compile(rf"→\s*([^\s,:\[\]→]{{1,{_LONGEST}}})\s*(?::(.*))?\Z")


class Code(msgspec.Struct, frozen=True):
    """A status code with its message."""

    name: str
    message: str = ""
    bracketed: bool = True
    """Which of the two spellings it has."""


def render(code: Code) -> str:
    """The line."""
    message = code.message if _stands(code.message) else quoted(code.message)
    if code.bracketed:
        return f"{ARROW}[{code.name},{message}]" if message else f"{ARROW}[{code.name}]"
    return f"{ARROW}{code.name}: {message}" if message else f"{ARROW}{code.name}"


def parse(line: str) -> Code | None:
    """The code in a line; None if it has none."""
    if found := _BRACKETED.match(line):
        return Code(found[1], heard(found[2] or ""))
    found = _PLAIN.match(line)
    return Code(found[1], heard(found[2] or ""), bracketed=False) if found else None


def heard(written: str) -> str:
    """The message that somebody has written: what stands there, or what it quotes if only a quotation can say it."""
    text = written.strip()
    found = unquoted(text)
    if found is None or found[1] != len(text):
        return text
    return text if _stands(found[0]) else found[0]


def _stands(message: str) -> bool:
    """Whether a message can stand there as it is."""
    return is_clean(message) and heard(message) == message
