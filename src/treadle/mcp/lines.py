"""Messages on standard input and output, a line each.

What comes in and is not UTF-8 is marked, so that nothing keeps it as if it were.
"""

import asyncio
import codecs
import os
import re
from collections.abc import AsyncIterator
from typing import BinaryIO, Final

from treadle.memory.inputs import UNREADABLE

_MARKING: Final = "treadle.unreadable"
_ESCAPES: Final = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)")
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _marked(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNREADABLE, error.end


codecs.register_error(_MARKING, _marked)


async def lines(stream: BinaryIO) -> AsyncIterator[str]:
    """Each line, as text that every JSON parser takes."""
    while line := await asyncio.to_thread(stream.readline):
        yield readable(line)


class Answers:
    """Standard output, for answers alone: what anybody prints goes where errors go.

    Written without another thread, as there is one client, and it waits for them.
    """

    def __init__(self) -> None:
        self._file, self._waiting = os.dup(1), b""
        os.dup2(2, 1)

    async def write(self, text: str) -> None:
        self._waiting += text.encode()

    async def flush(self) -> None:
        data, self._waiting = self._waiting, b""
        while data:
            data = data[os.write(self._file, data) :]


def readable(line: bytes) -> str:
    """A line with a mark in place of bytes that are not UTF-8, and of escapes that are half of a character."""
    text = line.decode("utf-8", errors=_MARKING)
    return _without_halves(text) if _HALF.search(text) else text


def _without_halves(text: str) -> str:
    parts: list[str] = []
    last, high = 0, None  # the end of what was taken, and where the first half of a pair stands
    for found in _ESCAPES.finditer(text):
        code = int(found["code"], 16) if found["code"] else 0
        if high and not (0xDC00 <= code <= 0xDFFF and high.end() == found.start()):
            parts += [text[last : high.start()], UNREADABLE]
            last, high = high.end(), None
        elif high:
            high = None
            continue
        if 0xD800 <= code <= 0xDBFF:
            high = found
        elif 0xDC00 <= code <= 0xDFFF:
            parts += [text[last : found.start()], UNREADABLE]
            last = found.end()
    if high:
        parts += [text[last : high.start()], UNREADABLE]
        last = high.end()
    return "".join([*parts, text[last:]])
