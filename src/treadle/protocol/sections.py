"""The sections of a document in Markdown."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from treadle.protocol.lines.references import prose

_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*\Z")
_NUMBERED: Final = re.compile(r"R([0-9]{1,6})\b[\s.:)–—-]*(.*)\Z")
_MARKUP: Final = re.compile(r"[`*_]")


class Section(msgspec.Struct, frozen=True):
    """A section: its number (0: it has none), its heading, and its line."""

    number: int
    name: str
    line: int = 0

    def is_called(self, name: str) -> bool:
        return plain(self.name) == plain(name)


def plain(name: str) -> str:
    """A heading without markup, in any case."""
    return " ".join(_MARKUP.sub("", name).casefold().split())


def sections(text: str) -> Iterator[Section]:
    """The sections of a text.

    A heading that begins with R1 has that number. Where none does, they are counted: those of the second level if
    there are any, else all of the level that there is.
    """
    found = [(len(match[1]), match[2], line) for line, words in prose(text) if (match := _HEADING.match(words))]
    own = {line: match for _, name, line in found if (match := _NUMBERED.match(name))}
    counted = min((depth for depth, _, _ in found if depth > 1), default=1)
    count = 0
    for depth, name, line in found:
        if line in own:
            yield Section(int(own[line][1]), own[line][2] or name, line)
        elif depth == counted and not own:
            count += 1
            yield Section(count, name, line)
        else:
            yield Section(0, name, line)
